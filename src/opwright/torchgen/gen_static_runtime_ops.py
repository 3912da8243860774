"""Generate static runtime's operators and their tests; takes the flags of PyTorch's
`torchgen/static_runtime/gen_static_runtime_ops.py` and writes the same bytes.

Like that program, it formats the files with the clang-format on the path; without one, it writes them unformatted."""

from __future__ import annotations

import argparse
import os

from opwright.cli.arguments import Parser, add_drop_in_arguments, not_empty
from opwright.cli.runs import drop_in_run_of, run_unless_current
from opwright.cli.streams import leave
from opwright.emit.registry import program_families
from opwright.incremental.identity import RunIdentity
from opwright.mobile.mobile_codes import FORMATTER_FAILED, NO_FORMATTER
from opwright.mobile.static_runtime.formatting import NAME, FormatterFailed, find_formatter, formatter_facts, formatting
from opwright.run.incremental_generation import IncrementalGeneration
from opwright.source.diagnostic import Fault
from opwright.source.terminal import tell
from opwright.torchgen.programs import request_of

# Modules that do the work are imported only if there is work.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from opwright.dialects.native_functions.scope import LoadScope
    from opwright.release.inputs import Inputs
    from opwright.run.request import Request
    from opwright.source.diagnostic import Diagnostics

_PROGRAM = "gen_static_runtime_ops"


def _parser() -> Parser:
    parser = Parser(f"python -m opwright.torchgen.{_PROGRAM}", __doc__, last_wins=True)
    add = parser.add_argument
    add(
        "-s",
        "--source-path",
        default="caffe2/aten/src/ATen",
        metavar="DIR",
        type=not_empty,
        help="the folder of ATen's inputs",
    )
    add(
        "-p",
        "--generated-ops-cpp-path",
        default="caffe2/torch/csrc/jit/runtime/static/generated_ops.cpp",
        metavar="FILE",
        type=_file_path,
        help="the file to write with the operators",
    )
    add(
        "-t",
        "--generated-ops-test-cpp-path",
        default="caffe2/benchmarks/static_runtime/test_generated_ops.cc",
        metavar="FILE",
        type=_file_path,
        help="the file to write with their tests",
    )
    add("--no-format", dest="format", action="store_false", help="do not format the files")
    add(
        "--why",
        action="append",
        default=[],
        metavar="NAME",
        help="print why an operator has code or none, and write nothing (may be repeated, and be a pattern)",
    )
    add_drop_in_arguments(parser)
    return parser


def _file_path(text: str) -> str:
    if not os.path.basename(text):
        raise argparse.ArgumentTypeError(f"`{text}` is not the path of a file")
    return text


def _folders(arguments: argparse.Namespace) -> dict[str, str]:
    operators, tests = arguments.generated_ops_cpp_path, arguments.generated_ops_test_cpp_path
    return {
        "static_runtime": os.path.dirname(operators) or os.curdir,
        "static_runtime_tests": os.path.dirname(tests) or os.curdir,
    }


def _run(arguments: argparse.Namespace, formatter: str | None) -> RunIdentity:
    """Identity of the run. Formatted files are of a kind of their own: unformatted text does not fit them."""
    folders = _folders(arguments)
    home = folders["static_runtime"]
    arguments.formatter = None if formatter is None else formatter_facts(formatter, folders.values())
    families = program_families(_PROGRAM)
    return drop_in_run_of(_PROGRAM, arguments, home, folders, families, formatted=formatter is not None)


def _scope() -> LoadScope:
    """Operators that may have code."""
    from opwright.dialects.native_functions.scope import LoadScope
    from opwright.mobile.static_runtime.support import may_have_code

    return LoadScope(selects=may_have_code)


def _request(arguments: argparse.Namespace, inputs: Inputs, run: RunIdentity, formatter: str | None) -> Request:
    from opwright.emit.emitter import Options
    from opwright.mobile.static_runtime.support import StaticRuntimeFiles

    names = [arguments.generated_ops_cpp_path, arguments.generated_ops_test_cpp_path]
    operators, tests = map(os.path.basename, names)
    return request_of(arguments, inputs, _folders(arguments), run.families)._replace(
        options=Options(guests=(StaticRuntimeFiles(operators, tests),)),
        tolerant=True,
        format_file=None if formatter is None else _formatting(formatter),
    )


def _formatting(formatter: str) -> Callable[[str, bytes], bytes]:
    """Function that formats the text of a file at a path. It raises Fault (E1705)."""
    format_text = formatting(formatter)

    def format_file(path: str, data: bytes) -> bytes:
        try:
            return format_text(path, data)
        except FormatterFailed as error:
            notes = str(error).splitlines()[:5]
            help = "correct the style file, or pass `--no-format`"
            raise Fault.at(FORMATTER_FAILED, f"`{NAME}` cannot format `{path}`", notes=notes, help=help) from None

    return format_file


def _explain(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    from opwright.cli import console
    from opwright.mobile.static_runtime.support import explanations
    from opwright.run.loading import load

    for line in explanations(load(source_path=arguments.source_path), arguments.why, sink):
        tell(line)
    return console.SUCCESS


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    arguments = _parser().parse(argv)
    if arguments.why:
        from opwright.cli import console

        return console.run(lambda sink: _explain(arguments, sink))
    formatter = find_formatter() if arguments.format else None
    run = _run(arguments, formatter)

    def work(sink: Diagnostics) -> int:
        from opwright.cli import console
        from opwright.cli.input_arguments import completed_inputs
        from opwright.release.inputs import from_source_path

        if arguments.format and formatter is None:
            help = "install clang-format, or pass `--no-format`"
            sink.warning(NO_FORMATTER, "no `clang-format` on the path: the files are not formatted", help=help)
        inputs = completed_inputs(arguments, from_source_path(arguments.source_path), sink, autograd=False, shims=False)
        incremental = IncrementalGeneration(run)
        incremental.write(
            incremental.load(inputs, lambda _: _request(arguments, inputs, run, formatter), sink, (), _scope)
        )
        return console.SUCCESS

    return run_unless_current(run, work, arguments)


if __name__ == "__main__":
    leave(main)
