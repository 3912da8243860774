"""What may stand in `dims`, `dtypes`, `layout`, `requires` and `outputs` of an entry, and what the words there mean."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from opwright.libraries.declared_outputs import DTYPE_CLASSES, DTYPES, TORCH_DTYPES, dtype_codes, dtype_names
from opwright.libraries.dialect.dims import DIMS, RETURN
from opwright.libraries.dialect.expressions import FUNCTIONS, LIKE, MEMBERS
from opwright.libraries.dialect.requirements import (
    ANY,
    DTYPES_FIELD,
    FIELDS,
    LAYOUT,
    LAYOUT_WORDS,
    LINEAR,
    REDUCTION,
)
from opwright.source.records import NamedTuple
from opwright.tools.explain.records import RequirementsRecord
from opwright.tools.lsp.argument_places import schema_names
from opwright.tools.lsp.cursor import Cursor
from opwright.tools.lsp.operators import OperatorEntry

#: Fields of expressions, and those that map tensors and results.
_EXPRESSIONS: Final = ("requires", "outputs")
_MAPPINGS: Final = (DIMS, DTYPES_FIELD, LAYOUT)
#: The patterns of `dims` in an entry that may be half written: up to the next field.
_PATTERNS: Final = re.compile(r"(?m)^ *(?:- +)?dims *:((?:.*\n)(?: {3,}.*\n|\s*\n)*|.*)")
_PATTERN: Final = re.compile(r"\w+ *: *(\"[^\"]*\"?|'[^']*'?|[^,}\n]*)")
_SIZE: Final = re.compile(r"(?<![\w.])[*#]*([A-Za-z]\w*)")


class FieldWord(NamedTuple):
    """A word that may stand at a place: what it is (`field`, `value`, `operator`), and what it means."""

    text: str
    kind: str
    detail: str
    help: str = ""


def field_of(cursor: Cursor) -> str:
    """The field of these whose value has the cursor; empty if none has it."""
    return next((key for key in cursor.path if key in (*FIELDS, "outputs")), "")


def size_names(entry: OperatorEntry) -> list[str]:
    """The names of sizes in the patterns of an entry, in their order."""
    patterns = _PATTERNS.search(entry.entry.text)
    texts = _PATTERN.findall(re.sub(r"\{\s*(?=\w+ *:)", " ", patterns[1])) if patterns else []
    names = [name for text in texts for name in _SIZE.findall(re.sub(r"\{[^{}]*\}?", " ", text))]
    return list(dict.fromkeys(names))


def words_at(cursor: Cursor, entry: OperatorEntry) -> Iterator[FieldWord]:
    """The words that may stand at a cursor in one of these fields."""
    field, named = field_of(cursor), _names(entry.schema)
    tensors = [name for name, type, is_result in named if "Tensor" in type and not is_result]
    results = [name for name, _, is_result in named if is_result] or [RETURN]
    if field in _MAPPINGS and cursor.in_key:
        yield from [FieldWord(name, "field", "argument") for name in tensors]
        yield from [FieldWord(name, "field", "result") for name in results]
    elif field == DIMS:
        yield from [FieldWord(name, "value", "size") for name in size_names(entry)]
        yield from _values(named, [])
    elif field == DTYPES_FIELD:
        yield from [FieldWord(name, "value", "class of dtypes", _class_help(name)) for name in DTYPE_CLASSES]
        yield FieldWord(ANY, "value", "any dtype")
        yield from [FieldWord(name, "value", "dtype") for name in DTYPES]
        yield from [FieldWord(name, "value", "argument", f"the dtype of `{name}`") for name in tensors]
    elif field == LAYOUT and cursor.key in results:
        yield FieldWord("contiguous", "value", "layout")
        yield from [FieldWord(name, "value", "argument", f"the memory format of `{name}`") for name in tensors]
    elif field == LAYOUT:
        yield FieldWord(ANY, "value", "layout")
        yield from [FieldWord(name, "value", "layout", help) for name, help in LAYOUT_WORDS.items()]
    elif field in (LINEAR, REDUCTION):
        names = tensors if field == LINEAR else results
        yield from [FieldWord(name, "value", "argument" if field == LINEAR else "result") for name in names]
    elif "." in cursor.word.text:
        for member in MEMBERS.values():
            yield FieldWord(member.name, "operator" if member.is_called else "value", "member of tensors", member.help)
    elif field in _EXPRESSIONS:
        yield from _values(named, size_names(entry) if field == "requires" else [])
        yield from [
            FieldWord(function.name, "operator", function.signature, function.help) for function in FUNCTIONS.values()
        ]
        if field == "outputs":
            yield FieldWord(LIKE, "operator", "(tensor)", "The size, dtype, device and memory format of a tensor.")
        yield from [FieldWord(name, "value", "dtype") for name in DTYPES]


def _values(named: list[tuple[str, str, bool]], sizes: list[str]) -> Iterator[FieldWord]:
    yield from [FieldWord(name, "value", f"argument {type}") for name, type, is_result in named if not is_result]
    yield from [FieldWord(name, "value", "size") for name in sizes]


def _names(schema: str) -> list[tuple[str, str, bool]]:
    """The names in a schema, each with its type, and whether it is a result's."""
    named, end = [], schema.find("(") + 1
    for name, start, is_result in schema_names(schema):
        type = schema[end:start].rpartition("->" if is_result else "\0")[2].strip(" ,()*")
        named.append((name, re.sub(r"^.*[=,] *", "", type) if "," in type else type, is_result))
        end = start + len(name)
    return named


def _class_help(name: str) -> str:
    return ", ".join([TORCH_DTYPES[cpp] for cpp in dtype_names(dtype_codes(name))])


def meaning(cursor: Cursor, record: RequirementsRecord | None) -> str:
    """What the word at a cursor means in one of these fields, as Markdown; empty if it has no meaning there."""
    word, field = cursor.word.text.rpartition(".")[2], field_of(cursor)
    if field == DTYPES_FIELD and word in DTYPE_CLASSES and not cursor.in_key:
        return f"the dtypes {_class_help(word)}"
    if field == LAYOUT and word in LAYOUT_WORDS and not cursor.in_key:
        return f"The tensor is {LAYOUT_WORDS[word]}: the kernel gets a copy of another one. With `!`, that is refused."
    if field in _EXPRESSIONS and "." in cursor.word.text and word in MEMBERS:
        return MEMBERS[word].help
    if field in _EXPRESSIONS and word in FUNCTIONS:
        return f"**{word}**{FUNCTIONS[word].signature}: {FUNCTIONS[word].help}"
    if record is None or not field:
        return ""
    mentions = [f"- {sentence}" for sentence in record.conditions if re.search(rf"`{re.escape(word)}`", sentence)]
    for sizes in record.sizes:
        if sizes.name == word:
            return "\n".join([f"`{word}` has the sizes `{sizes.pattern}`", "", *mentions])
    patterns = [(sizes, re.sub(r"\{[^{}]*\}", "", sizes.pattern)) for sizes in record.sizes]
    owner = next((sizes for sizes, pattern in patterns if word in _SIZE.findall(pattern)), None)
    return "" if owner is None else "\n".join([f"a size of `{owner.name}` (`{owner.pattern}`)", "", *mentions])
