"""Parses schemas, and reports faults at their offsets.

PyTorch's 2,600 schemas contain some 2,000 different argument texts, so arguments and returns are cached by their text
and each text is parsed once.
"""

from __future__ import annotations

import re
from typing import Final

from opwright.schema import codes
from opwright.schema.annotation import Annotation, annotation
from opwright.schema.defaults import check_default
from opwright.schema.fault import SchemaFault
from opwright.schema.function import (
    Argument,
    Arguments,
    FunctionSchema,
    Return,
    argument_list,
    make_argument,
    make_return,
)
from opwright.schema.names import OperatorName, parsed_operator_name
from opwright.schema.rules import KEYWORDS, check_schema
from opwright.schema.types import BASE_TYPES, CLASS_PREFIX, ListType, Type, base, class_type, list_of, optional
from opwright.source.diagnostic import Fault, did_you_mean

_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DOTTED: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_OPERATOR: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\.([A-Za-z0-9_]+))?")
_SUFFIX: Final = re.compile(r"\?|\[([^\]]*)\]")
# An argument with nothing that could contain a comma, except for the alias sets of its type.
_SIMPLE_ARGUMENT: Final = re.compile(r"[\w.]+(?:\([^(),]*\))?[\]\[?\d]* \w+(?:=[^,()\[\]\"']*)?")
# One item of a list of arguments or returns: everything up to a comma outside brackets and quotes.
_ITEM: Final = re.compile(r"(?:[^,()\[\]\"']|\([^()]*\)|\[[^\[\]]*\]|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')*")
_COMMA: Final = re.compile(r", *")
_ARROW: Final = " -> "
#: The most `?` and `[]` that a type may have. PyTorch's have two.
_DEEPEST_TYPE: Final = 8
#: The most characters of a name. Files are named after operators, and file systems allow 255 with suffixes.
_LONGEST_NAME: Final = 200
#: The most digits of a list's size.
_LONGEST_SIZE: Final = 4

_BASE_NAMES: Final = frozenset(BASE_TYPES)

_ANNOTATED_TYPES: Final[dict[str, tuple[Type, Annotation | None]]] = {}
_ARGUMENTS: Final[dict[str, Argument]] = {}
_LISTS: Final[dict[str, Arguments]] = {}
_RETURN_LISTS: Final[dict[str, tuple[Return, ...]]] = {}
_RETURNS: Final[dict[str, Return]] = {}


def parse_schema(text: str) -> FunctionSchema:
    """The schema of a text. Raises Fault with the span of the first mistake.

    >>> str(parse_schema("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"))
    'add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor'
    """
    try:
        return read_schema(text)
    except SchemaFault as fault:
        raise Fault(fault.diagnostic(text)) from None


def parse_type(text: str) -> Type:
    """The type of a text. Raises Fault if it is not one.

    >>> parse_type("SymInt[2]?").text
    'SymInt[2]?'
    """
    try:
        type, _, end = _read_type(text, 0, allow_annotation=False)
        if end != len(text):
            raise SchemaFault(codes.SYNTAX, "text after the type", end, len(text))
        return type
    except SchemaFault as fault:
        raise Fault(fault.diagnostic(text)) from None


def read_namespace(text: str) -> tuple[str, int]:
    """The namespace before `::` in front of a schema (empty without one), and the offset at which the schema starts.

    Raises SchemaFault if the namespace is too long.
    """
    match = _IDENTIFIER.match(text) if "::" in text else None
    if match is not None and text.startswith("::", match.end()):
        check_name_length(0, match.end())
        return match.group(), match.end() + 2
    return "", 0


def read_schema(text: str, start: int = 0) -> FunctionSchema:
    """The schema in `text` from `start` to its end. Raises SchemaFault with offsets in `text`."""
    schema = read_unchecked_schema(text, start)
    check_schema(schema, text, start)
    return schema


def read_unchecked_schema(text: str, start: int = 0) -> FunctionSchema:
    """The same of a text whose schema is known to keep the rules between its parts."""
    name, position = _read_name(text, start)
    if not text.startswith("(", position):
        raise _unexpected_fault(text, position, "`(` after the operator's name")
    arguments, position = _read_arguments(text, position + 1)
    if not text.startswith(_ARROW, position):
        raise _unexpected_fault(text, position, "` -> ` and what the function returns")
    returns, position = _read_returns(text, position + len(_ARROW))
    if position != len(text):
        raise _unexpected_fault(text, position, "the end of the schema")
    return FunctionSchema(name, arguments, returns)


def read_operator_name(text: str, start: int = 0) -> OperatorName:
    """The operator name (`name` or `name.overload`) in `text` from `start` to its end. Raises SchemaFault otherwise."""
    name, position = _read_name(text, start)
    if position != len(text):
        raise _unexpected_fault(text, position, "the end of the operator's name")
    return name


def read_argument(text: str, start: int, end: int) -> Argument:
    """The argument `text[start:end]`. Raises SchemaFault with offsets in `text`."""
    item = text[start:end]
    if _item_end(item, 0) != len(item):
        raise _unexpected_fault(text, start + _item_end(item, 0), "one argument")
    argument = _ARGUMENTS.get(item)
    if argument is None:
        argument = _ARGUMENTS[item] = _read_argument(text, start, end)
    return argument


def _unexpected_fault(text: str, position: int, wanted: str) -> SchemaFault:
    match = _IDENTIFIER.match(text, position)
    end = match.end() if match else min(position + 1, len(text))
    shown = f"`{text[position:end]}`" if position < len(text) else "the end of the text"
    return SchemaFault(codes.SYNTAX, f"expected {wanted}, found {shown}", position, max(end, position))


def _read_name(text: str, start: int) -> tuple[OperatorName, int]:
    match = _OPERATOR.match(text, start)
    if match is None:
        raise _unexpected_fault(text, start, "an operator's name")
    name, overload = match.groups("")
    end = match.end(1)
    if match.end() - start > _LONGEST_NAME:
        check_name_length(start, end)
        check_name_length(end + 1, match.end())
    if name.endswith("_out"):
        message = f"`{name}` ends with `_out`, which the C++ functions of out overloads use"
        raise SchemaFault(codes.BAD_NAME, message, start, end, help="name the overload `out` instead")
    if name == "_" or (name.startswith("__") and name.endswith("__") and len(name) <= 4):
        raise SchemaFault(codes.BAD_NAME, f"`{name}` has no base name", start, end)
    if not overload and text.startswith(".", end):
        raise _unexpected_fault(text, end + 1, "an overload name after `.`")
    parsed = parsed_operator_name(name, overload)
    if parsed.dunder and not parsed.inplace and parsed.base.startswith("i"):
        message = f"`{name}` has the form of an augmented assignment that Python does not have"
        raise SchemaFault(codes.BAD_NAME, message, start, end)
    return parsed, match.end()


def check_name_length(start: int, end: int) -> None:
    """Raises SchemaFault if a name from `start` to `end` is too long for file systems."""
    if end - start > _LONGEST_NAME:
        message = f"a name of {end - start:,} characters, more than {_LONGEST_NAME}"
        raise SchemaFault(codes.TOO_LARGE, message, start, end)


def _item_end(text: str, start: int) -> int:
    match = _ITEM.match(text, start)
    return match.end() if match is not None else start


def _plain_arguments(items: list[str]) -> Arguments | None:
    """The arguments of these texts if all are cached or simple, and in a valid order; else None.

    It reports no fault: other texts are parsed afterwards, with their offsets in the schema.
    """
    positional: list[Argument] = []
    keyword_only: list[Argument] = []
    out: list[Argument] = []
    names: set[str] = set()
    star = False
    for item in items:
        argument = _ARGUMENTS.get(item) or _read_simple_argument(item)
        if argument is None:
            if item != "*" or star:
                return None
            star = True
            continue
        names.add(argument.name)
        if not star:
            if argument.default is None and positional and positional[-1].default is not None:
                return None
            positional.append(argument)
        elif argument.is_write:
            out.append(argument)
        elif out:
            return None
        else:
            keyword_only.append(argument)
    if len(names) + star != len(items) or (star and not keyword_only and not out):
        return None
    return argument_list(tuple(positional), tuple(keyword_only), tuple(out))


def _read_simple_argument(item: str) -> Argument | None:
    """The argument of a simple text; None if it is not one."""
    if _SIMPLE_ARGUMENT.fullmatch(item) is None:
        return None
    try:
        argument = _ARGUMENTS[item] = _read_argument(item, 0, len(item))
    except SchemaFault:
        return None
    return argument


def _read_arguments(text: str, start: int) -> tuple[Arguments, int]:
    """The arguments up to the closing parenthesis, and the offset after it."""
    close = text.find(") -> ", start)
    # Whole lists repeat too: every second one in a release's file does.
    listed = text[start:close] if close >= 0 else ""
    arguments = _LISTS.get(listed)
    if arguments is None and listed and (arguments := _plain_arguments(listed.split(", "))) is not None:
        _LISTS[listed] = arguments
    if arguments is not None:
        return arguments, close + 1
    positional: list[Argument] = []
    keyword_only: list[Argument] = []
    out: list[Argument] = []
    seen: set[str] = set()
    star = False
    position = start
    while not text.startswith(")", position):
        end = _item_end(text, position)
        item = text[position:end]
        if item == "*":
            if star:
                raise SchemaFault(codes.STAR, "second `*` in the arguments", position, end)
            star = True
        else:
            argument = _ARGUMENTS.get(item)
            if argument is None:
                argument = _ARGUMENTS[item] = _read_argument(text, position, end)
            last_default = positional[-1].default if positional and not star else None
            if (
                argument.name in seen
                or (star and out and not argument.is_write)
                or (last_default is not None and argument.default is None)
            ):
                raise _argument_order_fault(argument, seen, star, position, end)
            seen.add(argument.name)
            (positional if not star else out if argument.is_write else keyword_only).append(argument)
        position = _next_item(text, end)
    if star and not keyword_only and not out:
        raise SchemaFault(codes.STAR, "no argument follows `*`", position - 1, position)
    return argument_list(tuple(positional), tuple(keyword_only), tuple(out)), position + 1


def _next_item(text: str, end: int) -> int:
    """The offset of the next item or of the closing parenthesis."""
    comma = _COMMA.match(text, end)
    if comma is None:
        if not text.startswith(")", end):
            raise _unexpected_fault(text, end, "`,` or `)`")
        return end
    if text.startswith(")", comma.end()):
        raise _unexpected_fault(text, comma.end(), "another item after `,`")
    if comma.group() != ", ":
        # PyTorch splits at a comma with a blank. It would read `1,*` as one default and print the `*` into C++.
        raise SchemaFault(codes.SYNTAX, "one blank stands after `,`", *comma.span(), help="write `, `")
    return comma.end()


def _argument_order_fault(argument: Argument, seen: set[str], star: bool, start: int, end: int) -> SchemaFault:
    """The fault of an argument that cannot follow those before it; `star` says that `*` is among them."""
    if argument.name in seen:
        return SchemaFault(codes.DUPLICATE_ARGUMENT, f"second argument named `{argument.name}`", start, end)
    if star:
        return SchemaFault(codes.OUT_PLACE, f"argument `{argument.name}` follows the out arguments", start, end)
    message = f"argument `{argument.name}` without default follows one with a default"
    return SchemaFault(codes.REQUIRED_AFTER_DEFAULT, message, start, end)


def _read_argument(text: str, start: int, end: int) -> Argument:
    """The argument `text[start:end]`."""
    type, alias, position = _read_argument_type(text, start)
    named = _IDENTIFIER.match(text, position + 1) if text.startswith(" ", position) else None
    if named is None or position >= end:
        raise _unexpected_fault(text, min(position, end), "a blank and the argument's name")
    name, position = named.group(), named.end()
    check_name_length(named.start(), position)
    if name in KEYWORDS:
        message = f"argument name `{name}` is a Python keyword"
        raise SchemaFault(codes.KEYWORD_NAME, message, named.start(), named.end())
    default = None
    if position < end:
        if text[position] != "=":
            raise _unexpected_fault(text, position, "`=`, `,` or `)`")
        default = text[position + 1 : end]
        if not default and text[end : end + 1] in ("'", '"'):
            raise SchemaFault(codes.BAD_DEFAULT, "a string that does not end", end, len(text))
        check_default(type, default, position + 1)
    return make_argument(name, type, default, alias)


def _read_argument_type(text: str, start: int) -> tuple[Type, Annotation | None, int]:
    """The type at `start` and its annotation, which are cached if a blank follows, and the offset after them."""
    position = text.find(" ", start)
    shown = text[start:position]
    cached = _ANNOTATED_TYPES.get(shown)
    if cached is not None:
        return *cached, position
    type, alias, end = _read_type(text, start)
    if end == position:
        _ANNOTATED_TYPES[shown] = type, alias
    return type, alias, end


def _read_returns(text: str, start: int) -> tuple[tuple[Return, ...], int]:
    """The returns from `start` on, and the offset after them."""
    listed = text[start:]
    results = _RETURN_LISTS.get(listed)
    if results is None:
        results, end = _read_new_returns(text, start)
        if end != len(text):
            return results, end
        _RETURN_LISTS[listed] = results
    return results, len(text)


def _read_new_returns(text: str, start: int) -> tuple[tuple[Return, ...], int]:
    if not text.startswith("(", start):
        end = _item_end(text, start)
        return (_read_return(text, start, end),), end
    returns: list[Return] = []
    position = start + 1
    while not text.startswith(")", position):
        end = _item_end(text, position)
        returns.append(_read_return(text, position, end))
        position = _next_item(text, end)
    if len(returns) == 1:
        message = "a single return has no parentheses"
        raise SchemaFault(codes.SYNTAX, message, start, position + 1)
    return tuple(returns), position + 1


def _read_return(text: str, start: int, end: int) -> Return:
    item = text[start:end]
    result = _RETURNS.get(item)
    if result is not None:
        return result
    type, alias, position = _read_type(text, start)
    name = None
    if position < end:
        named = _IDENTIFIER.match(text, position + 1) if text[position] == " " else None
        if named is None or named.end() != end:
            raise _unexpected_fault(text, position, "the name of the return, `,` or the end")
        name = named.group()
    result = _RETURNS[item] = make_return(name, type, alias)
    return result


def _read_type(text: str, start: int, *, allow_annotation: bool = True) -> tuple[Type, Annotation | None, int]:
    """The type at `start`, its annotation, and the offset after it."""
    match = _DOTTED.match(text, start)
    if match is None:
        raise _unexpected_fault(text, start, "a type")
    position = match.end()
    type = _named_type(match.group(), start, position)
    alias = None
    if allow_annotation and text.startswith("(", position):
        close = text.find(")", position)
        if close < 0:
            raise SchemaFault(codes.BAD_ANNOTATION, "alias annotation without `)`", position, len(text))
        alias = _read_annotation(text, position + 1, close)
        position = close + 1
    depth = 0
    while (suffix := _SUFFIX.match(text, position)) is not None:
        depth += 1
        if depth > _DEEPEST_TYPE:
            message = f"a type has more than {_DEEPEST_TYPE} of `?` and `[]`"
            raise SchemaFault(codes.TOO_LARGE, message, suffix.start(), suffix.end())
        type = optional(type) if suffix.group() == "?" else _sized_list(type, suffix)
        position = suffix.end()
    if alias is not None:
        _check_annotated(type, start, position)
    return type, alias, position


def _named_type(name: str, start: int, end: int) -> Type:
    if name in _BASE_NAMES:
        return base(name)
    if name.startswith(CLASS_PREFIX) and len(name) > len(CLASS_PREFIX):
        return class_type(name[len(CLASS_PREFIX) :])
    message = f"unknown type `{name}`"
    raise SchemaFault(codes.UNKNOWN_TYPE, message, start, end, help=did_you_mean(name, BASE_TYPES))


def _sized_list(elem: Type, suffix: re.Match[str]) -> Type:
    size = suffix.group(1)
    if size == "":
        return list_of(elem, None)
    if not size.isascii() or not size.isdigit() or size.startswith("0") or len(size) > _LONGEST_SIZE:
        raise SchemaFault(codes.LIST_SIZE, f"`{size}` is not the size of a list", suffix.start(1), suffix.end(1))
    return list_of(elem, int(size))


def _check_annotated(type: Type, start: int, end: int) -> None:
    """Checks that an annotated type is a tensor, an optional tensor or a list of tensors."""
    holder = type.list_like if isinstance(type, ListType) else None
    plain = type.innermost if holder is None else holder
    if not type.is_tensor_like or type.text.count("[") > 1 or plain.is_nullable:
        message = f"type `{type.text}` cannot have an alias annotation"
        raise SchemaFault(codes.BAD_ANNOTATION, message, start, end)


_ALIAS: Final = re.compile(r"[a-z][A-Za-z0-9_]*|\*")


def _alias_set(text: str, start: int, end: int) -> tuple[str, ...]:
    names: list[str] = []
    position = start
    while True:
        match = _ALIAS.match(text, position, end)
        if match is None:
            message = "expected the name of an alias set, such as `a`"
            raise SchemaFault(codes.BAD_ANNOTATION, message, position, min(position + 1, len(text)))
        names.append(match.group())
        position = match.end()
        if position == end:
            return tuple(names)
        if text[position] != "|":
            raise SchemaFault(codes.BAD_ANNOTATION, "alias sets are joined by `|`", position, position + 1)
        position += 1


def _read_annotation(text: str, start: int, end: int) -> Annotation:
    arrow = text.find(" -> ", start, end)
    before_end = end if arrow < 0 else arrow
    is_write = before_end > start and text[before_end - 1] == "!"
    before = _alias_set(text, start, before_end - 1 if is_write else before_end)
    after = _alias_set(text, arrow + 4, end) if arrow >= 0 else ()
    if is_write and len(before) != 1:
        raise SchemaFault(codes.BAD_ANNOTATION, "a written value has exactly one alias set", start, before_end)
    if len(before) > 1 and len(after) > 1:
        raise SchemaFault(codes.BAD_ANNOTATION, "several alias sets both before and after the call", start, end)
    return annotation(before, is_write, after)
