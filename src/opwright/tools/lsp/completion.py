"""What a user may type at a position: fields, values, dispatch keys, tags, types, operators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from opwright.backends.rows import BACKEND
from opwright.dialects.dialect import Dialect
from opwright.dialects.table import DERIVATIVES, NATIVE_FUNCTIONS
from opwright.libraries.rows import LIBRARY
from opwright.model.dispatch_key import KEYS
from opwright.release.inputs import Inputs
from opwright.schema.types import BASE_TYPES
from opwright.source.records import NamedTuple
from opwright.source.span import Span
from opwright.source.text import SourceFile
from opwright.tools.files.field_schemas import fields_at, values_at
from opwright.tools.lsp.argument_places import schema_names
from opwright.tools.lsp.cursor import Cursor, cursor_at
from opwright.tools.lsp.formulas import FormulaPlace, formula_at, formula_names, helpers
from opwright.tools.lsp.library import names_kernel
from opwright.tools.lsp.operators import entry_at, operator_entries, tag_texts
from opwright.tools.lsp.project import Project, kind_of
from opwright.tools.lsp.requirements import field_of, words_at
from opwright.tools.lsp.sources import function_names

#: Fields whose values are names of operators.
_NAMES_OPERATOR: Final = frozenset(("structured_delegate", "autogen"))


class Completion(NamedTuple):
    """A text in place of the word at the position, what it is (`field`, `value`, `operator`, `type`), and its help."""

    text: str
    kind: str
    place: Span
    detail: str = ""
    help: str = ""


def completions_at(project: Project, file: SourceFile, offset: int) -> list[Completion]:
    """All that may stand at an offset; the editor filters it by what is typed already."""
    kind, inputs = kind_of(file), project.inputs_of(file)
    if kind is None or inputs is None:
        return []
    cursor = cursor_at(file, offset)
    formula = formula_at(file, offset)
    if formula is not None:
        return list(_formula(inputs, cursor.word, formula))
    if names_kernel(kind, cursor):
        names = function_names(project, file, cursor.word.text.rpartition("::")[2])
        return [Completion(name, "operator", cursor.word, "kernel") for name in sorted(set(names))]
    if kind is not DERIVATIVES and cursor.key == "func" and not cursor.in_key:
        return _types(cursor, offset)
    return list(_completions(kind, inputs, cursor))


def _types(cursor: Cursor, offset: int) -> list[Completion]:
    file = cursor.word.file
    start = file.line_starts[file.line_and_column(offset)[0] - 1]
    if "(" not in file.text[start:offset]:
        return []
    return [Completion(name, "type", cursor.word) for name in BASE_TYPES]


def _formula(inputs: Inputs, word: Span, formula: FormulaPlace) -> Iterator[Completion]:
    """The values and the functions that a formula can use."""
    start = word.start + max(word.text.rfind("::") + 2, 0) if "::" in word.text else word.start
    name = Span(word.file, start, word.end)
    for value, detail in formula_names(formula).items():
        yield Completion(value, "value", name, detail)
    for function, declarations in helpers(inputs).declarations.items():
        signatures = "\n".join([f"{function}({declaration.parameters})" for declaration in declarations])
        yield Completion(function, "operator", name, signatures.partition("\n")[0], signatures)


def _completions(kind: Dialect[Any], inputs: Inputs, cursor: Cursor) -> Iterator[Completion]:
    word = cursor.word
    if cursor.key == "dispatch":
        for name in KEYS:
            yield Completion(name, "value", word, "dispatch key")
    elif kind is LIBRARY and cursor.path[-1:] == ("when",):
        yield from _arguments(word)
    elif kind is LIBRARY and (field_of(cursor) or cursor.path[-1:] == ("outputs",)):
        yield from _requirements(kind, cursor)
    elif cursor.key == "tags":
        for name, help in tag_texts(inputs).items():
            yield Completion(name, "value", word, "tag", help)
    elif kind is BACKEND and cursor.path == ("backend",):
        for name in KEYS:
            yield Completion(name, "value", word, "dispatch key")
    else:
        names_operators = kind is BACKEND and len(cursor.path) == 1 and bool(fields_at(BACKEND, (cursor.key, "*")))
        if names_operators or cursor.key in _NAMES_OPERATOR:
            yield from _operators(inputs, word, with_schema=False)
        if kind is DERIVATIVES and cursor.path == ("name",):
            yield from _operators(inputs, word, with_schema=True)
        line_before = word.file.text[word.file.line_starts[word.line - 1] : word.start]
        if cursor.in_key and not (names_operators and "{" not in line_before):
            for field in fields_at(kind, cursor.path):
                yield Completion(field.name, "field", word, "field", field.help)
        for value in () if cursor.in_key else values_at(kind, cursor.path):
            yield Completion(value, "value", word)


def _requirements(kind: Dialect[Any], cursor: Cursor) -> Iterator[Completion]:
    """The words of a field that says what an operator requires or returns, and the fields of a mapping in it."""
    entry = entry_at(cursor.word.file, cursor.word.start)
    member = cursor.word.text.rpartition(".")[2]
    place = Span(cursor.word.file, cursor.word.end - len(member), cursor.word.end)
    for word in () if entry is None else words_at(cursor, entry):
        yield Completion(word.text, word.kind, place, word.detail, word.help)
    for field in fields_at(kind, cursor.path) if cursor.in_key else ():
        yield Completion(field.name, "field", cursor.word, "field", field.help)


def _arguments(word: Span) -> Iterator[Completion]:
    entry = entry_at(word.file, word.start)
    for name, _, is_result in () if entry is None else schema_names(entry.schema):
        if not is_result:
            yield Completion(name, "value", word, "argument")


def _operators(inputs: Inputs, word: Span, *, with_schema: bool) -> Iterator[Completion]:
    for name, entry in operator_entries(NATIVE_FUNCTIONS.files(inputs)[0]).items():
        # Derivatives name only operators that have an entry, by their schemas.
        if with_schema and name == entry.name:
            yield Completion(entry.schema, "operator", word, "operator")
        elif not with_schema:
            yield Completion(name, "operator", word, entry.schema)
