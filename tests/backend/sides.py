"""A program that runs one side's `gen_backend_stubs` on many files: `python -m tests.backend.sides SIDE`.

A line of its input is a task in JSON: the working folder and the flags. The answer is a line with the exit status and
what was said. Each task runs in a copy of this process, which has imported and parsed before what all tasks need.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypedDict

from opwright.model.dispatch_key import device_flags
from opwright.source.diagnostic import Diagnostic, Diagnostics
from tests.conformance.small.both_sides import import_all, run_copy


class SideTask(TypedDict):
    """The folder in which a program runs, and its flags."""

    folder: str
    flags: list[str]


Program = Callable[[Sequence[str]], object]


def reference_program() -> Program:
    """The reference's program, with PyTorch's entries parsed already."""
    from torchgen import gen, gen_backend_stubs

    import __main__

    # It has this as a function argument only, so the parsed entries are found by the same paths.
    native = Path(str(gen_backend_stubs.__file__)).parent / "packaged" / "ATen" / "native"
    gen.parse_native_yaml(str(native / "native_functions.yaml"), str(native / "tags.yaml"))

    def run(flags: Sequence[str]) -> None:
        # What the reference writes names the program that was started.
        __main__.__file__ = str(gen_backend_stubs.__file__)
        sys.argv = ["gen_backend_stubs.py", *flags]
        gen_backend_stubs.main()

    return run


def opwright_program() -> Program:
    """Opwright's program, with PyTorch's entries parsed already. It repeats its diagnostics as a line of JSON."""
    import_all("opwright")
    from opwright.cli import console
    from opwright.run import loading, session
    from opwright.torchgen import gen_backend_stubs

    catalog = loading.load("auto", source_path=None, **dict.fromkeys(device_flags(), True))
    report = console.report

    def report_twice(diagnostics: Diagnostics, color: str = "auto") -> None:
        report(diagnostics, color)
        print(FAULTS, json.dumps([fault_of(diagnostic) for diagnostic in diagnostics.sorted()]))

    # Every task is a fresh copy of this process, and all of them read the same inputs.
    setattr(loading, "_load_catalog", lambda _: catalog)  # noqa: B010
    setattr(session, "_prefetched_files", lambda *_: [])  # noqa: B010
    console.report = report_twice
    return gen_backend_stubs.main


#: What a line with diagnostics begins with.
FAULTS = "faults:"


def fault_of(diagnostic: Diagnostic) -> list[object]:
    """A diagnostic as the path, line, column and width of its place, and its code."""
    span = diagnostic.span
    if span is None:
        return ["", 0, 0, 0, diagnostic.code]
    return [span.file.path, span.line, span.column, len(span.text.split("\n", 1)[0]), diagnostic.code]


def main() -> None:
    """Run all tasks, and answer each with a line."""
    program = reference_program() if sys.argv[1] == "reference" else opwright_program()
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        task: SideTask = json.loads(line)
        os.chdir(task["folder"])
        print(json.dumps(run_copy(partial(program, task["flags"]))), file=answers, flush=True)


if __name__ == "__main__":
    main()
