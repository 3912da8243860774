"""Renames an argument of an operator in all files that name it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from opwright.dialects.table import DERIVATIVES, NATIVE_FUNCTIONS
from opwright.lsp.cursor import word_at
from opwright.lsp.operators import OperatorEntry, entries_of, load_operation, operator_entries
from opwright.lsp.project import Project
from opwright.source.diagnostic import Edit
from opwright.source.span import Span
from opwright.source.text import SourceFile

__all__ = ["argument_at", "rename_argument"]

_NAME: Final = re.compile(r"[A-Za-z_]\w*")
#: The argument `x` in `Tensor(a!) x=None`, before a comma or the closing parenthesis.
_ARGUMENT: Final = r"(?<=[\s\])?])({name})(?=\s*(?:=[^,()]*(?:\([^)]*\))?|)\s*[,)])"

#: Fields of an operator's entry that name arguments, with their lists.
_NAMING_FIELDS: Final = re.compile(r"(?m)^ *(?:cpp_no_default_args|precomputed)\b[^\n]*(?:\n +-[^\n]*)*")


def argument_at(file: SourceFile, offset: int) -> Span | None:
    """The name of an argument at an offset, in the schema of an entry or in its derivative; None for anything else."""
    word = word_at(file, offset)
    entry = _entry_at(file, offset)
    if entry is None or word.text not in _argument_names(entry):
        return None
    return word


def _entry_at(file: SourceFile, offset: int) -> OperatorEntry | None:
    for entry in entries_of(file):
        if entry.entry.start <= offset < entry.entry.end:
            return entry
    return None


def _argument_names(entry: OperatorEntry) -> list[str]:
    """The names of the arguments in the schema of an entry.

    >>> file = SourceFile("x.yaml", "- func: f(Tensor(a!) x, *, int[2] y=[1, 1], Scalar? z=None) -> Tensor(a!)")
    >>> _argument_names(entries_of(file)[0])
    ['x', 'y', 'z']
    """
    arguments = entry.schema.partition("(")[2].rpartition("->")[0]
    return re.findall(r"[\])?\w] +([A-Za-z_]\w*) *(?:=|,|\)\s*$)", arguments)


def rename_argument(project: Project, file: SourceFile, offset: int, new_name: str) -> list[Edit]:
    """The edits that rename the argument at an offset.

    The overloads of a group share the names of their arguments, so all of them change, and their derivatives.
    Raises ValueError with a sentence if it cannot be done.
    """
    word, entry = argument_at(file, offset), _entry_at(file, offset)
    if word is None or entry is None:
        raise ValueError("no argument of an operator is here")
    if _NAME.fullmatch(new_name) is None:
        raise ValueError(f"`{new_name}` is not a name of an argument")
    edits: dict[tuple[str, int], Edit] = {}
    for other, is_derivative in _entries_of_group(project, file, entry):
        if new_name in _argument_names(other):
            raise ValueError(f"`{other.name}` has an argument `{new_name}` already")
        for place in _places(other, word.text, is_derivative=is_derivative):
            edits[place.file.path, place.start] = Edit(place, new_name)
    return [edits[key] for key in sorted(edits)]


def _entries_of_group(project: Project, file: SourceFile, entry: OperatorEntry) -> Iterator[tuple[OperatorEntry, bool]]:
    """The entries of all overloads in the group of an operator, and those of their derivatives."""
    inputs = project.inputs_of(file)
    native = None if inputs is None else NATIVE_FUNCTIONS.files(inputs)[0]
    if inputs is None or native is None or entry.name not in operator_entries(native):
        yield entry, False
        return
    names = {entry.name}
    for function in load_operation(inputs, entry.name):
        members = [function] if function.group is None else function.group.functions()
        if any(member.name.text == entry.name for member in members):
            names |= {member.name.text for member in members}
    derivatives = inputs.read_optional(DERIVATIVES.inputs[0])
    for name in sorted(names):
        own = operator_entries(native).get(name)
        if own is not None:
            yield own, False
    for other in entries_of(derivatives) if derivatives is not None else ():
        if other.name in names:
            yield other, True


def _places(entry: OperatorEntry, name: str, *, is_derivative: bool) -> Iterator[Span]:
    """Where an entry names an argument: in its schema, and where it has formulas, everywhere."""
    start, end = entry.place.start, entry.place.start + len(entry.schema)
    file = entry.place.file
    for match in re.finditer(_ARGUMENT.format(name=re.escape(name)), file.text[start:end]):
        yield file.span(start + match.start(1), start + match.end(1))
    if is_derivative:
        # Formulas call the values of an argument `x` in forward mode `x_p` and `x_t`.
        for match in re.finditer(
            rf"(?<![\w.:>\"'])({re.escape(name)})(?:_[pt])?(?!\w|\s*\()", file.text[end : entry.entry.end]
        ):
            yield file.span(end + match.start(1), end + match.end(1))
    else:
        for match in _NAMING_FIELDS.finditer(file.text, end, entry.entry.end):
            for use in re.finditer(rf"\b({re.escape(name)})\b", match[0]):
                yield file.span(match.start() + use.start(), match.start() + use.end())
