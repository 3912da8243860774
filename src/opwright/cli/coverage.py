"""Report how much of PyTorch a backend covers: what runs for each operator, whether gradients flow, what breaks.

  opwright coverage --backend acme.yaml                          a summary
  opwright coverage --backend acme.yaml --only missing 'conv*'   operators without a kernel
  opwright coverage --backend acme.yaml --trap any               mistakes that backend files invite
  opwright coverage --backend acme.yaml --format html --out coverage.html
  opwright coverage --backend acme.yaml --runtime torch_acme     compare with a process that has loaded the backend
  opwright coverage --backend acme.yaml --runtime torch_acme --run-samples
                                                                 what fails of the samples that PyTorch tests with

Nothing is compiled, and without --runtime PyTorch need not be installed."""

from __future__ import annotations

import argparse
from typing import Final

from opwright.backends.operator_records import (
    BackwardStatus,
    CoverageReport,
    MetaSupport,
    OperatorRecord,
    OperatorStatus,
    Query,
    TrapKind,
)
from opwright.backends.wrapper_options import Fallback
from opwright.cli import console
from opwright.cli.arguments import add_input_arguments, add_plugin_argument, not_empty, repeated
from opwright.cli.input_arguments import add_allow_path_argument, open_named_inputs
from opwright.cli.streams import print_or_write
from opwright.run.request import Request
from opwright.source.diagnostic import Diagnostics
from opwright.source.terminal import counted
from opwright.source.text import SourceFile
from opwright.tools.check.checking import load_coverage
from opwright.tools.coverage import formats

_FORMATS: Final = ("text", "json", "csv", "html")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "names", metavar="NAME", nargs="*", default=[], help="list these operators; patterns such as `conv*` do too"
    )
    parser.add_argument("--backend", metavar="FILE", required=True, type=not_empty, help="the backend file")
    parser.add_argument(
        "--fallback",
        choices=("cpu", "none"),
        help="what runs for operators without a kernel, if the backend registers it without the file",
    )
    repeated(parser)(
        "--operators",
        metavar="FILE",
        help="operators that the backend file names, in a file like native_functions.yaml (may be repeated)",
    )
    repeated(parser)(
        "--runtime",
        metavar="MODULE",
        help="import this module in a process of its own, and print where its dispatcher differs from the report; this "
        "runs the code of the module (may be repeated)",
        type=not_empty,
    )
    parser.add_argument(
        "--run-samples",
        action="store_true",
        help="with --runtime, run the samples of PyTorch's tests on the device, and print what fails; this takes "
        "a minute, and needs the package expecttest, as PyTorch's tests do",
    )
    add_plugin_argument(parser)
    add_allow_path_argument(parser)
    add_input_arguments(parser)
    _add_choices(parser)
    output = parser.add_argument_group("output")
    output.add_argument("--format", choices=_FORMATS, default="text", help="the form of the report (default: text)")
    output.add_argument("--out", metavar="FILE", type=not_empty, help="write the report to this file")


def _add_choices(parser: argparse.ArgumentParser) -> None:
    chosen = parser.add_argument_group("operators", "each may be repeated")
    for flag, members, help in (
        ("only", OperatorStatus, "what runs"),
        ("backward", BackwardStatus, "what happens to gradients"),
        ("meta", MetaSupport, "where shapes come from while PyTorch traces"),
    ):
        names = tuple([member.name for member in members])
        repeated(chosen)(
            f"--{flag}", metavar="STATUS", help=f"only operators with this {help}: {', '.join(names)}", choices=names
        )
    kinds = ("any", *[kind.name for kind in TrapKind])
    repeated(chosen)("--trap", metavar="KIND", help=f"only operators with this trap: {', '.join(kinds)}", choices=kinds)


def run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Print the report, or write it."""
    query = Query(
        tuple(arguments.names),
        tuple(arguments.only),
        tuple(arguments.backward),
        tuple(arguments.meta),
        tuple(arguments.trap),
    )
    if arguments.run_samples and not arguments.runtime:
        return console.refuse("coverage", "`--run-samples` needs `--runtime`")
    report = _report(arguments, sink)
    if arguments.run_samples:
        return _run_samples(arguments, report)
    if arguments.runtime:
        return _compare_with_process(arguments, report)
    text = _render(
        arguments.format, report, [record for record in report.records if query.selects(record)], query.is_empty
    )
    print_or_write(text, arguments.out)
    return console.SUCCESS


def _compare_with_process(arguments: argparse.Namespace, report: CoverageReport) -> int:
    """Print where the dispatcher of a process differs from the report, and give the exit status."""
    from opwright.migrate.importing.process import answer_of
    from opwright.tools.coverage.samples import (
        DispatcherState,
        runtime_differences,
        runtime_keys_of,
    )

    answer = answer_of("dispatcher", runtime_keys_of(report), arguments.runtime)
    assert isinstance(answer, list)
    registered, can_be_called, has_fallback = answer
    by_key = {key: frozenset(names) for key, names in registered.items()}
    state = DispatcherState(by_key, frozenset(can_be_called), has_fallback)
    differences = list(runtime_differences(report, state))
    compared = f"{counted(len(report.records), 'operator')} compared, {counted(len(differences), 'difference')}"
    print_or_write("\n".join([*differences, compared, ""]), arguments.out)
    return console.FAULTS if differences else console.SUCCESS


def _run_samples(arguments: argparse.Namespace, report: CoverageReport) -> int:
    """Print what fails of PyTorch's samples, and give the exit status."""
    from opwright.tools.coverage.samples import run_samples, sample_lines

    results = list(run_samples(report.key, arguments.runtime))
    print_or_write("\n".join([*sample_lines(results), ""]), arguments.out)
    return console.FAULTS if any(result.error for result in results) else console.SUCCESS


def _render(form: str, report: CoverageReport, records: list[OperatorRecord], is_whole: bool) -> str:
    renderers = {"json": formats.render_json, "csv": formats.render_csv, "html": formats.render_page}
    if form in renderers:
        return renderers[form](report, records)
    return formats.render_summary(report) if is_whole else formats.render_text(report, records)


def _report(arguments: argparse.Namespace, sink: Diagnostics) -> CoverageReport:
    request = Request(
        inputs=open_named_inputs(arguments, sink),
        folders={},
        release=arguments.release,
        backends=(SourceFile.read(arguments.backend),),
        operator_files=tuple(map(SourceFile.read, arguments.operators)),
        allowed_paths=tuple(arguments.allow_path),
    )
    return load_coverage(request, sink, None if arguments.fallback is None else Fallback[arguments.fallback])
