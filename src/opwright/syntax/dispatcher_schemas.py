"""Schemas as PyTorch's dispatcher takes them, as `m.def` and `torch.library.define` do."""

from __future__ import annotations

import re
from typing import Final

from opwright.schema.base_types import names_where
from opwright.schema.fault import SchemaFault, unexpected_fault
from opwright.schema.function import FunctionSchema, SchemaKind, argument_list
from opwright.schema.names import OperatorName, parsed_operator_name
from opwright.schema.parser import Grammar, name_misfit, read_parts
from opwright.schema.rules import check_schema
from opwright.schema.type_parser import DOTTED, SUFFIX, check_depth, list_size, named_type, read_annotation
from opwright.schema.types import (
    CLASS_PREFIX,
    ONLY_IN_FILES,
    OPTIONAL_TENSOR,
    TENSOR,
    Annotation,
    DispatcherType,
    ListType,
    OptionalType,
    Type,
    dispatcher_type,
    list_of,
    optional,
)
from opwright.source import codes
from opwright.syntax.dispatcher_defaults import dispatcher_default
from opwright.syntax.normal_form import PARAMETRIC_TYPES, normal_form

#: The words that are no names in a schema that the dispatcher parses.
_WORDS: Final = frozenset((
    "False", "None", "NoneType", "True", "and", "as", "assert", "break", "class", "continue", "def", "del", "elif",
    "else", "for", "global", "if", "import", "in", "is", "not", "or", "pass", "raise", "return", "while", "with",
    "Ellipsis",
))  # fmt: skip
#: A namespace before a schema, with blanks around it.
_NAMESPACE: Final = re.compile(rf"\s*(?!(?:{'|'.join(sorted(_WORDS))})\b)([A-Za-z_][A-Za-z0-9_]*)[ \t]*::")
_VARIADIC: Final = "..."
#: How deep parentheses are nested in types such as `Dict(str, Dict(int, Tensor))`.
_DEEPEST: Final = 8
#: The types that keys of dictionaries have.
_KEYS: Final = names_where("is_key")


class DispatcherGrammar(Grammar):
    """The spelling that the dispatcher takes, without some types."""

    __slots__ = ()

    def __init__(self, missing_types: tuple[str, ...]) -> None:
        super().__init__(
            words=_WORDS,
            alias=r"[A-Za-z_][A-Za-z0-9_]*|\*",
            depth=_DEEPEST,
            missing_types=missing_types,
            is_strict=False,
            namespace=_NAMESPACE,
        )

    def read_schema(self, text: str, start: int = 0) -> FunctionSchema:
        """Schema in `text` from `start` to its end. It may break the rules of PyTorch's files between its parts."""
        form = normal_form(text, start)
        try:
            name, arguments, returns = read_parts(form.text, 0, self)
        except SchemaFault as fault:
            raise form.given_fault(fault) from None
        written = text[start:].strip()
        schema = FunctionSchema(name, arguments, returns, is_strict=False, written=written)
        if _is_regular(schema, form.text):
            return schema
        whole = OperatorName(name.name, name.overload)
        listed = argument_list(arguments.positional, arguments.keyword_only + arguments.out)
        return FunctionSchema(whole, listed, returns, is_regular=False, written=written)

    def read_type(self, text: str, start: int) -> tuple[Type, Annotation | None, int]:
        """Type at `start`, its annotation, and the offset after it."""
        if text.startswith(_VARIADIC, start):
            raise _variadic_fault(text, start, start + len(_VARIADIC))
        return _read_type(text, start, self, 0)

    def read_default(self, type: Type, text: str, start: int) -> str:
        """Normal form of the default `text`, which starts at `start`. Raises SchemaFault if it is none."""
        return dispatcher_default(type, text, start)

    def operator_name(self, match: re.Match[str]) -> OperatorName:
        """The operator name that a match has. Raises SchemaFault if the dispatcher refuses it."""
        name, overload = match.groups("")
        if name in self.words:
            raise SchemaFault(codes.BAD_NAME, f"`{name}` is a word of Python", *match.span(1))
        if overload == "default" or overload.startswith("__") or overload[:1].isdigit() or overload in self.words:
            message = f"the dispatcher has no overloads named `{overload}`"
            help = "leave it out: the overload without a name is the default" if overload == "default" else ""
            raise SchemaFault(codes.BAD_NAME, message, match.end() - len(overload), match.end(), help=help)
        parsed = parsed_operator_name(name, overload)
        return OperatorName(name, overload) if name_misfit(parsed) else parsed


def is_seen_by_dispatcher(type: Type) -> bool:
    """Whether the dispatcher looks at the tensors of a type: it looks into lists, and no deeper.

    >>> from opwright.schema import parse_type
    >>> [is_seen_by_dispatcher(parse_type(text)) for text in ("Tensor?", "Tensor[]", "Tensor[]?")]
    [True, True, False]
    """
    item = type.elem if isinstance(type, ListType) else type
    return item is TENSOR or item is OPTIONAL_TENSOR


DISPATCHER: Final = DispatcherGrammar(ONLY_IN_FILES)
#: The spelling in the releases whose dispatcher takes names of dimensions.
DISPATCHER_WITH_DIMNAMES: Final = DispatcherGrammar(tuple([name for name in ONLY_IN_FILES if name != "Dimname"]))


def read_written_schema(text: str, start: int = 0) -> FunctionSchema:
    """Schema in `text` from `start` to its end, spelt as PyTorch's dispatcher takes it.

    It may break the rules of PyTorch's files between its parts. Raises SchemaFault with offsets in `text`.

    >>> schema = read_written_schema("rms_norm( Tensor! out,Tensor x )->Tensor!")
    >>> str(schema), schema.kind.name, schema.is_regular
    ('rms_norm(Tensor(a!) out, Tensor x) -> Tensor(b!)', 'mutable', False)
    """
    return DISPATCHER.read_schema(text, start)


def _is_regular(schema: FunctionSchema, text: str) -> bool:
    """Whether a schema keeps the rules of PyTorch's files, where a result that aliases makes a view.

    What is written in place or to an out argument is always there, and no other written argument is returned.
    """
    arguments = schema.arguments
    written = [argument for argument in arguments.all if argument.is_write]
    if schema.kind is SchemaKind.mutable:
        if not {argument.annotation for argument in written}.isdisjoint(
            [result.annotation for result in schema.returns]
        ):
            return False
    elif schema.kind is SchemaKind.scratch or any(argument.type.is_nullable for argument in written):
        return False
    if any(argument.is_write for argument in arguments.keyword_only):
        return False
    viewed = [result.annotation for result in schema.returns if result.annotation and not result.is_write]
    shared = {name for argument in arguments.all if argument.annotation for name in argument.annotation.before}
    if viewed and (arguments.writes or not all(shared.issuperset(annotation.before) for annotation in viewed)):
        return False
    try:
        check_schema(schema, text, 0)
    except SchemaFault:
        return False
    return True


def _variadic_fault(text: str, start: int, end: int) -> SchemaFault:
    """Fault of `...`, which has to be the last item of a list."""
    after = text[end : end + 1]
    if after not in (")", ""):
        return unexpected_fault(text, end, "`)` after `...`")
    message = "`...` takes any number of values, for which generated code has no signature"
    help = "register this operator by hand, with a boxed kernel"
    return SchemaFault(codes.VARIADIC, message, start, end, help=help)


def _read_type(text: str, start: int, grammar: DispatcherGrammar, depth: int) -> tuple[Type, Annotation | None, int]:
    """Parses a type with its annotation; `depth` counts the types around this one.

    A list may have an annotation of its own, which stands for that of its items if they have none. Annotations of
    values that are no tensors say nothing.
    """
    type, position = _read_plain_type(text, start, grammar, depth)
    is_parametric = isinstance(type, DispatcherType) and text.startswith(")", position - 1)
    alias = None
    if (not is_parametric or type.text.startswith("Dict")) and not type.text.startswith(CLASS_PREFIX):
        alias, position = read_annotation(text, position, grammar)
    while (suffix := SUFFIX.match(text, position)) is not None:
        depth += 1
        check_depth(depth, suffix.start(), suffix.end())
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
        type = list_of(type, list_size(suffix) if is_sized else None)
        container, position = read_annotation(text, suffix.end(), grammar)
        alias = alias or container
        if is_sized and text[position : position + 1] != "?":
            break
    holder = type.elem if isinstance(type, OptionalType) else type
    return type, alias if is_seen_by_dispatcher(holder) else None, position


def _read_plain_type(text: str, start: int, grammar: DispatcherGrammar, depth: int) -> tuple[Type, int]:
    """A type before what makes it optional or a list, and the offset after it."""
    if text.startswith("(", start):
        return _read_items(text, start, "", grammar, depth)
    match = DOTTED.match(text, start)
    if match is None:
        raise unexpected_fault(text, start, "a type")
    name, end = match.group(), match.end()
    if name not in PARAMETRIC_TYPES:
        return named_type(text, start, end, grammar), end
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


def _read_items(text: str, start: int, name: str, grammar: DispatcherGrammar, depth: int) -> tuple[DispatcherType, int]:
    """Type with parameters in parentheses, of which the first one is at `start`."""
    check_depth(depth + 1, start, start + 1)
    items: list[Type] = []
    position = start + 1
    while not text.startswith(")", position) or items:
        item, _, end = _read_type(text, position, grammar, depth + 1)
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
