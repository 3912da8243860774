"""Run a Python program whose imports of `torchgen` get Opwright's modules instead, installed or not.

Processes that the program starts are not changed: for those, see `python -m opwright.torchgen.install`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import InspectLoader
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, ModuleType

from opwright.cli.arguments import Parser
from opwright.torchgen.forwarding import ForwardingFinder


def _parser() -> Parser:
    parser = Parser("python -m opwright.torchgen.run", __doc__)
    parser.add_argument("-m", dest="module", action="store_true", help="PROGRAM is a module, as for python -m")
    parser.add_argument("program", metavar="PROGRAM", help="the path of the program")
    parser.add_argument("words", metavar="ARGUMENT", nargs=argparse.REMAINDER, help="the program's arguments")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program in this process; it ends as the program does."""
    parser = _parser()
    arguments = parser.parse(argv)
    program = str(arguments.program)
    if not arguments.module and not os.path.exists(program):
        parser.error(f"there is no program `{program}`")
    sys.meta_path.insert(0, ForwardingFinder())
    sys.argv = [program, *arguments.words]
    if arguments.module:
        sys.path.insert(0, os.getcwd())
        spec = _spec_of(program)
        code = spec.loader.get_code(spec.name) if spec is not None and isinstance(spec.loader, InspectLoader) else None
        if spec is None or code is None:
            parser.error(f"there is no module `{program}` that can be run")
        sys.argv[0] = str(spec.origin)
        _run(code, {"__file__": spec.origin, "__spec__": spec, "__loader__": spec.loader, "__package__": spec.parent})
    else:
        # As if Python ran it, the program's folder is first, not the working folder, which `python -m` put there.
        sys.path[: sys.path[0] == os.getcwd()] = [os.path.dirname(os.path.abspath(program))]
        text = Path(program).read_bytes()
        _run(compile(text, program, "exec", dont_inherit=True), {"__file__": program, "__package__": None})
    return 0


def _spec_of(module: str) -> ModuleSpec | None:
    """What `python -m` runs for a name; None if there is nothing."""
    spec = find_spec(module)
    if spec is not None and spec.submodule_search_locations is not None:
        return find_spec(f"{module}.__main__")
    return spec


def _run(code: CodeType, names: Mapping[str, object]) -> None:
    """Run a program as the main module, which lives to the end of the process.

    `runpy` drops the variables before: a file that the program did not close would lose its last lines.
    """
    main_module = sys.modules["__main__"] = ModuleType("__main__")
    vars(main_module).update(names)
    exec(code, vars(main_module))


if __name__ == "__main__":
    sys.exit(main())
