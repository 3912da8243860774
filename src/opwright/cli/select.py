"""Merge selections of operators for a selective build, and tell why operators are kept.

  opwright select a.yaml b.yaml --out selected.yaml               the union of two selections
  opwright select roots.yaml --graph deps.yaml --out selected.yaml   root operators, and all that they need
  opwright select model.pte aten::add.Tensor                      a report: what is kept and why, and what is dropped
  opwright select explain aten::add.Tensor --from selected.yaml   why one operator is kept

An input is a selection, a list of names (YAML, or text in a `.txt` file), a file of models, an ExecuTorch program, or
the name of an operator. `opwright generate --op-selection-yaml-path` takes what --out writes."""

from __future__ import annotations

import argparse
import os

from opwright.cli.arguments import add_input_arguments, not_empty, repeated
from opwright.cli.input_arguments import open_named_inputs
from opwright.cli.runs import current_manifest, drop_in_run_of
from opwright.mobile.mobile_codes import NOT_KEPT
from opwright.run.incremental_generation import IncrementalGeneration
from opwright.source.terminal import print_document, visible

# Modules that do the work are imported only if there is work.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from opwright.incremental.identity import RunIdentity
    from opwright.mobile.selective.selecting import SelectionOutcome, SelectRequest
    from opwright.source.diagnostic import Diagnostics

_EXPLAIN: Final = "explain"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "inputs",
        metavar="INPUT",
        nargs="*",
        help="a file or the name of an operator; after the word `explain`, names of operators to explain",
    )
    repeated(parser)("--from", metavar="INPUT", help="one more input (may be repeated)", dest="sources")
    parser.add_argument(
        "--graph",
        metavar="FILE",
        type=not_empty,
        help="a dependency graph: also keep what root operators call, and what that calls",
    )
    parser.add_argument(
        "--training",
        action="store_true",
        help="operators of lists and names are used for training, so their derivatives are kept",
    )
    add_input_arguments(parser)
    operators = parser.add_argument_group("operators", "besides those of PyTorch")
    repeated(operators)("--library", metavar="FILE", help="operators of this library file (may be repeated)")
    repeated(operators)(
        "--operators", metavar="FILE", help="operators in a file like native_functions.yaml (may be repeated)"
    )
    output = parser.add_argument_group("output")
    output.add_argument("--out", metavar="FILE", type=not_empty, help="write the selection to this file")
    output.add_argument(
        "--format", choices=("text", "json"), default="text", help="the form of the report (default: text)"
    )
    output.add_argument(
        "--dropped", action="store_true", help="also list the operators that are dropped (in JSON always)"
    )
    output.add_argument("--report", metavar="FILE", type=not_empty, help="write the report to this file")
    parser.set_defaults(prune=False)


def _run(arguments: argparse.Namespace) -> RunIdentity:
    """Identity of a run that writes a selection; its state is in the user's cache."""
    folders = {"selection": os.path.dirname(arguments.out) or "."}
    if arguments.report is not None:
        folders["report"] = os.path.dirname(arguments.report) or "."
    out = os.path.basename(arguments.out)
    return drop_in_run_of("select", arguments, folders["selection"], folders, (), selection=out)


def is_up_to_date(arguments: argparse.Namespace) -> bool:
    """Whether an earlier run wrote all that this one would write; then print what it printed."""
    if arguments.out is None or arguments.inputs[:1] == [_EXPLAIN]:
        return False
    manifest = current_manifest(_run(arguments), arguments.color)
    if manifest is None:
        return False
    print_document(str(manifest.facts["printed"]))
    return True


def _request(arguments: argparse.Namespace, words: list[str], sink: Diagnostics) -> SelectRequest:
    from opwright.mobile.selective.selecting import SelectRequest
    from opwright.run.request import Request
    from opwright.source.text import SourceFile

    catalog = Request(
        inputs=open_named_inputs(arguments, sink, are_operators=True),
        folders={},
        families=(),
        release=arguments.release,
        libraries=tuple(map(SourceFile.read, arguments.library)),
        operator_files=tuple(map(SourceFile.read, arguments.operators)),
    )
    # An operator's name has `::`, which no name of a file needs.
    paths = tuple([word for word in words if "::" not in word or os.path.exists(word)])
    names = tuple([word for word in words if word not in paths])
    return SelectRequest(paths, names, catalog, arguments.graph, arguments.training)


def run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Write the selection and the report about it, or explain operators."""
    from opwright.cli import console

    explains = arguments.inputs[:1] == [_EXPLAIN]
    words = [*([] if explains else arguments.inputs), *arguments.sources]
    missing = _missing(explains, arguments.inputs, words)
    if missing:
        return console.refuse("select", f"{missing}\n`opwright select --help` lists the arguments")
    if explains:
        from opwright.mobile.selective.selecting import select_operators

        _explain(arguments, select_operators(_request(arguments, words, sink), sink), sink)
    else:
        _select(arguments, _request(arguments, words, sink), sink)
    return console.SUCCESS


def _missing(explains: bool, inputs: list[str], words: list[str]) -> str:
    if explains and len(inputs) == 1:
        return "name an operator to explain"
    if words:
        return ""
    return "name the selection with --from" if explains else "name a file or an operator"


def _select(arguments: argparse.Namespace, request: SelectRequest, sink: Diagnostics) -> None:
    from opwright.mobile.selective.reports import render_json, render_text
    from opwright.mobile.selective.selecting import select_operators
    from opwright.mobile.selective.writer import write_selection

    incremental = None
    if arguments.out is not None:
        incremental = IncrementalGeneration(_run(arguments))
        incremental.take_stamps(request.catalog.inputs, request.files)
    outcome = select_operators(request, sink)
    if arguments.format == "json":
        report = render_json(outcome.report, outcome.report.operators)
    else:
        report = render_text(outcome.report, with_dropped=arguments.dropped)
    outputs = {} if arguments.report is None else {arguments.report: report}
    printed = "" if outputs or arguments.out is not None else report
    if incremental is None:
        if outputs:
            from opwright.mobile.selective.small_outputs import write_outputs

            write_outputs(outputs)
    else:
        left, dropped = outcome.report.overloads
        printed = visible(f"{left:,} overloads kept, {dropped:,} dropped: {arguments.out}\n")
        outputs[arguments.out] = write_selection(outcome.selection)
        from opwright.cli.extra_files import write_texts

        write_texts(incremental, outputs, sink, {"printed": printed})
    print_document(printed)


def _explain(arguments: argparse.Namespace, outcome: SelectionOutcome, sink: Diagnostics) -> None:
    """Print why operators are kept. Those that are not kept are errors."""
    from opwright.mobile.selective.reports import render_explanation, render_json, selector_of
    from opwright.source.diagnostic import did_you_mean

    texts, selectors = [], []
    for name in arguments.inputs[1:]:
        selector = selector_of(name, outcome.selection)
        if selector is not None:
            selectors.append(selector)
            texts.append(render_explanation(name, outcome.report.operators[selector]))
        elif outcome.selection.everything:
            texts.append(f"{name} is kept\n  an input keeps all operators\n")
        else:
            help = did_you_mean(name, outcome.selection.operators)
            sink.error(NOT_KEPT, f"`{name}` is not kept", help=help)
    text = render_json(outcome.report, selectors) if arguments.format == "json" else "".join(texts)
    print_document(text)
