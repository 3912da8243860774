"""What an editor shows for the word under the pointer: an operator, a field, a dispatch key, a tag."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Final

from opwright.backends.dispatch.runtime_keys import key_text
from opwright.convention import dispatcher, public_api
from opwright.dialects.dialect import Dialect
from opwright.dialects.table import DERIVATIVES, NATIVE_FUNCTIONS
from opwright.emit.emitter import Job
from opwright.libraries.rows import LIBRARY
from opwright.model.dispatch_key import KEYS
from opwright.model.native_function import NativeFunction
from opwright.release.inputs import Inputs
from opwright.schema.base_types import BASE_TYPE_ROWS
from opwright.source.records import NamedTuple
from opwright.source.span import Span
from opwright.source.text import SourceFile
from opwright.tools.explain.explanation import explain
from opwright.tools.explain.loading import Explained
from opwright.tools.explain.schemas import requirements_record, schema_record
from opwright.tools.explain.text import PLAIN, dispatch_lines
from opwright.tools.files.field_schemas import fields_at
from opwright.tools.lsp.cursor import Cursor, cursor_at
from opwright.tools.lsp.formulas import declarations_of, formula_at, formula_names
from opwright.tools.lsp.library import (
    NamedKernel,
    kernel_at,
    kernel_text,
    loaded_operator,
    loaded_part,
    names_kernel,
    operator_text,
)
from opwright.tools.lsp.operators import entries_of, entry_at, load_operation, operator_entries, plain_name, tag_texts
from opwright.tools.lsp.project import Project, kind_of
from opwright.tools.lsp.requirements import field_of, meaning

_FENCE: Final = "```"


class Hover(NamedTuple):
    """Markdown about the text at a place."""

    place: Span
    markdown: str


def hover_at(project: Project, file: SourceFile, offset: int) -> Hover | None:
    """What is known about the word at an offset; None if nothing is."""
    kind, inputs = kind_of(file), project.inputs_of(file)
    cursor = cursor_at(file, offset)
    if not cursor.word.text or kind is None or inputs is None:
        return None
    for markdown in _texts(project, kind, inputs, file, cursor):
        return Hover(cursor.word, markdown)
    return None


def _texts(project: Project, kind: Dialect[Any], inputs: Inputs, file: SourceFile, cursor: Cursor) -> Iterator[str]:
    """What is known about the word, the most likely meaning first."""
    word = cursor.word.text
    help = {field.name: field.help for field in fields_at(kind, cursor.path)} if cursor.in_key else {}
    if word in help:
        yield f"**{word}**: {help[word]}"
    tags = tag_texts(inputs) if cursor.key == "tags" else {}
    if word in tags:
        yield f"**{word}**: {tags[word]}"
    kernel = _kernel(kind, file, cursor) if not help.get(word) else None
    if kernel is not None:
        yield "\n\n".join(kernel_text(project, file, inputs, kernel))
    if kind is LIBRARY and field_of(cursor):
        yield from _requirement_texts(project, inputs, file, cursor)
    yield from _formula_texts(inputs, file, cursor)
    yield from _schema_texts(project, inputs, file, cursor)
    yield from _library_texts(project, inputs, file, word) if kind is LIBRARY else ()
    yield from _operator_texts(inputs, file, word)
    if word in KEYS:
        yield from _key_texts(word)


def _kernel(kind: Dialect[Any], file: SourceFile, cursor: Cursor) -> NamedKernel | None:
    if kind is LIBRARY:
        return kernel_at(file, cursor.word.start)
    entry = entry_at(file, cursor.word.start) if kind is NATIVE_FUNCTIONS and names_kernel(kind, cursor) else None
    return None if entry is None else NamedKernel(entry.name, cursor.key, cursor.word, is_python=False)


def _requirement_texts(project: Project, inputs: Inputs, file: SourceFile, cursor: Cursor) -> Iterator[str]:
    """A word in a field that says what an operator requires."""
    entry = entry_at(file, cursor.word.start)
    loaded = None if entry is None else loaded_operator(project, file, inputs, entry.name)
    text = meaning(cursor, None if loaded is None else requirements_record(loaded[0]))
    if text:
        yield text


def _formula_texts(inputs: Inputs, file: SourceFile, cursor: Cursor) -> Iterator[str]:
    """A value or a function in a formula."""
    place = formula_at(file, cursor.word.start)
    if place is None:
        return
    word = cursor.word.text.rpartition("::")[2].partition(".")[0]
    names = formula_names(place)
    if word in names:
        yield f"**{word}**: {names[word]}"
    declarations = declarations_of(inputs, word)
    if declarations:
        lines = "\n".join([f"{word}({declaration.parameters})" for declaration in declarations])
        yield f"a function that formulas call\n\n{_FENCE}cpp\n{lines}\n{_FENCE}"


def _schema_texts(project: Project, inputs: Inputs, file: SourceFile, cursor: Cursor) -> Iterator[str]:
    """A type or an argument in a schema."""
    word, entry = cursor.word.text, entry_at(file, cursor.word.start)
    if entry is None or cursor.in_key or cursor.key not in ("func", "name") or cursor.word.start <= entry.place.end:
        return
    type = next((row for row in BASE_TYPE_ROWS if row.name == word), None)
    if type is not None:
        python = f"; Python: `{type.stub}`" if type.stub and not type.stub.startswith("_") else ""
        yield f"type **{word}**; C++: `{type.cpp}`{python}"
    loaded = loaded_operator(project, file, inputs, entry.name)
    for record in () if loaded is None else schema_record(loaded[0]).arguments:
        if loaded is not None and record.name == word:
            parameters = dispatcher.signature(loaded[0]).bindings
            cpp = next(parameter.declaration for parameter in parameters if parameter.name == word)
            default = "" if record.default is None else f", by default `{record.default}`"
            yield f"{record.role} argument **{word}** of type `{record.type}`{default}\n\n{_FENCE}cpp\n{cpp}\n{_FENCE}"


def _key_texts(word: str) -> Iterator[str]:
    key = KEYS[word]
    device = f", of devices with the flag `{key.flag}`" if key.flag else ""
    yield f"dispatch key **{word}**{device}\n\n{key_text(word)}"


def _library_texts(project: Project, inputs: Inputs, file: SourceFile, word: str) -> Iterator[str]:
    """The schema of an operator of a library file, and its kernels."""
    entry = operator_entries(file).get(word)
    if entry is not None and entry.schema:
        tables = operator_text(project, file, inputs, word)
        yield "\n\n".join(f"{_FENCE}\n{text}\n{_FENCE}" for text in (entry.schema, *tables))


def _operator_texts(inputs: Inputs, file: SourceFile, word: str) -> Iterator[str]:
    name = plain_name(word)
    explained = loaded_part(inputs, name)
    # Operators without faults are shown though others that they depend on have some.
    for function in load_operation(inputs, name) if explained is None else explained.catalog.functions:
        if function.name.text == name:
            yield "\n\n".join(_paragraphs(function, inputs, explained))
    for entry in entries_of(file):
        if entry.name in (name, word) and entry.schema:
            yield f"{_FENCE}\n{entry.schema}\n{_FENCE}"


def _dispatch_lines(function: NativeFunction, explained: Job | None) -> list[str]:
    """The dispatch table as `opwright explain` prints it; the kernels of the entry alone if there is none."""
    lines: list[str] = []
    if explained is not None:
        explanation = explain(function, Explained(explained, ()), ("dispatch",))
        lines += dispatch_lines(explanation.dispatch or (), PLAIN)
    return lines or [f"  {key.name}: {kernel.name}" for key, kernel in function.kernels.items()]


def _paragraphs(function: NativeFunction, inputs: Inputs, explained: Job | None) -> Iterator[str]:
    """The schema, the C++ signatures, the kernels and the rest of what an entry says."""
    yield f"{_FENCE}\naten::{function.schema}\n{_FENCE}"
    functions = public_api.function_signatures(function).all() if function.function else []
    methods = public_api.method_signatures(function).all() if function.method else []
    lines = [signature.declaration(f"at::{signature.name}") for signature in functions]
    lines += [signature.declaration(f"at::Tensor::{signature.name}") for signature in methods]
    cpp = "\n".join(lines or [dispatcher.signature(function).declaration()])
    yield f"{_FENCE}cpp\n{cpp}\n{_FENCE}"
    lines = _dispatch_lines(function, explained)
    if lines:
        yield "\n".join([_FENCE, *lines, _FENCE])
    members = [] if function.group is None else function.group.functions()
    others = [f"`{member.name.text}`" for member in members if member is not function]
    if others:
        yield f"in a group with {', '.join(others)}"
    if function.is_synthesized:
        yield f"made from the entry in line {function.entry.line}"
    if function.tags:
        yield f"tags: {', '.join(sorted(function.tags))}"
    derivatives = inputs.read_optional(DERIVATIVES.inputs[0])
    entry = None if derivatives is None else operator_entries(derivatives).get(function.name.text)
    if entry is not None:
        yield f"derivative: {os.path.basename(entry.place.file.path)}, line {entry.place.line}"
