"""Compare the files of PyTorch's generator with Opwright's, for source trees, installed packages and wheels.

  opwright conformance ~/pytorch               the generator in a source tree, run on the tree
  opwright conformance torch-2.16.0.dev.whl    that of a nightly build
  opwright conformance ~/pytorch --xpu --rocm  with flags of the main program, for both sides
  opwright conformance --bisect a b c d        the first of several trees, from old to new, whose files differ

The command runs the Python code of the trees, and prints each program before it runs. The exit status is 0 if all files
are identical, 1 if some differ, or if an input has errors, and 2 for wrong usage."""

from __future__ import annotations

import argparse
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from opwright.cli import console
from opwright.cli.arguments import (
    add_backend_arguments,
    add_release_argument,
    add_selection_arguments,
    chosen_devices,
    not_empty,
    options,
    program_as_named,
    selection,
    templates_as_named,
)
from opwright.emit.emitter import Options
from opwright.emit.registry import program_families
from opwright.files.template import LAUNCHER
from opwright.release.inputs import from_source_path
from opwright.run.request import Request
from opwright.source.diagnostic import Diagnostics
from opwright.source.terminal import tell
from opwright.tools.diff.conformance import (
    PROGRAMS,
    BehaviourDifference,
    ProgramResult,
    Setting,
    Tree,
    compare_program,
    generator_path,
    open_tree,
)
from opwright.tools.diff.outputs import file_counts, render_text

_WIDTH = 100
#: How many lines of differences are shown without `--all`.
_SHOWN = 40


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add = parser.add_argument
    add(
        "trees",
        metavar="TREE",
        nargs="+",
        type=not_empty,
        help="the top of a source tree, the folder that PyTorch is installed in, or a wheel",
    )
    add("--bisect", action="store_true", help="find the first tree whose files differ, of trees from old to new")
    add(
        "--only",
        metavar="PROGRAM",
        action="append",
        choices=list(PROGRAMS),
        help=f"compare only this program: {', '.join(PROGRAMS)} (may be repeated)",
    )
    add("--python", default=sys.executable, metavar="EXE", help="the interpreter that runs the generator")
    add("--all", action="store_true", help="show every line that differs and that no behaviour explains")
    add_release_argument(parser)
    before = len(parser._actions)
    add_backend_arguments(parser)
    add_selection_arguments(parser)
    parser.set_defaults(per_operator_headers=True, lean=False, flags=parser._actions[before:])


def run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Compare the trees, and print what differs."""
    setting = _setting(arguments, sink)
    sink.raise_if_errors()
    trees: list[str] = arguments.trees
    programs = arguments.only or list(PROGRAMS)
    if not arguments.bisect:
        results = [_differs(tree, programs, setting, in_full=arguments.all) for tree in trees]
        return int(any(results))
    first = _first_different(trees, programs, setting, in_full=arguments.all)
    if first is None:
        tell(f"no file differs in `{trees[-1]}`, the last tree")
        return console.SUCCESS
    tell(f"the first tree with differences is `{first}`")
    return 1


def _setting(arguments: argparse.Namespace, sink: Diagnostics) -> Setting:
    """How both sides run."""
    chosen, selected = options(arguments, sink, tolerant=True), selection(arguments, sink)
    devices = chosen_devices(arguments)

    def make_request(tree: Tree, program: str, folders: Mapping[str, str]) -> Request:
        inputs, families = from_source_path(tree.aten), tuple(program_families(program))
        request = Request(inputs, folders, families, release=arguments.release)
        if program == "gen":
            return request._replace(options=chosen, selection=selected, devices=devices, tolerant=True)
        named = LAUNCHER if PROGRAMS[program][1] else program_as_named(tree.autograd, f"{program}.py")
        names = Options(autograd_templates=templates_as_named(tree.autograd), autograd_program=named)
        return request._replace(options=names)

    own_flags = ["--release", arguments.release] if arguments.release else []
    return Setting(list(_flag_words(arguments)), own_flags, arguments.python, make_request)


def _flag_words(arguments: argparse.Namespace) -> Iterator[str]:
    """Flags of the main program that are given, as words."""
    for action in arguments.flags:
        value = getattr(arguments, action.dest)
        if value != action.default:
            yield action.option_strings[0]
            yield from [] if isinstance(value, bool) else [value] if isinstance(value, str) else value


def _first_different(trees: Sequence[str], programs: Sequence[str], setting: Setting, *, in_full: bool) -> str | None:
    """The first of the trees whose files differ, found by halves; None if those of the last one do not."""
    if not _differs(trees[-1], programs, setting, in_full=in_full):
        return None
    clean, different = -1, len(trees) - 1
    while different - clean > 1:
        middle = (clean + different) // 2
        if _differs(trees[middle], programs, setting, in_full=in_full):
            different = middle
        else:
            clean = middle
    return trees[different]


def _differs(spec: str, programs: Sequence[str], setting: Setting, *, in_full: bool) -> bool:
    """Whether files of a tree differ, which is printed."""
    tell(f"{spec}:", flush=True)
    differs = False
    with tempfile.TemporaryDirectory(prefix="opwright-conformance-") as folder:
        tree = open_tree(spec, folder)
        for program in programs:
            # A tree may be a stranger's, and this is its code.
            tell(f"  {program}: runs `{generator_path(tree, program)}` of the tree, with {setting.python}", flush=True)
            result = compare_program(tree, program, setting)
            differs = differs or not result.is_identical
            tell(*_lines_of(result, in_full=in_full), flush=True)
    return differs


def _lines_of(result: ProgramResult, *, in_full: bool) -> Iterator[str]:
    """What came out of one program, as lines."""
    if result.complaint:
        yield f"  {result.program}: Opwright fails"
        yield from textwrap.indent(result.complaint, "    ").splitlines()
        return
    counted = "" if result.comparison.is_empty else f"{file_counts(result.comparison)}; "
    yield f"  {result.program}: {counted}{result.identical} files are identical"
    for explanation in result.explanations:
        yield from _explanation_lines(explanation)
    if result.rest.is_empty:
        return
    yield "    not explained by a behaviour of `opwright releases`:"
    lines = textwrap.indent(render_text(result.rest, in_full=True), "      ").splitlines()
    yield from lines if in_full else lines[:_SHOWN]
    if len(lines) > _SHOWN and not in_full:
        yield f"      and {len(lines) - _SHOWN} more lines, which `--all` shows"


def _explanation_lines(explanation: BehaviourDifference) -> Iterator[str]:
    files = f"{explanation.files} files and " if explanation.files else ""
    yield f"    {explanation.name} explains {files}{explanation.lines} lines"
    values = f"Opwright: {explanation.ours}, the generator: {explanation.theirs}"
    told = f"told by {explanation.told}" if explanation.told else "nothing in the tree tells it"
    text = f"{explanation.what} {values}; {told}"
    yield from textwrap.wrap(text, _WIDTH, initial_indent="      ", subsequent_indent="      ")
