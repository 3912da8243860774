"""Merging of selection files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from functools import reduce

from opwright.mobile.mobile_codes import ALL_OVERLOADS, LIST_WRONG, OPERATOR_REPEATED
from opwright.mobile.selective.files import Files
from opwright.model.selection import Selection, merge


def listed_paths(argument: str, files: Files, *, in_folders: bool) -> list[str]:
    """Selection files that an argument names: the file itself, or those that the file after an `@` lists.

    With `in_folders`, a listed folder stands for its selected_operators.yaml.
    """
    if os.path.isfile(argument):
        return [argument]
    if not argument.startswith("@"):
        help = f"write `@{argument}` for a file that lists selections"
        files.refuse(LIST_WRONG, f"there is no selection `{argument}`", help=help)
        return []
    paths = files.text(argument[1:]).split()
    if not in_folders:
        return paths
    if not paths:
        files.refuse(LIST_WRONG, f"`{argument[1:]}` names no selection")
    return [path if os.path.isfile(path) else os.path.join(path, "selected_operators.yaml") for path in paths]


def union_of(selections: Sequence[Selection]) -> Selection:
    """Union of selections; a single one stays as it is, and none selects nothing."""
    return reduce(merge, selections) if selections else Selection(everything=False)


def with_source(selection: Selection, source: str) -> Selection:
    """A selection whose operators all come from a source."""
    operators = {name: operator._replace(debug_info=(source,)) for name, operator in selection.operators.items()}
    return selection._replace(operators=operators)


def resolved_source(path: str) -> str:
    """Path of a selection without links, or the target of the Buck rule that made it.

    >>> resolved_source("/r/buck-out/v2/fbcode/00ff/ops/__model_et_oplist__/out/selected_operators.yaml")
    'fbcode//ops:model'
    """
    real_path = os.path.realpath(path)
    folder, rule, end = real_path.partition("_et_oplist__")
    if "/buck-out/" in folder and rule and end == "/out/selected_operators.yaml":
        target = re.match(r"/.*/buck-out/.*/(fbsource|fbcode)/[0-9a-f]*/(.*)/__(.*)$", folder)
        if target is not None:
            return f"{target[1]}//{target[2]}:{target[3]}"
    return real_path


def check_overloads(selection: Selection, path: str, files: Files) -> None:
    """Report operators that stand for all their overloads, where only single overloads may be selected."""
    for name, operator in selection.operators.items():
        if operator.all_overloads:
            help = "pass --allow-include-all-overloads, or set `include_all_overloads: false`"
            files.refuse(ALL_OVERLOADS, f"`{name}` stands for all its overloads", path=path, name=name, help=help)


def check_overlaps(selections: Iterable[tuple[str, Selection]], files: Files) -> None:
    """Report operators that several models select; each selection comes with the path of its file."""
    first_sources: dict[str, str] = {}
    for path, selection in selections:
        for name, operator in selection.operators.items():
            source = ",".join(operator.debug_info or (path,))
            if name in first_sources:
                message = f"two models select `{name}`: {first_sources[name]} and {source}"
                files.refuse(OPERATOR_REPEATED, message, path=path, name=name)
            first_sources[name] = source
