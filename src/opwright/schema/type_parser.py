"""Parses types and alias annotations."""

from __future__ import annotations

import re
from typing import Final

from opwright.schema.fault import SchemaFault, unexpected_fault
from opwright.schema.types import (
    BASE_TYPES,
    BASES,
    CLASS_PREFIX,
    DISPATCHER_NAMES,
    Annotation,
    ListType,
    Type,
    annotation,
    class_type,
    dispatcher_type,
    list_of,
    optional,
)
from opwright.source import codes
from opwright.source.diagnostic import Suggestion, did_you_mean

#: A name with its namespaces, and the type in angle or square brackets, which may have brackets itself.
_TYPE: Final = re.compile(
    r"(?:[A-Za-z_]\w*(?:::|\.))*([A-Za-z_]\w*)(?:\s*([<\[])((?:[^<>\[\]]|<[^<>]*>|\[[^\[\]]*\])+)[>\]])?"
)
#: A constant or a reference to one; the type alone is what a schema has.
_CONSTANT: Final = re.compile(rf"const\s+(?P<type>{_TYPE.pattern})(?P<reference>\s*[&*])?")
#: What an array has in its brackets.
_ARRAY: Final = re.compile(r"(.+?)\s*,\s*(\d+)")

#: The last part of a name of C++ or Python -> the word.
_WORDS: Final = {
    **dict.fromkeys(("double", "float32", "float64"), "float"),
    **dict.fromkeys(("int8_t", "int16_t", "int32_t", "int64_t", "long", "short", "size_t", "integer"), "int"),
    **dict.fromkeys(("uint8_t", "uint32_t", "uint64_t", "unsigned"), "int"),
    **dict.fromkeys(("char", "string", "string_view", "basic_string_view"), "str"),
    **dict.fromkeys(("boolean", "Boolean"), "bool"),
    **dict.fromkeys(("complex", "number", "Number"), "Scalar"),
    "dtype": "ScalarType",
    "device": "Device",
    "layout": "Layout",
    "memory_format": "MemoryFormat",
    "IntArrayRef": "int[]",
    "SymIntArrayRef": "SymInt[]",
    "OptionalIntArrayRef": "int[]?",
    "OptionalSymIntArrayRef": "SymInt[]?",
    "TensorList": "Tensor[]",
    "ITensorListRef": "Tensor[]",
}
#: The last part of the name of a type around another one -> what follows the word of that one.
_SUFFIXES: Final = {
    **dict.fromkeys(("optional", "Optional"), "?"),
    **dict.fromkeys(("vector", "ArrayRef", "List", "list", "Sequence"), "[]"),
    "OptionalArrayRef": "[]?",
}


def unknown_type(text: str, start: int, end: int, types: tuple[str, ...]) -> tuple[str, str | Suggestion]:
    """Text of an unknown type that begins with the name from `start` to `end`, and help.

    `types` are the names that there are.

    >>> unknown_type("f(std::vector<double> x)", 2, 5, ("Tensor",))
    ('std::vector<double>', 'did you mean `float[]`?')
    >>> unknown_type("f(Dimname x)", 2, 9, ("Tensor", "Device"))
    ('Dimname', "only PyTorch's files have this type")
    >>> unknown_type("f(const at::Tensor & x)", 2, 7, ("Tensor",))
    ('const at::Tensor &', 'did you mean `Tensor`?')
    """
    constant = _CONSTANT.match(text, start)
    match = _TYPE.match(text, start if constant is None else constant.start("type"))
    whole = constant or match
    if whole is not None and match is not None and (word := _word(match)) and word != whole.group():
        return whole.group(), f"did you mean `{word}`?"
    name = text[start:end]
    if name in ("void", "None"):
        return name, "results are written in parentheses: `()` if there is none"
    if match is not None and "::" in match.group():
        return match.group(), did_you_mean(match[1], types)
    # PyTorch's files have types that the schemas of other libraries do not have.
    only_in_files = "only PyTorch's files have this type" if name in BASE_TYPES else ""
    return name, only_in_files or did_you_mean(name, types)


def _word(match: re.Match[str]) -> str:
    """Word for a type of another language; empty if none is known."""
    name, bracket, item = match.groups()
    if not bracket or name == "complex":
        return _WORDS.get(name) or (name if name in BASE_TYPES else "")
    array = _ARRAY.fullmatch(item) if name == "array" else None
    item, suffix = (item, _SUFFIXES.get(name, "")) if array is None else (array[1], f"[{array[2]}]")
    inner = _TYPE.fullmatch(item.strip())
    word = _word(inner) if inner is not None and suffix else ""
    return f"{word}{suffix}" if word else ""


class TypeGrammar:
    """A spelling of types in the schema language.

    `is_strict` says that it is the one of PyTorch's files, which its generator reads. `is_lenient` says that it is the
    same without Opwright's checks. `words` cannot be names, and `missing_types` are the base types that it does not
    have.
    """

    __slots__ = ("alias", "is_lenient", "is_strict", "missing_types", "words")

    def __init__(
        self,
        *,
        is_strict: bool,
        words: frozenset[str],
        alias: str = r"[A-Za-z_][A-Za-z0-9_]*|\*",
        missing_types: tuple[str, ...] = (),
        is_lenient: bool = False,
    ) -> None:
        self.is_strict: Final = is_strict
        self.is_lenient: Final = is_lenient
        self.alias: Final = re.compile(alias)
        self.words: Final = words
        self.missing_types: Final = missing_types

    def read_type(self, text: str, start: int) -> tuple[Type, Annotation | None, int]:
        """Type at `start`, its annotation, and the offset after it."""
        return read_file_type(text, start, self)


DOTTED: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
SUFFIX: Final = re.compile(r"\?|\[([^\]]*)\]")
#: The types that PyTorch's generator takes with an annotation; Opwright takes more in files.
_LENIENT_ANNOTATED: Final = frozenset(("Tensor", "Tensor?", "Tensor[]"))
_AFTER_WILDCARD: Final = re.compile(r"(?:\|\*?)*")
_ARROW: Final = " -> "
#: The most `?` and `[]` that a type may have, and the most types around another one. PyTorch's have two.
_DEEPEST: Final = 8
#: The most digits of a list's size.
_LONGEST_SIZE: Final = 4


def read_file_type(
    text: str, start: int, grammar: TypeGrammar, *, allow_annotation: bool = True
) -> tuple[Type, Annotation | None, int]:
    """Type at `start` as in files, its annotation, and the offset after it."""
    match = DOTTED.match(text, start)
    if match is None:
        raise unexpected_fault(text, start, "a type")
    position = match.end()
    type = named_type(text, start, position, grammar)
    alias = None
    if allow_annotation:
        alias, position = read_annotation(text, position, grammar)
    depth = 0
    while (suffix := SUFFIX.match(text, position)) is not None:
        depth += 1
        check_depth(depth, suffix.start(), suffix.end())
        type = optional(type) if suffix.group() == "?" else list_of(type, list_size(suffix))
        position = suffix.end()
    if alias is not None:
        _check_annotated(type, start, position, grammar)
    return type, alias, position


def named_type(text: str, start: int, end: int, grammar: TypeGrammar) -> Type:
    """Type of a name. The dispatcher has types of its own, and the names of its classes have two parts."""
    name = text[start:end]
    if name in BASES and name not in grammar.missing_types:
        return BASES[name]
    if not grammar.is_strict and (name in DISPATCHER_NAMES or name == "None"):
        return dispatcher_type("NoneType" if name == "None" else name)
    class_name = name.removeprefix(CLASS_PREFIX)
    if class_name not in ("", name) and (grammar.is_strict or class_name.count(".") == 1):
        return class_type(class_name)
    types = tuple([name for name in BASE_TYPES if name not in grammar.missing_types])
    shown, help = unknown_type(text, start, end, types if grammar.is_strict else types + DISPATCHER_NAMES)
    if not help and shown.islower() and text[end : end + 1] in (",", ")"):
        help = f"write `Tensor {shown}`"
    raise SchemaFault(codes.UNKNOWN_TYPE, f"unknown type `{shown}`", start, start + len(shown), help=help)


def check_depth(depth: int, start: int, end: int) -> None:
    """Raises SchemaFault if a type is around too many others."""
    if depth > _DEEPEST:
        message = f"a type has more than {_DEEPEST} of `?` and `[]`"
        raise SchemaFault(codes.TOO_LARGE, message, start, end)


def list_size(suffix: re.Match[str]) -> int | None:
    """The size of a list; None if it has none."""
    size = suffix.group(1)
    if size == "":
        return None
    if not size.isascii() or not size.isdigit() or size.startswith("0") or len(size) > _LONGEST_SIZE:
        raise SchemaFault(codes.LIST_SIZE, f"`{size}` is not the size of a list", suffix.start(1), suffix.end(1))
    return int(size)


def _check_annotated(type: Type, start: int, end: int, grammar: TypeGrammar) -> None:
    """Checks that an annotated type is a tensor, an optional tensor or a list of tensors."""
    holder = type.list_like if isinstance(type, ListType) else None
    plain = type.innermost if holder is None else holder
    if (
        not type.is_tensor_like
        or type.text.count("[") > 1
        or plain.is_nullable
        or (grammar.is_lenient and type.text not in _LENIENT_ANNOTATED)
    ):
        message = f"type `{type.text}` cannot have an alias annotation"
        raise SchemaFault(codes.BAD_ANNOTATION, message, start, end)


def _alias_set(text: str, start: int, end: int, grammar: TypeGrammar) -> tuple[str, ...]:
    names: list[str] = []
    position = start
    while True:
        match = grammar.alias.match(text, position, end)
        if match is None or (not grammar.is_strict and (match.group() in grammar.words or "*" in names)):
            message = "expected the name of an alias set, such as `a`"
            raise SchemaFault(codes.BAD_ANNOTATION, message, position, min(position + 1, len(text)))
        names.append(match.group())
        position = match.end()
        if names[-1] == "*" and not grammar.is_strict and _AFTER_WILDCARD.fullmatch(text, position, end):
            # The dispatcher looks for no more names after a wildcard.
            position = end
        if position == end:
            return tuple(names if grammar.is_strict else dict.fromkeys(names))
        if text[position] != "|":
            raise SchemaFault(codes.BAD_ANNOTATION, "alias sets are joined by `|`", position, position + 1)
        position += 1


def read_annotation(text: str, start: int, grammar: TypeGrammar) -> tuple[Annotation | None, int]:
    """The alias annotation at an offset, if there is one, and the offset after it."""
    if not text.startswith("(", start):
        return None, start
    end = text.find(")", start)
    if end < 0:
        raise SchemaFault(codes.BAD_ANNOTATION, "alias annotation without `)`", start, len(text))
    start += 1
    arrow = text.find(_ARROW, start, end)
    before_end = end if arrow < 0 else arrow
    is_write = before_end > start and text[before_end - 1] == "!"
    before = _alias_set(text, start, before_end - 1 if is_write else before_end, grammar)
    after = _alias_set(text, arrow + len(_ARROW), end, grammar) if arrow >= 0 else ()
    if grammar.is_strict:
        if is_write and len(before) != 1:
            raise SchemaFault(codes.BAD_ANNOTATION, "a written value has exactly one alias set", start, before_end)
        if len(before) > 1 and len(after) > 1:
            raise SchemaFault(codes.BAD_ANNOTATION, "several alias sets both before and after the call", start, end)
        if grammar.is_lenient and ("*" in before or "*" in after[:-1] or "*" in after[1:]):
            raise SchemaFault(codes.BAD_ANNOTATION, "`*` stands alone after ` -> `", start, end)
    return annotation(before, is_write, after), end + 1
