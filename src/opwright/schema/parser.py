"""Parses schemas, and reports faults at their offsets.

PyTorch's 2,600 schemas contain some 2,000 different argument texts, so arguments and returns are cached by their text
and each text is parsed once.
"""

from __future__ import annotations

import keyword
import re
from typing import Final

from opwright.schema.defaults import check_default
from opwright.schema.fault import IDENTIFIER, SchemaFault, unexpected_fault
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
from opwright.schema.rules import check_schema
from opwright.schema.type_parser import TypeGrammar, read_file_type
from opwright.schema.types import Annotation, Type
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.nodes import Scalar

_OPERATOR: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\.([A-Za-z0-9_]+))?")
_NAMESPACE: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)::")
_COMMA: Final = re.compile(r", *")
_REFERENCE: Final = re.compile(r" *[&*]")
_NO_REFERENCES: Final = "types have no references; `Tensor(a!)` is a tensor that the operator writes to"
_ARROW: Final = " -> "
#: The most characters of a name. Files are named after operators, and file systems allow 255 with suffixes.
_LONGEST_NAME: Final = 200
# One item of a list of arguments or returns: everything up to a comma outside brackets and quotes.
_PLAIN_TEXT: Final = r"[^,()\[\]\"']"
_QUOTED: Final = r"\[[^\[\]]*\]|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'"


def _parentheses(depth: int) -> str:
    pattern = r"\([^()]*\)"
    for _ in range(depth - 1):
        pattern = rf"\((?:[^()]|{pattern})*\)"
    return pattern


class Grammar(TypeGrammar):
    """A spelling of schemas: that of PyTorch's files, unless a class below says otherwise.

    If it `is_lenient`, a default is any text, and arguments have any order and names. Parentheses in types may be as
    deep as `depth`. The tables have what was parsed, by its text: most texts occur many times.
    """

    __slots__ = ("annotated_types", "arguments", "item", "lists", "namespace", "return_lists", "returns")

    def __init__(
        self,
        *,
        words: frozenset[str],
        alias: str,
        depth: int = 1,
        missing_types: tuple[str, ...] = (),
        is_strict: bool = True,
        is_lenient: bool = False,
        namespace: re.Pattern[str] = _NAMESPACE,
    ) -> None:
        super().__init__(
            is_strict=is_strict, words=words, alias=alias, missing_types=missing_types, is_lenient=is_lenient
        )
        self.namespace: Final = namespace
        self.item: Final = re.compile(rf"{_PLAIN_TEXT}*(?:(?:{_parentheses(depth)}|{_QUOTED}){_PLAIN_TEXT}*)*")
        self.annotated_types: Final[dict[str, tuple[Type, Annotation | None]]] = {}
        self.arguments: Final[dict[str, Argument]] = {}
        self.lists: Final[dict[str, Arguments]] = {}
        self.returns: Final[dict[str, Return]] = {}
        self.return_lists: Final[dict[str, tuple[Return, ...]]] = {}

    def read_schema(self, text: str, start: int = 0) -> FunctionSchema:
        """Schema in `text` from `start` to its end. Raises SchemaFault with offsets in `text`."""
        schema = read_unchecked_schema(text, start, self)
        check_schema(schema, text, start)
        return schema

    def read_default(self, type: Type, text: str, start: int) -> str:
        """The default `text` of an argument, which starts at `start`. Raises SchemaFault if it is none."""
        check_default(type, text, start)
        return text

    def operator_name(self, match: re.Match[str]) -> OperatorName:
        """The operator name that a match has. Raises SchemaFault if PyTorch's operators cannot have it."""
        name, overload = match.groups("")
        parsed = parsed_operator_name(name, overload)
        if name.endswith("_out"):
            message = f"`{name}` ends with `_out`, which the C++ functions of out overloads use"
            raise SchemaFault(codes.BAD_NAME, message, *match.span(1), help="name the overload `out` instead")
        misfit = name_misfit(parsed)
        if misfit:
            raise SchemaFault(codes.BAD_NAME, f"`{name}` has {misfit}", *match.span(1))
        return parsed


def name_misfit(name: OperatorName) -> str:
    """Why PyTorch's operators cannot have a name; empty if they can."""
    text = name.name
    if text == "_" or (text.startswith("__") and text.endswith("__") and len(text) <= 4):
        return "no base name"
    if name.dunder and not name.inplace and name.base.startswith("i"):
        return "the form of an augmented assignment that Python does not have"
    return ""


#: The spelling of PyTorch's files.
STRICT: Final = Grammar(
    words=frozenset(keyword.kwlist) - {"lambda", "from", "is"},
    alias=r"[a-z][A-Za-z0-9_]*|\*",
)

#: The same as PyTorch's generator takes it from programs: the schemas that a running PyTorch prints have enumerators as
#: numbers (`MemoryFormat memory_format=0`), and some have two arguments of one name.
LENIENT: Final = Grammar(is_lenient=True, words=frozenset(), alias=r"[a-z]|\*")


def parse_schema(text: str) -> FunctionSchema:
    """Schema of a text. Raises Fault with the span of the first mistake.

    >>> str(parse_schema("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"))
    'add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor'
    """
    try:
        return read_schema(text)
    except SchemaFault as fault:
        raise Fault(fault.diagnostic(text)) from None


def parse_type(text: str) -> Type:
    """Type of a text. Raises Fault if it is not one.

    >>> parse_type("SymInt[2]?").text
    'SymInt[2]?'
    """
    try:
        type, _, end = read_file_type(text, 0, STRICT, allow_annotation=False)
        if end != len(text):
            raise SchemaFault(codes.SCHEMA_SYNTAX, "text after the type", end, len(text))
        return type
    except SchemaFault as fault:
        raise Fault(fault.diagnostic(text)) from None


def read_namespace(text: str, grammar: Grammar = STRICT) -> tuple[str, int]:
    """Namespace before `::` in front of a schema (empty without one), and the offset at which the schema starts.

    Raises SchemaFault if the namespace is too long.
    """
    if "::" not in text:
        return "", 0
    match = grammar.namespace.match(text)
    if match is None:
        return "", 0
    check_name_length(match.start(1), match.end(1))
    return match.group(1), match.end()


def read_schema(text: str, start: int = 0, grammar: Grammar = STRICT) -> FunctionSchema:
    """Schema in `text` from `start` to its end. Raises SchemaFault with offsets in `text`."""
    return grammar.read_schema(text, start)


def expect_schema(scalar: Scalar, sink: Diagnostics) -> FunctionSchema | None:
    """Schema of a scalar in a file; None if it has faults, which are reported at their places."""
    try:
        return read_schema(scalar.value)
    except SchemaFault as fault:
        for mistake in (fault, *fault.others):
            sink.add(mistake.at(scalar.span_of(mistake.start, mistake.end)))
        return None


def read_unchecked_schema(text: str, start: int = 0, grammar: Grammar = STRICT) -> FunctionSchema:
    """Parses a schema without checking the rules between its parts."""
    return FunctionSchema(*read_parts(text, start, grammar))


def read_parts(text: str, start: int, grammar: Grammar) -> tuple[OperatorName, Arguments, tuple[Return, ...]]:
    """Parses the parts of a schema, without rules between them. Raises SchemaFault, which knows other faults."""
    name, position = _read_name(text, start, grammar)
    if not text.startswith("(", position):
        raise unexpected_fault(text, position, "`(` after the operator's name")
    faults: list[SchemaFault] = []
    arguments, position = _read_arguments(text, position + 1, grammar, faults)
    if not text.startswith(_ARROW, position):
        missing = unexpected_fault(text, position, "` -> ` and what the function returns")
        raise _joined(faults) if faults else missing
    try:
        returns, position = _read_returns(text, position + len(_ARROW), grammar)
    except SchemaFault as fault:
        raise _joined([*faults, fault]) from None
    if faults:
        raise _joined(faults)
    if position != len(text):
        raise unexpected_fault(text, position, "the end of the schema")
    return name, arguments, returns


def _joined(faults: list[SchemaFault]) -> SchemaFault:
    """The first fault, which knows the others."""
    return faults[0].replace(others=tuple(faults[1:]))


def read_operator_name(text: str, start: int = 0) -> OperatorName:
    """Operator name (`name` or `name.overload`) in `text` from `start` to its end. Raises SchemaFault otherwise."""
    name, position = _read_name(text, start, STRICT)
    if position != len(text):
        raise unexpected_fault(text, position, "the end of the operator's name")
    return name


def read_argument(text: str, start: int, end: int, grammar: Grammar = STRICT) -> Argument:
    """Argument `text[start:end]`. Raises SchemaFault with offsets in `text`."""
    item = text[start:end]
    if _item_end(item, 0, grammar) != len(item):
        raise unexpected_fault(text, start + _item_end(item, 0, grammar), "one argument")
    return _cached_argument(text, start, end, grammar)


def _read_name(text: str, start: int, grammar: Grammar) -> tuple[OperatorName, int]:
    match = _OPERATOR.match(text, start)
    if match is None:
        raise unexpected_fault(text, start, "an operator's name")
    end = match.end(1)
    if match.end() - start > _LONGEST_NAME:
        check_name_length(start, end)
        check_name_length(end + 1, match.end())
    if match[2] is None and text.startswith(".", end):
        raise unexpected_fault(text, end + 1, "an overload name after `.`")
    return grammar.operator_name(match), match.end()


def check_name_length(start: int, end: int) -> None:
    """Raises SchemaFault if a name from `start` to `end` is too long for file systems."""
    if end - start > _LONGEST_NAME:
        message = f"a name of {end - start:,} characters, more than {_LONGEST_NAME}"
        raise SchemaFault(codes.TOO_LARGE, message, start, end)


def _item_end(text: str, start: int, grammar: Grammar) -> int:
    match = grammar.item.match(text, start)
    return match.end() if match is not None else start


def _read_arguments(text: str, start: int, grammar: Grammar, faults: list[SchemaFault]) -> tuple[Arguments, int]:
    """The arguments up to the closing parenthesis, and the offset after it.

    Faults of single arguments are added to `faults`. For the dispatcher, several `*` mean the same as one, and
    arguments that are passed by name are out arguments only if they and all after them are written.
    """
    close = text.find(") -> ", start)
    # Every second list of a release's file occurs there more than once.
    listed = text[start : max(close, start)]
    arguments = grammar.lists.get(listed) if close >= 0 else None
    if arguments is not None:
        return arguments, close + 1
    positional: list[Argument] = []
    by_name: list[Argument] = []
    names: set[str] = set()
    star = False
    position = start
    while not text.startswith(")", position):
        end = _item_end(text, position, grammar)
        item = text[position:end]
        try:
            if item == "*":
                if star and grammar.is_strict:
                    raise SchemaFault(codes.STAR, "second `*` in the arguments", position, end)
                star = True
            else:
                argument = _cached_argument(text, position, end, grammar)
                group = by_name if star else positional
                last = group[-1] if group else argument
                is_late = star and grammar.is_strict and last.is_write and not argument.is_write
                # Whether an argument that is at fault has a default is not known.
                lacks_default = not star and not faults and last.default is not None and argument.default is None
                if argument.name in names or is_late or (lacks_default and not grammar.is_lenient):
                    raise _argument_order_fault(argument, names, star, position, end)
                if not grammar.is_lenient:
                    names.add(argument.name)
                group.append(argument)
        except SchemaFault as fault:
            faults.append(fault)
        position = _next_position(text, end, faults)
    if star and grammar.is_strict and not by_name and not faults:
        faults.append(SchemaFault(codes.STAR, "no argument follows `*`", position - 1, position))
    first_out = next((index for index, argument in enumerate(by_name) if argument.is_write), len(by_name))
    if not all(argument.is_write for argument in by_name[first_out:]):
        first_out = len(by_name)
    arguments = argument_list(tuple(positional), tuple(by_name[:first_out]), tuple(by_name[first_out:]))
    if not faults and position == close:
        grammar.lists[listed] = arguments
    return arguments, position + 1


def _cached_argument(text: str, start: int, end: int, grammar: Grammar) -> Argument:
    item = text[start:end]
    argument = grammar.arguments.get(item)
    if argument is None:
        argument = grammar.arguments[item] = _read_argument(text, start, end, grammar)
    return argument


def _next_item(text: str, end: int) -> int:
    """Offset of the next item or of the closing parenthesis."""
    if text.startswith(", ", end) and text[end + 2 : end + 3] not in (" ", ")"):
        return end + 2
    comma = _COMMA.match(text, end)
    if comma is None:
        if not text.startswith(")", end):
            raise unexpected_fault(text, end, "`,` or `)`")
        return end
    if text.startswith(")", comma.end()):
        raise unexpected_fault(text, comma.end(), "another item after `,`")
    if comma.group() != ", ":
        # PyTorch splits at a comma with a blank. It would read `1,*` as one default and print the `*` into C++.
        raise SchemaFault(codes.SCHEMA_SYNTAX, "one blank stands after `,`", *comma.span(), help="write `, `")
    return comma.end()


def _next_position(text: str, end: int, faults: list[SchemaFault]) -> int:
    """Offset of the next item. Raises the first of `faults` if nothing can follow there, or what is wrong there."""
    try:
        return _next_item(text, end)
    except SchemaFault as fault:
        # Where the text of an argument ends may depend on what is wrong in it.
        raise (_joined(faults) if faults else fault) from None


def _argument_order_fault(argument: Argument, seen: set[str], star: bool, start: int, end: int) -> SchemaFault:
    """Fault of an argument that cannot follow those before it; `star` says that `*` is among them."""
    if argument.name in seen:
        message = f"second argument named `{argument.name}`"
        return SchemaFault(codes.DUPLICATE_ARGUMENT, message, start, end, help="give each argument its own name")
    if star:
        return SchemaFault(codes.OUT_PLACE, f"argument `{argument.name}` follows the out arguments", start, end)
    message = f"argument `{argument.name}` without default follows one with a default"
    help = "give it a default too, put it before those with a default, or put `*` before it"
    return SchemaFault(codes.REQUIRED_AFTER_DEFAULT, message, start, end, help=help)


def _read_argument(text: str, start: int, end: int, grammar: Grammar) -> Argument:
    type, alias, position = _read_argument_type(text, start, grammar)
    named = IDENTIFIER.match(text, position + 1) if text.startswith(" ", position) else None
    if named is None or position >= end:
        reference = _REFERENCE.match(text, position, end)
        place = min(position, end) if reference is None else reference.end() - 1
        fault = unexpected_fault(text, place, "a blank and the argument's name")
        raise fault if reference is None else fault.replace(help=_NO_REFERENCES)
    name, position = named.group(), named.end()
    check_name_length(named.start(), position)
    if name in grammar.words:
        message = f"argument name `{name}` is a Python keyword"
        raise SchemaFault(
            codes.KEYWORD_NAME, message, named.start(), named.end(), help=f"write `{name}_`, or another name"
        )
    default = None
    if position < end:
        if text[position] != "=":
            raise unexpected_fault(text, position, "`=`, `,` or `)`")
        default = text[position + 1 : end]
        if not default and text[end : end + 1] in ("'", '"'):
            raise SchemaFault(codes.BAD_DEFAULT, "a string that does not end", end, len(text))
        if grammar.is_lenient:
            if not default:
                raise unexpected_fault(text, end, "a default after `=`")
            _check_separators(default, position + 1)
        else:
            default = grammar.read_default(type, default, position + 1)
    return make_argument(name, type, default, alias)


def check_separators(schema: FunctionSchema, text: str, start: int) -> None:
    """Check the defaults of a schema that was read in `text` from `start` on, which PyTorch's generator will read.

    Raises SchemaFault for one at which it splits the schema. PyTorch itself prints and takes `[1, 1]`.
    """
    for argument in schema.arguments.all:
        default = argument.default or ""
        if ", " in default or "=" in default:
            _check_separators(default, text.index(f"={default}", start) + 1)


def _check_separators(default: str, start: int) -> None:
    """Raises SchemaFault if PyTorch's generator splits the default that begins at `start`, such as `[1, 1]`."""
    for separator in (", ", "="):
        if separator in default:
            help = f"write `{default.replace(separator, ',')}`" if separator == ", " else ""
            message = f"`{separator}` in a default, at which PyTorch's generator splits a schema"
            raise SchemaFault(codes.BAD_DEFAULT, message, start, start + len(default), help=help)


def _read_argument_type(text: str, start: int, grammar: Grammar) -> tuple[Type, Annotation | None, int]:
    """Type at `start` and its annotation, which are cached if a blank follows, and the offset after them."""
    position = text.find(" ", start)
    shown = text[start:position]
    cached = grammar.annotated_types.get(shown)
    if cached is not None:
        return *cached, position
    type, alias, end = grammar.read_type(text, start)
    if end == position:
        grammar.annotated_types[shown] = type, alias
    return type, alias, end


def _read_returns(text: str, start: int, grammar: Grammar) -> tuple[tuple[Return, ...], int]:
    listed = text[start:]
    returns = grammar.return_lists.get(listed)
    if returns is not None:
        return returns, len(text)
    if not text.startswith("(", start):
        end = _item_end(text, start, grammar)
        returns = (_read_return(text, start, end, grammar),)
    else:
        items: list[Return] = []
        position = start + 1
        while not text.startswith(")", position):
            end = _item_end(text, position, grammar)
            items.append(_read_return(text, position, end, grammar))
            position = _next_item(text, end)
        end = position + 1
        if len(items) == 1 and grammar.is_strict:
            raise SchemaFault(codes.SCHEMA_SYNTAX, "a single return has no parentheses", start, end)
        returns = tuple(items)
    if end == len(text):
        grammar.return_lists[listed] = returns
    return returns, end


def _read_return(text: str, start: int, end: int, grammar: Grammar) -> Return:
    item = text[start:end]
    result = grammar.returns.get(item)
    if result is not None:
        return result
    type, alias, position = grammar.read_type(text, start)
    name = None
    if position < end:
        named = IDENTIFIER.match(text, position + 1) if text[position] == " " else None
        if named is None or named.end() != end or (not grammar.is_strict and named.group() in grammar.words):
            raise unexpected_fault(text, position, "the name of the return, `,` or the end")
        name = named.group()
    result = grammar.returns[item] = make_return(name, type, alias)
    return result
