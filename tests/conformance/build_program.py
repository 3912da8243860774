"""Stands in a source tree where PyTorch's build has the program for autograd and Python, and calls the same functions.

python generate_code.py NATIVE TAGS OUT AUTOGRAD SUBSET
"""

from __future__ import annotations

import sys
from importlib import import_module


def main(native: str, tags: str, out: str, autograd: str, subset: str) -> None:
    """Write the files of one subset."""
    from torchgen.selective_build.selector import SelectiveBuilder

    program = import_module("tools.autograd.gen_autograd")
    if subset == "libtorch":
        program.gen_autograd(native, tags, out, autograd, SelectiveBuilder.get_nop_selector())
    else:
        program.gen_autograd_python(native, tags, out, autograd)


if __name__ == "__main__":
    main(*sys.argv[1:])
