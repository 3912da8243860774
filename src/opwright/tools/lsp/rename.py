"""Renames an argument of an operator in all files that name it.

A rename is offered if it changes nothing but the name. So the operators concerned are loaded with the edits, and their
generated code is compared with the code before.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Mapping
from typing import Final

from opwright.dialects.names import CPP_WORDS, IDENTIFIER
from opwright.model.native_function import NativeFunction
from opwright.source.diagnostic import Edit, Fault
from opwright.source.span import Span
from opwright.source.text import SourceFile
from opwright.tools.lsp.argument_places import UnknownPlace, derivative_places, entry_places, schema_names
from opwright.tools.lsp.cursor import word_at
from opwright.tools.lsp.operators import entry_at
from opwright.tools.lsp.project import Project
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


def argument_at(file: SourceFile, offset: int) -> Span | None:
    """The name of an argument at an offset, in the schema of an entry or in its derivative; None for anything else."""
    word = word_at(file, offset)
    name = re.match(r"\w+?(?=(?:_[pt])?\b)", word.text)
    entry = entry_at(file, offset)
    if entry is None or name is None:
        return None
    names = [other for other, _, is_result in schema_names(entry.schema) if not is_result]
    if word.text in names:
        return word
    return word.part(0, len(name[0])) if name[0] in names else None


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
