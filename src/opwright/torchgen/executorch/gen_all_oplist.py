"""Merge the selections of several models into one.

Takes the flags of `python -m executorch.codegen.tools.gen_all_oplist`, and writes the same bytes to
selected_operators.yaml. What depends on Python's hash seed there is sorted here."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from opwright.cli.arguments import spellings
from opwright.cli.streams import leave
from opwright.mobile.mobile_codes import TWO_PRIM_OPS
from opwright.mobile.selective.files import Files
from opwright.mobile.selective.merging import (
    check_overlaps,
    check_overloads,
    listed_paths,
    resolved_source,
    union_of,
    with_source,
)
from opwright.mobile.selective.writer import write_selection
from opwright.model.selection import Selection
from opwright.torchgen.selective_program import Program, Result


def _declare(add: Callable[..., object]) -> None:
    add(*spellings("output-dir"), metavar="DIR", help="the folder to write selected_operators.yaml into", required=True)
    add(
        *spellings("model-file-list-path"),
        metavar="FILE",
        help="one selection, or `@FILE` for a file that lists selections, or folders of selected_operators.yaml",
        required=True,
    )
    add(
        *spellings("allow-include-all-overloads"),
        action="store_true",
        help="allow operators that stand for all their overloads",
    )
    add(
        *spellings("check-ops-not-overlapping"), action="store_true", help="report operators that several models select"
    )
    add(
        *spellings("DEBUG-ONLY-check-prim-ops"),
        metavar="@FILE",
        help="a file that lists the Buck targets which register primitive operators; two are an error",
    )


def _work(arguments: argparse.Namespace, files: Files) -> Result:
    _check_prim_ops(arguments.DEBUG_ONLY_check_prim_ops or "", files)
    argument = arguments.model_file_list_path
    selections = []
    for path in listed_paths(argument, files, in_folders=True):
        selection = files.selection(path)
        if path != argument:
            if _is_empty(selection):
                continue
            selection = with_source(selection, resolved_source(path))
        selections.append((path, selection))
    if arguments.check_ops_not_overlapping:
        check_overlaps(selections, files)
    if files.are_sound() and not arguments.allow_include_all_overloads:
        for path, selection in selections:
            check_overloads(selection, path, files)
    union = union_of([selection for _, selection in selections])
    return Result({os.path.join(arguments.output_dir, "selected_operators.yaml"): write_selection(union)})


def _check_prim_ops(listing: str, files: Files) -> None:
    if not listing:
        return
    targets = files.text(listing.removeprefix("@")).split()
    if len(targets) > 1:
        help = f'find the way to one with `buck2 cquery MODE "allpaths(TARGET, {targets[0]})"`'
        message = f"several targets register primitive operators: {', '.join(targets)}"
        files.refuse(TWO_PRIM_OPS, message, help=help)


def _is_empty(selection: Selection) -> bool:
    """Whether a selection selects nothing; a library with only primitive operators makes such ones."""
    flags = (selection.everything, selection.everything_else)
    parts = (selection.operators, selection.kernel_dtypes, selection.edge_kernels)
    return not any(flags) and not any(parts) and not selection.custom_classes and not selection.build_features


main = Program("executorch.gen_all_oplist", __doc__, _declare, _work)


if __name__ == "__main__":
    leave(main)
