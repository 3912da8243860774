"""Renames an operator in all files that name it: entries, fields, derivatives, formulas, and open backend files.

The overloads of an operator share its name, so a new name is that of all of them, and of the in-place ones. Only a new
name for an overload concerns one entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from opwright.backends.rows import BACKEND
from opwright.dialects.table import DERIVATIVES, NATIVE_FUNCTIONS, TAGS
from opwright.libraries.rows import LIBRARY
from opwright.source.diagnostic import Edit, Fault
from opwright.source.span import Span
from opwright.source.text import SourceFile
from opwright.tools.lsp.cursor import cursor_at, word_at
from opwright.tools.lsp.formulas import NO_FORMULAS
from opwright.tools.lsp.navigation import places_of
from opwright.tools.lsp.operators import operator_entries, plain_name
from opwright.tools.lsp.project import Project, kind_of
from opwright.tools.lsp.rename import changed_texts, check_is_no_word
from opwright.tools.lsp.rename_scope import RenameScope, rename_scope

_NAME: Final = re.compile(r"[A-Za-z_]\w*(?:\.\w+)?")


def operator_at(project: Project, file: SourceFile, offset: int) -> Span | None:
    """The name of an operator at an offset, without its namespace; None for anything else."""
    word = word_at(file, offset)
    name = re.split(r"::|\.", word.text)[-1] if _is_call(file, word) else word.text.rpartition("::")[2]
    place = Span(file, word.end - len(name), word.end)
    if not name or cursor_at(file, offset).in_key:
        return None
    names = _names(project, file)
    if _is_call(file, word):
        return place if name in {named_place.partition(".")[0] for named_place in names} else None
    is_named = name in names and any(named_place.start == place.start for named_place in places_of([file], name))
    return place if is_named else None


def _is_call(file: SourceFile, word: Span) -> bool:
    """Whether a word of a file with derivatives is the function of a call in a formula."""
    is_called = file.text[word.end : word.end + 1] == "("
    return is_called and _has_formulas(file) and cursor_at(file, word.start).key not in NO_FORMULAS


def _has_formulas(file: SourceFile) -> bool:
    """Whether a file may have derivatives: those of libraries have any name."""
    return kind_of(file) not in (NATIVE_FUNCTIONS, LIBRARY, BACKEND, TAGS)


def _names(project: Project, file: SourceFile) -> set[str]:
    """The operators that have entries in a library, or in the PyTorch of a file, with those that entries generate."""
    files = [file] if kind_of(file) is LIBRARY else project.related_files(file)
    entries = [operator_entries(text) for text in files if kind_of(text) is not DERIVATIVES]
    return {name.rpartition("::")[2] for names in entries for name in names}


def rename_operator(project: Project, file: SourceFile, offset: int, new_name: str) -> list[Edit]:
    """The edits that rename the operator at an offset. Raises ValueError with a sentence if it cannot be done."""
    place = operator_at(project, file, offset)
    if place is None:
        raise ValueError("no operator is here")
    old, new = place.text, plain_name(new_name).rpartition("::")[2]
    names = _names(project, file)
    renamed = _renamed(old, new, names)
    taken = names.intersection(renamed.values()).difference(renamed)
    if taken:
        raise ValueError(f"there is an operator `{min(taken)}` already")
    try:
        return _checked_edits(project, file, old, new, renamed)
    except Fault as fault:
        raise ValueError(fault.diagnostic.message) from None


def _checked_edits(project: Project, file: SourceFile, old: str, new: str, renamed: Mapping[str, str]) -> list[Edit]:
    """The edits, after which the operator loads as it did before. Raises Fault and ValueError."""
    scope = rename_scope(project, file, old)
    scope.load({})
    files = scope.files if kind_of(file) is LIBRARY else project.related_files(file)
    edits = dict.fromkeys([edit for text in files for edit in _edits(text, renamed)])
    ordered = sorted(edits, key=lambda edit: (edit.span.file.path, edit.span.start))
    _renamed_scope(project, file, scope, new).load(changed_texts(scope, ordered))
    return ordered


def _renamed(old: str, new: str, names: set[str]) -> Mapping[str, str]:
    """The operators that change with one, with their new names. Raises ValueError for a name that cannot be."""
    if _NAME.fullmatch(new) is None:
        raise ValueError(f"`{new}` is not a name of an operator")
    for part in new.split("."):
        check_is_no_word(part)
    base, _, overload = old.partition(".")
    new_base, _, new_overload = new.partition(".")
    if base == new_base:
        return {old: new}
    if overload != new_overload:
        raise ValueError("change the name or the overload, one at a time")
    if base.endswith("_") != new_base.endswith("_"):
        raise ValueError("the names of in-place operators end with `_`, and those of others do not")
    base, new_base = base.rstrip("_"), new_base.rstrip("_")
    pattern = re.compile(rf"{base}(?=_?(?:\.|$))")
    return {name: f"{new_base}{name[len(base) :]}" for name in names if pattern.match(name)}


def _edits(file: SourceFile, renamed: Mapping[str, str]) -> Iterator[Edit]:
    """The edits of one file."""
    for old, new in renamed.items():
        for place in places_of([file], old):
            yield Edit(place, new)
    if _has_formulas(file):
        functions = {old.partition(".")[0]: new.partition(".")[0] for old, new in renamed.items()}
        for old, new in functions.items():
            yield from _calls(file, old, new) if old != new else ()


def _calls(file: SourceFile, old: str, new: str) -> Iterator[Edit]:
    """The calls of an operator in formulas, as a function or as a method, with the suffixes that C++ has."""
    pattern = re.compile(rf"(?<!\w)({old})(?=(?:_out|_outf|_symint)?\s*\()")
    for match in pattern.finditer(file.text):
        cursor = cursor_at(file, match.start())
        if not cursor.in_key and cursor.key not in NO_FORMULAS:
            yield Edit(file.span(*match.span(1)), new)


def _renamed_scope(project: Project, file: SourceFile, scope: RenameScope, new: str) -> RenameScope:
    """The scope of the operator with its new name. A library is loaded whole, so it has the same."""
    return scope if kind_of(file) is LIBRARY else rename_scope(project, file, new)
