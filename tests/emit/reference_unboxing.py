"""Prints how the reference unboxes the arguments of each function: a line with its name, then the statements.

python reference_unboxing.py FOLDER_OF_INPUTS
"""

from __future__ import annotations

import sys
from pathlib import Path

from torchgen.api.unboxing import convert_arguments
from torchgen.context import native_function_manager
from torchgen.gen import parse_native_yaml


def main(folder: Path) -> None:
    """Print all of them."""
    native = folder / "native"
    parsed = parse_native_yaml(str(native / "native_functions.yaml"), str(native / "tags.yaml"))
    for function in parsed.native_functions:
        with native_function_manager(function):
            bindings, statements = convert_arguments(function)
        print(function.func.name, len(bindings))
        for line in "\n".join(statements).splitlines():
            if line.strip():
                print(line.strip())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
