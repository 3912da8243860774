"""A program that runs one side of a program on many files: `python -m tests.backend.sides SIDE PROGRAM`.

The programs are `gen_backend_stubs` and `gen_lazy_tensor`.

A line of its input is a task in JSON: the working folder and the flags. The answer is a line with the exit status and
what was said. Each task runs in a copy of this process, which has imported and parsed before what all tasks need.
"""

from __future__ import annotations

import gc
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypedDict

from opwright.dialects.dialect import LoadContext
from opwright.model.dispatch_key import device_flags
from opwright.source.diagnostic import Diagnostic, Diagnostics
from tests.conformance.small.both_sides import import_all, run_copy


class SideTask(TypedDict):
    """The folder in which a program runs, and its flags."""

    folder: str
    flags: list[str]


Program = Callable[[Sequence[str]], object]

#: The program that is run unless another is named.
STUBS = "gen_backend_stubs"

#: The variable that lets the reference go through all of PyTorch's operators for each file. Otherwise it gets those
#: that the file may name: of the others it writes nothing, and to find that out is most of its work.
WHOLE = "OPWRIGHT_ALL_OPERATORS"

#: An operator of the reference, or a group of them.
Operators = Any


def reference_program(name: str) -> Program:
    """The reference's program, with PyTorch's entries parsed and grouped already."""
    from torchgen import gen, gen_backend_stubs, gen_lazy_tensor

    import __main__

    # It has this as a function argument only, so the parsed entries are found by the same paths.
    aten = Path(str(gen_backend_stubs.__file__)).parent / "packaged" / "ATen"
    native, tags = (str(aten / "native" / name) for name in ("native_functions.yaml", "tags.yaml"))
    functions = gen.parse_native_yaml(native, tags).native_functions
    group = gen.get_grouped_native_functions
    groups = [(_names_in(each), each) for each in group(functions)]

    def grouped(given: Sequence[Operators]) -> Sequence[Operators]:
        words = None if os.environ.get(WHOLE) else _words_of(sys.argv[1:])
        chosen = [each for names, each in groups if words is None or not words.isdisjoint(names)]
        return chosen if given is functions else group(given)

    # The program for lazy tensors looks for the folder of ATen where it is not.
    generate = gen_lazy_tensor.run_gen_lazy_tensor
    setattr(gen_lazy_tensor, "run_gen_lazy_tensor", lambda _, *others: generate(str(aten), *others))  # noqa: B010
    module = gen_backend_stubs if name == STUBS else gen_lazy_tensor
    setattr(module, "get_grouped_native_functions", grouped)  # noqa: B010

    def run(flags: Sequence[str]) -> None:
        # What the reference writes names the program that was started.
        __main__.__file__ = str(module.__file__)
        sys.argv = [f"{name}.py", *flags]
        module.main()

    return run


def _names_in(operators: Operators) -> set[str]:
    """The names of an operator, or of those in a group, without overloads."""
    functions = operators.functions() if hasattr(operators, "functions") else [operators]
    return {str(function.func.name.name) for function in functions}


def _words_of(flags: Sequence[str]) -> set[str] | None:
    """All words in the files that flags name; none if a file may write words in another way."""
    paths = [Path(flag.rpartition("=")[2]) for flag in flags]
    text = "\n".join([path.read_text(encoding="utf-8", errors="replace") for path in paths if path.is_file()])
    return None if "\\" in text else set(re.findall(r"\w+", text))


def opwright_program(name: str) -> Program:
    """Opwright's program, with PyTorch's entries parsed already. It repeats its diagnostics as a line of JSON."""
    import_all("opwright")
    from opwright.cli import console
    from opwright.run import loading
    from opwright.torchgen import gen_backend_stubs, gen_lazy_tensor

    catalog = loading.load("auto", source_path=None, **dict.fromkeys(device_flags(), True))
    report = console.report

    def report_twice(diagnostics: Diagnostics, color: str = "auto") -> None:
        report(diagnostics, color)
        print(FAULTS, json.dumps([fault_of(diagnostic) for diagnostic in diagnostics.sorted()]))

    # Every task is a fresh copy of this process, and all of them read the same inputs.
    load_part = loading._load_catalog
    setattr(loading, "_load_catalog", lambda context: load_part(context) if is_partial(context) else catalog)  # noqa: B010
    console.report = report_twice
    return gen_backend_stubs.main if name == STUBS else gen_lazy_tensor.main


def is_partial(context: LoadContext) -> bool:
    """Whether a run loads only the operators in its scope."""
    return bool(context.chosen_items)


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
    program = reference_program(sys.argv[2]) if sys.argv[1] == "reference" else opwright_program(sys.argv[2])
    answers = os.fdopen(os.dup(1), "w")
    # A copy of this process is short, and a collection in it would write to all memory that it shares.
    gc.disable()
    gc.freeze()
    for line in sys.stdin:
        task: SideTask = json.loads(line)
        os.chdir(task["folder"])
        print(json.dumps(run_copy(partial(program, task["flags"]))), file=answers, flush=True)


if __name__ == "__main__":
    main()
