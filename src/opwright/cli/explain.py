"""Explain an operator, or a diagnostic code.

  opwright explain add.Tensor                       all about an overload
  opwright explain add                              the overloads of an operator
  opwright explain aten.add.out --section dispatch  what runs under each dispatch key
  opwright explain relu mm --format json            for other programs
  opwright explain F.relu at::add_out AddBackward0  the operators behind other names
  opwright explain Tracer RegisterCPU.cpp autograd  a dispatch key, a generated file, a family of files
  opwright explain acme::scale --library acme.yaml  an operator of a library
  opwright explain add.out --backend acme.yaml      with the kernels of a backend
  opwright explain add.out --out build              with the lines of generated code
  opwright explain add.out --passes                 what each stage from the entry to files makes of it
  opwright explain E0312                            what a code means, and how to fix the error

`--out` names the folder of `opwright generate --provenance FILE`. Without names, all codes are listed."""

from __future__ import annotations

import argparse
import os
import re
import sys
from typing import Final

from opwright.cli import console
from opwright.cli.arguments import add_input_arguments, add_plugin_argument, not_empty, repeated, terminal_columns
from opwright.cli.input_arguments import add_allow_path_argument, open_named_inputs
from opwright.cli.plugin_use import activate_installed
from opwright.cli.streams import wants_color, wants_links
from opwright.plugins.active import ACTIVE
from opwright.plugins.code_pages import all_codes, code_names, find_code, is_plugin_code
from opwright.schema.function import SchemaKind
from opwright.source.diagnostic import Diagnostics, did_you_mean
from opwright.source.terminal import print_rendered, say, tell
from opwright.source.text import SourceFile
from opwright.tools.explain.records import SECTIONS, render_json

# Modules that do the work are imported when the command runs.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from opwright.backends.dispatch.resolution import Resolution
    from opwright.model.native_function import NativeFunction
    from opwright.tools.explain.loading import ExplainRequest
    from opwright.tools.explain.naming import NamedOverload
    from opwright.tools.explain.text import Painter
    from opwright.workspace.provenance import FileOrigin

_CODE: Final = re.compile(r"[A-Za-z]\d{3,5}|[A-Z]{2,}\d{4}")
#: The columns of explanations that go to no terminal.
_COLUMNS: Final = 80


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "names",
        metavar="NAME",
        nargs="*",
        help="an operator as `add.Tensor`, `aten::add.Tensor` or `torch.ops.aten.add.Tensor`; a name that leads to "
        "operators, as `torch.add`, `at::add_out`, `AddmmBackward0`, `CPU`, a kernel or a tag; or a code such as E0312",
    )
    listed = "; ".join([f"{name}: {text}" for name, text in SECTIONS.items()])
    parser.add_argument(
        "--section", metavar="LIST", type=_sections, help=f"print only these, separated by commas. {listed}"
    )
    parser.add_argument("--all", action="store_true", help="explain each overload of an operator")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--format", choices=("text", "json"), default="text", help="the form (default: text)")
    form.add_argument("--passes", action="store_true", help="print the operator after each stage from entry to files")
    parser.add_argument(
        "--out", metavar="DIR", type=not_empty, help="the output folder of a run with `--provenance`, for lines"
    )
    add_plugin_argument(parser)
    add_allow_path_argument(parser)
    add_input_arguments(parser)
    for flag, help in (
        ("library", "a library file with operators"),
        ("backend", "a backend file, whose kernels are in the dispatch tables"),
        ("operators", "operators that a backend file names, in a file like native_functions.yaml"),
    ):
        repeated(parser)(f"--{flag}", metavar="FILE", help=f"{help} (may be repeated)", type=not_empty)


def _sections(text: str) -> tuple[str, ...]:
    """Type of a list of sections."""
    names = tuple([name.strip() for name in text.split(",") if name.strip()])
    for name in names:
        if name not in SECTIONS:
            hint = str(did_you_mean(name, SECTIONS)) or f"there are: {', '.join(SECTIONS)}"
            raise argparse.ArgumentTypeError(f"no section `{name}`; {hint}")
    if not names:
        raise argparse.ArgumentTypeError("the value is empty")
    return names


def run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Print the explanations."""
    codes = [name for name in arguments.names if _CODE.fullmatch(name)]
    names = [name for name in arguments.names if name not in codes]
    if not arguments.names:
        for code in all_codes():
            tell(f"{code.code}  {code.title}")
    statuses = [_print_code(code) for code in codes]
    if names:
        statuses.append(_explain(names, arguments, sink))
    return max(statuses, default=console.SUCCESS)


def _print_code(text: str) -> int:
    """Print the page of a code, and give the exit status."""
    match = find_code(text)
    if match is None and is_plugin_code(text):
        activate_installed(ACTIVE.plugins)
        match = find_code(text)
    if match is None:
        hint = str(did_you_mean(text.upper(), code_names()))
        say(f"opwright explain: no code `{text}`{'; ' + hint if hint else ''}\n")
        return console.USAGE
    print_rendered(f"{match.page}\n")
    return console.SUCCESS


def _explain(names: Sequence[str], arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Print the explanations of operators, and give the exit status."""
    from opwright.tools.explain.explanation import explain
    from opwright.tools.explain.naming import named_overloads, unknown_name
    from opwright.tools.explain.passes import passes_text
    from opwright.tools.explain.text import render, render_overloads

    request = _request(names, arguments, sink)
    sections = arguments.section or tuple(SECTIONS)
    painter = _painter()._replace(color=wants_color(arguments.color, sys.stdout))
    texts, records, status = [], [], console.SUCCESS
    named, resolutions = named_overloads(request, sink)
    for name, matches in named.items():
        resolution = resolutions.get(name)
        if resolution is not None and arguments.format == "text":
            texts.append(_resolved_text(name, resolution, matches, painter))
        if resolution is not None and not matches:
            continue
        if not matches:
            say(f"opwright explain: {unknown_name(name, request)}\n")
            status = console.FAULTS
        elif len(matches) > 1 and not arguments.all and arguments.format == "text":
            ordered = sorted(matches, key=lambda match: (match[0].is_synthesized, match[0].kind is SchemaKind.out))
            listed = [explain(function, explained, ()) for function, explained in ordered]
            texts.append(render_overloads(name, listed, painter))
        elif arguments.passes:
            texts += [passes_text(function, explained) for function, explained in matches]
        else:
            origins = None if arguments.out is None else _origins(arguments.out, [match[0] for match in matches])
            wanted = [explain(function, explained, sections, origins) for function, explained in matches]
            records += wanted
            texts += [render(record, painter) for record in wanted]
    if arguments.format == "json":
        print_rendered(render_json(records))
    else:
        print_rendered("\n".join(texts))
    return status


def _painter() -> Painter:
    from opwright.tools.explain.text import Painter

    is_terminal = sys.stdout.isatty()
    columns = terminal_columns() if is_terminal or os.environ.get("COLUMNS") else _COLUMNS
    return Painter(links=wants_links(sys.stdout), columns=columns, home=os.getcwd())


def _request(names: Sequence[str], arguments: argparse.Namespace, sink: Diagnostics) -> ExplainRequest:
    from opwright.tools.explain.loading import ExplainRequest

    return ExplainRequest(
        tuple(names),
        open_named_inputs(arguments, sink),
        arguments.release,
        tuple(map(SourceFile.read, arguments.library)),
        tuple(map(SourceFile.read, arguments.operators)),
        tuple(map(SourceFile.read, arguments.backend)),
        tuple(arguments.allow_path),
    )


def _resolved_text(name: str, resolution: Resolution, matches: Sequence[NamedOverload], painter: Painter) -> str:
    """What a name was taken for, and the operators that it leads to."""
    operators = [function.name.text for function, _ in matches] or resolution.operators
    number = "" if matches else f" of {len(operators):,} overloads"
    taken_for, listed = f"{name} is {resolution.taken_for}", f"{number}: {', '.join(operators)}"
    paragraphs = [f"{taken_for}. {resolution.about}" if resolution.about else f"{taken_for}{listed}"]
    if resolution.about and operators:
        paragraphs.append(f"It has kernels in the entries{listed}")
    return "\n".join([line for text in paragraphs for line in (*painter.wrap("", text, indent=2), "")])


def _origins(out: str, functions: Iterable[NativeFunction]) -> Mapping[str, FileOrigin]:
    """Lines of an output folder that come from the entries of overloads. Raises Fault without provenance."""
    from opwright.cli.where import folder_origins

    entries = {(os.path.abspath(function.entry.file.path), function.entry.line) for function in functions}
    return folder_origins(out, lambda path, line: (path, line) in entries)
