"""Parses types and alias annotations."""

from __future__ import annotations

import keyword
import re
from typing import Final

from opwright.schema.base_types import names_where
from opwright.schema.fault import SchemaFault, unexpected_fault
from opwright.schema.function import Argument, Arguments, Return
from opwright.schema.normal_form import PARAMETRIC_TYPES
from opwright.schema.types import (
    BASE_TYPES,
    BASES,
    CLASS_PREFIX,
    DISPATCHER_NAMES,
    ONLY_IN_FILES,
    Annotation,
    DispatcherType,
    ListType,
    OptionalType,
    Type,
    annotation,
    class_type,
    dispatcher_type,
    is_seen_by_dispatcher,
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


# One item of a list of arguments or returns: everything up to a comma outside brackets and quotes.
_PLAIN: Final = r"[^,()\[\]\"']"
_QUOTED: Final = r"\[[^\[\]]*\]|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'"
#: How deep parentheses are nested in types such as `Dict(str, Dict(int, Tensor))`.
_DEEPEST: Final = 8


def _parentheses(depth: int) -> str:
    pattern = r"\([^()]*\)"
    for _ in range(depth - 1):
        pattern = rf"\((?:[^()]|{pattern})*\)"
    return pattern


class Grammar:
    """A spelling of the schema language.

    `is_strict` says that it is the one of PyTorch's files, which its generator reads. `is_lenient` says that it is the
    same without Opwright's checks: a default is any text, and arguments have any order and names. `words` cannot be
    names of arguments, and `missing_types` are the base types that it does not have. The tables have what was parsed,
    by its text: most texts occur many times.
    """

    __slots__ = (
        *("alias", "annotated_types", "arguments", "is_lenient", "is_strict", "item", "lists", "missing_types"),
        *("return_lists", "returns", "words"),
    )

    def __init__(
        self,
        *,
        is_strict: bool,
        words: frozenset[str],
        depth: int,
        alias: str = r"[A-Za-z_][A-Za-z0-9_]*|\*",
        missing_types: tuple[str, ...] = (),
        is_lenient: bool = False,
    ) -> None:
        self.is_strict: Final = is_strict
        self.is_lenient: Final = is_lenient
        self.alias: Final = re.compile(alias)
        self.words: Final = words
        self.missing_types: Final = missing_types
        self.item: Final = re.compile(rf"{_PLAIN}*(?:(?:{_parentheses(depth)}|{_QUOTED}){_PLAIN}*)*")
        self.annotated_types: Final[dict[str, tuple[Type, Annotation | None]]] = {}
        self.arguments: Final[dict[str, Argument]] = {}
        self.lists: Final[dict[str, Arguments]] = {}
        self.returns: Final[dict[str, Return]] = {}
        self.return_lists: Final[dict[str, tuple[Return, ...]]] = {}


#: The spelling of PyTorch's files.
STRICT: Final = Grammar(
    is_strict=True,
    words=frozenset(keyword.kwlist) - {"lambda", "from", "is"},
    depth=1,
    alias=r"[a-z][A-Za-z0-9_]*|\*",
)

#: The same as PyTorch's generator takes it from programs: the schemas that a running PyTorch prints have enumerators as
#: numbers (`MemoryFormat memory_format=0`), and some have two arguments of one name.
LENIENT: Final = Grammar(is_strict=True, is_lenient=True, words=frozenset(), depth=1, alias=r"[a-z]|\*")

#: The words that are no names in a schema that the dispatcher parses.
DISPATCHER_WORDS: Final = frozenset((
    "False", "None", "NoneType", "True", "and", "as", "assert", "break", "class", "continue", "def", "del", "elif",
    "else", "for", "global", "if", "import", "in", "is", "not", "or", "pass", "raise", "return", "while", "with",
    "Ellipsis",
))  # fmt: skip

#: The spelling that PyTorch's dispatcher takes, as `m.def` and `torch.library.define` do.
DISPATCHER: Final = Grammar(is_strict=False, words=DISPATCHER_WORDS, depth=_DEEPEST, missing_types=ONLY_IN_FILES)
#: The same in the releases whose dispatcher takes names of dimensions.
DISPATCHER_WITH_DIMNAMES: Final = Grammar(
    is_strict=False,
    words=DISPATCHER_WORDS,
    depth=_DEEPEST,
    missing_types=tuple([name for name in ONLY_IN_FILES if name != "Dimname"]),
)


_DOTTED: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_SUFFIX: Final = re.compile(r"\?|\[([^\]]*)\]")
#: The types that PyTorch's generator takes with an annotation; Opwright takes more in files.
_LENIENT_ANNOTATED: Final = frozenset(("Tensor", "Tensor?", "Tensor[]"))
_AFTER_WILDCARD: Final = re.compile(r"(?:\|\*?)*")
_ARROW: Final = " -> "
#: The most `?` and `[]` that a type may have, and the most types around another one. PyTorch's have two.
_DEEPEST_TYPE: Final = 8
#: The most digits of a list's size.
_LONGEST_SIZE: Final = 4
#: The types that keys of dictionaries have.
_KEYS: Final = names_where("is_key")


def read_type(
    text: str, start: int, grammar: Grammar = STRICT, *, allow_annotation: bool = True
) -> tuple[Type, Annotation | None, int]:
    """Type at `start`, its annotation, and the offset after it."""
    if grammar.is_strict:
        return _read_strict_type(text, start, grammar, allow_annotation=allow_annotation)
    return _read_dispatcher_type(text, start, grammar, 0)


def _read_strict_type(
    text: str, start: int, grammar: Grammar, *, allow_annotation: bool
) -> tuple[Type, Annotation | None, int]:
    match = _DOTTED.match(text, start)
    if match is None:
        raise unexpected_fault(text, start, "a type")
    position = match.end()
    type = _named_type(text, start, position, grammar)
    alias = None
    if allow_annotation:
        alias, position = _read_annotation(text, position, grammar)
    depth = 0
    while (suffix := _SUFFIX.match(text, position)) is not None:
        depth += 1
        _check_depth(depth, suffix.start(), suffix.end())
        type = optional(type) if suffix.group() == "?" else list_of(type, _list_size(suffix))
        position = suffix.end()
    if alias is not None:
        _check_annotated(type, start, position, grammar)
    return type, alias, position


def _read_dispatcher_type(text: str, start: int, grammar: Grammar, depth: int) -> tuple[Type, Annotation | None, int]:
    """Parses a type that PyTorch's dispatcher parses, with its annotation; `depth` counts the types around this one.

    A list may have an annotation of its own, which stands for that of its items if they have none. Annotations of
    values that are no tensors say nothing.
    """
    type, position = _read_plain_type(text, start, grammar, depth)
    is_parametric = isinstance(type, DispatcherType) and text.startswith(")", position - 1)
    alias = None
    if (not is_parametric or type.text.startswith("Dict")) and not type.text.startswith(CLASS_PREFIX):
        alias, position = _read_annotation(text, position, grammar)
    while (suffix := _SUFFIX.match(text, position)) is not None:
        depth += 1
        _check_depth(depth, suffix.start(), suffix.end())
        if type.text == "NoneType" and suffix.group() == "?":
            raise unexpected_fault(text, position, "another type than an optional None")
        if suffix.group() == "?":
            type = type if isinstance(type, OptionalType) else optional(type)
            position = suffix.end()
            if isinstance(type.elem, ListType) and type.elem.size is not None:
                break
            continue
        is_sized = suffix.group() != "[]"
        if is_sized and isinstance(type, ListType) and type.size is not None:
            break
        type = list_of(type, _list_size(suffix) if is_sized else None)
        container, position = _read_annotation(text, suffix.end(), grammar)
        alias = alias or container
        if is_sized and text[position : position + 1] != "?":
            break
    holder = type.elem if isinstance(type, OptionalType) else type
    return type, alias if is_seen_by_dispatcher(holder) else None, position


def _read_plain_type(text: str, start: int, grammar: Grammar, depth: int) -> tuple[Type, int]:
    """A type before what makes it optional or a list, and the offset after it."""
    if text.startswith("(", start):
        return _read_items(text, start, "", grammar, depth)
    match = _DOTTED.match(text, start)
    if match is None:
        raise unexpected_fault(text, start, "a type")
    name, end = match.group(), match.end()
    if name not in PARAMETRIC_TYPES:
        return _named_type(text, start, end, grammar), end
    if not text.startswith("(", end):
        raise unexpected_fault(text, end, f"`(` after `{name}`")
    type, end = _read_items(text, end, name, grammar, depth)
    wanted = 2 if name == "Dict" else 1
    if len(type.items) != wanted:
        message = f"`{name}` has {wanted} parameter{'s' * (wanted - 1)}, not {len(type.items)}"
        raise SchemaFault(codes.UNKNOWN_TYPE, message, start, end)
    if name == "Dict" and type.items[0].text not in _KEYS:
        message = f"`{type.items[0]}` cannot be the type of keys"
        raise SchemaFault(codes.UNKNOWN_TYPE, message, start, end, help="write for instance `str` or `int`")
    return type, end


def _read_items(text: str, start: int, name: str, grammar: Grammar, depth: int) -> tuple[DispatcherType, int]:
    """Type with parameters in parentheses, of which the first one is at `start`."""
    _check_depth(depth + 1, start, start + 1)
    items: list[Type] = []
    position = start + 1
    while not text.startswith(")", position) or items:
        item, _, end = _read_dispatcher_type(text, position, grammar, depth + 1)
        if item.list_like is not None and item.list_like.size is not None:
            message = "only an argument or a return has a list with a size"
            raise SchemaFault(codes.LIST_SIZE, message, position, end)
        items.append(item)
        position = end
        if not text.startswith(", ", position):
            break
        position += 2
    if not text.startswith(")", position):
        raise unexpected_fault(text, position, "`,` or `)`")
    return dispatcher_type(name, tuple(items)), position + 1


def _named_type(text: str, start: int, end: int, grammar: Grammar) -> Type:
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


def _check_depth(depth: int, start: int, end: int) -> None:
    if depth > _DEEPEST_TYPE:
        message = f"a type has more than {_DEEPEST_TYPE} of `?` and `[]`"
        raise SchemaFault(codes.TOO_LARGE, message, start, end)


def _list_size(suffix: re.Match[str]) -> int | None:
    size = suffix.group(1)
    if size == "":
        return None
    if not size.isascii() or not size.isdigit() or size.startswith("0") or len(size) > _LONGEST_SIZE:
        raise SchemaFault(codes.LIST_SIZE, f"`{size}` is not the size of a list", suffix.start(1), suffix.end(1))
    return int(size)


def _check_annotated(type: Type, start: int, end: int, grammar: Grammar) -> None:
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


def _alias_set(text: str, start: int, end: int, grammar: Grammar) -> tuple[str, ...]:
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


def _read_annotation(text: str, start: int, grammar: Grammar) -> tuple[Annotation | None, int]:
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
