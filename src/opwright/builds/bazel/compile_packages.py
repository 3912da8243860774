"""Compiles Python packages to bytecode, in an action: `compile_packages.py OUT LIST`.

LIST is a file with a line for each file of the packages: where it is, a tab, and its path in OUT. OUT gets the bytecode
in place of the modules, and copies of all other files. A Python that is too old for Opwright copies all files: Opwright
itself says so when it runs.
"""

import os
import py_compile
import shutil
import sys


def compile_packages(out: str, rows: "list[str]") -> None:
    """Write the packages to a folder."""
    for path, name in (row.split("\t") for row in rows):
        target = os.path.join(out, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if name.endswith(".py") and sys.version_info >= (3, 10):
            # Bytecode without its source is never compared with it; this form has no time in it.
            mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
            py_compile.compile(path, f"{target}c", name, doraise=True, invalidation_mode=mode)
        else:
            shutil.copyfile(path, target)


if __name__ == "__main__":
    with open(sys.argv[2], encoding="utf-8") as file:
        compile_packages(sys.argv[1], file.read().splitlines())
