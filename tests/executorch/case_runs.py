"""A program that runs one side on all cases of ExecuTorch's files: `case_runs.py SIDE INPUTS NATIVE TAGS`.

Each case is a folder of `INPUTS/cases` with its parts and a file `flags` in JSON: the flags of both programs, and how
ExecuTorch's program decides if it does so otherwise than Opwright. It gets a folder of its name in `cases` of the
working folder with what the side writes, and a file that tells whether it accepts the case.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

Program = Callable[[Sequence[str]], object]


def reference_program(native: str) -> Program:
    """ExecuTorch's program, with PyTorch's entries parsed already, which takes it seconds."""
    import yaml

    import __main__

    program: Any = import_module("executorch.codegen.gen")
    load = yaml.load
    with open(native, encoding="utf-8") as stream:
        entries = load(stream, Loader=program.LineLoader)

    def load_once(stream: Any, Loader: Any) -> object:  # noqa: ANN401, N803
        return entries if getattr(stream, "name", None) == native else load(stream, Loader=Loader)

    def run(flags: Sequence[str]) -> None:
        yaml.load = load_once
        # What it writes names the program that was started.
        __main__.__file__ = "/gen.py"
        sys.argv = ["gen.py", *flags]
        program.main()

    return run


def opwright_program() -> Program:
    """Opwright's program."""
    program: Program = import_module("opwright.torchgen.executorch.gen").main
    return program


def run_case(program: Program, side: str, case: Path, flags: Sequence[str]) -> None:
    """Run a case, and write whether it is accepted; what a side that refuses it has written is no output."""
    from tests.conformance.small.both_sides import run_copy

    settings = json.loads((case / "flags").read_text(encoding="utf-8"))
    out = Path("cases", case.name)
    out.mkdir(parents=True)
    parts = [word for flag, name in settings["parts"].items() for word in (flag, str(case / name))]
    status, _ = run_copy(partial(program, [*flags, "-d", str(out), *parts, *settings["flags"]]))
    if status or settings["decides_otherwise"]:
        shutil.rmtree(out)
        out.mkdir()
    # Opwright is right about such a case, so the other decision is the expected one.
    is_accepted = (status == 0) != (settings["decides_otherwise"] and side == "reference")
    (out / "decision").write_text("accepted\n" if is_accepted else "refused\n", encoding="utf-8")


def main() -> None:
    """Run all cases."""
    side, inputs, native, tags = sys.argv[1:]
    sys.path.append(os.fspath(Path(__file__).parents[2]))
    program = reference_program(native) if side == "reference" else opwright_program()
    flags = ["-s", f"{inputs}/source", "--aten-yaml-path", native, "--tags-path", tags]
    for case in sorted(Path(inputs, "cases").iterdir()):
        run_case(program, side, case, flags)


if __name__ == "__main__":
    main()
