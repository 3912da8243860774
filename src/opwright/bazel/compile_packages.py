"""Compiles Python packages to bytecode, in an action: `compile_packages.py OUT FOLDER LIST`.

LIST is a file with the path of each file of the packages; the packages are in folders called FOLDER. OUT gets the
bytecode in place of the modules, and copies of all other files. A Python that is too old for Opwright copies all files:
Opwright itself says so when it runs.
"""

import os
import py_compile
import shutil
import sys


def compile_packages(out: str, folder: str, paths: "list[str]") -> None:
    """Write the packages to a folder."""
    for path in paths:
        name = path.partition(f"/{folder}/")[2]
        target = os.path.join(out, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if name.endswith(".py") and sys.version_info >= (3, 10):
            # Bytecode without its source is never compared with it; this form has no time in it.
            mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
            py_compile.compile(path, f"{target}c", name, doraise=True, invalidation_mode=mode)
        else:
            shutil.copyfile(path, target)


if __name__ == "__main__":
    with open(sys.argv[3], encoding="utf-8") as file:
        compile_packages(sys.argv[1], sys.argv[2], file.read().splitlines())
