"""Renames an argument or an operator in all files that name it.

A rename of an argument is offered if it changes nothing but the name. So the operators concerned are loaded with the
edits, and their generated code is compared with the code before. The overloads of an operator share its name, so a new
name is that of all of them, and of the in-place ones. Only a new name for an overload concerns one entry.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Mapping
from typing import Final

from opwright.backends.rows import BACKEND
from opwright.dialects.names import CPP_WORDS, IDENTIFIER
from opwright.dialects.table import DERIVATIVES, NATIVE_FUNCTIONS, TAGS
from opwright.libraries.rows import LIBRARY
from opwright.model.native_function import NativeFunction
from opwright.source.diagnostic import Edit, Fault
from opwright.source.span import Span
from opwright.source.text import SourceFile
from opwright.tools.lsp.argument_places import UnknownPlace, argument_at, derivative_places, entry_places
from opwright.tools.lsp.cursor import cursor_at, word_at
from opwright.tools.lsp.formulas import NO_FORMULAS
from opwright.tools.lsp.navigation import places_of
from opwright.tools.lsp.operators import entry_at, operator_entries, plain_name
from opwright.tools.lsp.project import Project, kind_of
from opwright.tools.lsp.rename_scope import Renamed, RenameScope, group_of, other_difference, rename_scope
from opwright.workspace.edits import apply_edits

_LONGEST: Final = 100
#: Names with a meaning: in generated code, in formulas, or to the dispatcher and the Python bindings.
_RESERVED: Final = frozenset(
    (
        *("self", "out", "input", "dtype", "layout", "device", "pin_memory", "requires_grad", "memory_format"),
        *("options", "generator", "grad", "grads", "grad_input_mask", "original_self", "i", "args", "kwargs", "ks"),
    )
)
_NUMBERED: Final = re.compile(r"(?:result|out|grad|arg)\d*")


def rename_argument(project: Project, file: SourceFile, offset: int, new_name: str) -> list[Edit]:
    """The edits that rename the argument at an offset.

    The overloads of a group share the names of their arguments, so all of them change, and their derivatives.
    Raises ValueError with a sentence if it cannot be done.
    """
    word, entry = argument_at(file, offset), entry_at(file, offset)
    if word is None or entry is None:
        raise ValueError("no argument of an operator is here")
    try:
        return _edits(rename_scope(project, file, entry.name), entry.name, word.text, new_name)
    except Fault as fault:
        raise ValueError(fault.diagnostic.message) from None


def _edits(scope: RenameScope, name: str, old: str, new: str) -> list[Edit]:
    """The edits that rename an argument of an operator, whose effect is compared. Raises Fault and ValueError."""
    _check_is_name(new)
    before = scope.load({})
    group = group_of(before.job, name)
    _check_names(group, old, new, is_pytorch=scope.is_pytorch)
    try:
        places = {(place.file.path, place.start): place for place in _places(scope, group, old, new)}
    except UnknownPlace as error:
        raise ValueError(f"the field `{error}` may name `{old}`, and it is not known where") from None
    edits = [Edit(places[key], new) for key in sorted(places)]
    after = scope.load(changed_texts(scope, edits))
    foreign = {argument.name for other in before.job.catalog.functions for argument in other.arguments.all}
    difference = other_difference(before.job, after.job, scope.families, Renamed(old, new, frozenset(foreign)))
    if difference is not None:
        raise ValueError(f"more than this name would change in the generated code: {difference}")
    if before.warnings != [re.sub(rf"\b{new}\b", old, line) for line in after.warnings]:
        raise ValueError(f"it would bring a warning: {after.warnings[0]}")
    return edits


def _check_is_name(name: str) -> None:
    """Raise ValueError for what no argument may be named."""
    if len(name) > _LONGEST:
        raise ValueError(f"a name has at most {_LONGEST} characters, and this one has {len(name):,}")
    if IDENTIFIER.fullmatch(name) is None:
        raise ValueError(f"`{name}` is not a name of an argument")
    check_is_no_word(name)


def check_is_no_word(name: str) -> None:
    """Raise ValueError for a word of C++ or Python."""
    if keyword.iskeyword(name) or name in CPP_WORDS:
        raise ValueError(f"`{name}` is a word of {'Python' if keyword.iskeyword(name) else 'C++'}")


def _check_names(group: tuple[NativeFunction, ...], old: str, new: str, *, is_pytorch: bool) -> None:
    """Raise ValueError if an overload gives the old name a meaning, or has the new one already."""
    for function in group:
        results = {result.name for result in function.schema.returns}
        arguments = {argument.name for argument in function.arguments.all}
        if new in results | arguments:
            raise ValueError(
                f"`{function.name}` has {'an argument' if new in arguments else 'a result'} `{new}` already"
            )
        if old in results:
            raise ValueError(f"`{function.name}` has a result `{old}`, too")
        if old == "self" and (is_pytorch or function.method or function.name.inplace):
            raise ValueError("`self` is what methods and Python bindings call this argument")
    _check_has_no_meaning(new)
    if old != "self":
        _check_has_no_meaning(old)


def _check_has_no_meaning(name: str) -> None:
    """Raise ValueError for a name that generated code uses otherwise."""
    if name in _RESERVED or _NUMBERED.fullmatch(name) or name.startswith("__"):
        raise ValueError(f"`{name}` has a meaning of its own in generated code")


def _places(scope: RenameScope, group: tuple[NativeFunction, ...], old: str, new: str) -> Iterator[Span]:
    """Where the entries of a group and their derivatives name an argument. Raises UnknownPlace."""
    arguments = frozenset([argument.name for function in group for argument in function.arguments.all])
    for entry in scope.entries(group):
        yield from map(entry.place, entry_places(entry.node, old))
    for entry in scope.derivatives(group):
        if re.search(rf"(?<!\w){new}(?:_[pt])?(?!\w)", entry.node.span.text):
            raise ValueError(f"the derivatives of `{group[0].name}` use `{new}` already")
        yield from map(entry.place, derivative_places(entry.node, old, arguments))


def changed_texts(scope: RenameScope, edits: list[Edit]) -> Mapping[str, SourceFile]:
    """The changed texts of files, by their paths."""
    paths = {edit.span.file.path for edit in edits}
    return {
        file.path: SourceFile(
            file.path, apply_edits(file.text, [edit for edit in edits if edit.span.file.path == file.path])
        )
        for file in scope.files
        if file.path in paths
    }


_OPERATOR_NAME: Final = re.compile(r"[A-Za-z_]\w*(?:\.\w+)?")


def operator_at(project: Project, file: SourceFile, offset: int) -> Span | None:
    """The name of an operator at an offset, without its namespace; None for anything else."""
    word = word_at(file, offset)
    name = re.split(r"::|\.", word.text)[-1] if _is_call(file, word) else word.text.rpartition("::")[2]
    place = Span(file, word.end - len(name), word.end)
    if not name or cursor_at(file, offset).in_key:
        return None
    names = _operator_names(project, file)
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


def _operator_names(project: Project, file: SourceFile) -> set[str]:
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
    names = _operator_names(project, file)
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
    edits = dict.fromkeys([edit for text in files for edit in _operator_edits(text, renamed)])
    ordered = sorted(edits, key=lambda edit: (edit.span.file.path, edit.span.start))
    # A library is loaded whole, so its scope has the new name, too.
    new_scope = scope if kind_of(file) is LIBRARY else rename_scope(project, file, new)
    new_scope.load(changed_texts(scope, ordered))
    return ordered


def _renamed(old: str, new: str, names: set[str]) -> Mapping[str, str]:
    """The operators that change with one, with their new names. Raises ValueError for a name that cannot be."""
    if _OPERATOR_NAME.fullmatch(new) is None:
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


def _operator_edits(file: SourceFile, renamed: Mapping[str, str]) -> Iterator[Edit]:
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
