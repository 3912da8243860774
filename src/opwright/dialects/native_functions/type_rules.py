"""Rules about the types of arguments and returns, which must have a form in C++."""

from __future__ import annotations

from functools import cache
from typing import Final

from opwright.convention.shared_types import has_cpp_type, is_held_list
from opwright.dialects.native_functions.entry_builder import EntryBuilder, argument_span, item_span, return_span
from opwright.schema.base_types import BASE_TYPE_ROWS, LEARNED_TYPES, row_help
from opwright.schema.defaults import DTYPES, is_default
from opwright.schema.function import Argument, Arguments, FunctionSchema, Return
from opwright.schema.types import SCALAR, SYMINT, BaseType, ClassType, DispatcherType, ListType, OptionalType, Type
from opwright.source import codes


@cache
def is_argument_type(type: Type, *, is_strict: bool = True) -> bool:
    """Whether an argument of that type has a form in C++; not `is_strict`, one in libraries.

    >>> from opwright.schema import parse_type
    >>> is_argument_type(parse_type("bool[3]")), is_argument_type(parse_type("bool[]"))
    (True, False)
    >>> is_argument_type(parse_type("bool[]"), is_strict=False)
    True
    """
    return _has_form(type, is_strict) and (not is_strict or not type.is_symint_like or _is_convertible(type))


@cache
def is_return_type(type: Type, *, is_strict: bool = True) -> bool:
    """Whether a return of that type has a form in C++; not `is_strict`, one in libraries.

    >>> from opwright.schema import parse_type
    >>> is_return_type(parse_type("Tensor[]")), is_return_type(parse_type("Tensor[2]"))
    (True, False)
    """
    return _has_form(type, is_strict) and _is_returnable(type)


def check_types(builder: EntryBuilder, schema: FunctionSchema) -> None:
    """Reports arguments and returns without a C++ type, and methods that cannot be called on a tensor."""
    is_strict = builder.context.grammar.is_strict
    if LEARNED_TYPES and _has_foreign_type(builder, schema):
        return
    arguments, defaults = _arguments_without_form(schema.arguments, is_strict)
    for argument in arguments:
        message = f"`{argument.type}` of argument `{argument.name}` has no form in C++"
        help = row_help(argument.type.innermost.text) if is_strict else _type_help(argument.type)
        builder.fault(codes.NATIVE_ARGUMENT_TYPE, message, argument_span(builder.node, argument.text), help=help)
    for argument in defaults:
        default = f"default `{argument.default}` of argument `{argument.name}`"
        message = f"the {default} has no form in C++ for type `{argument.type}`"
        builder.fault(codes.DEFAULT_FORM, message, argument_span(builder.node, argument.text))
    for index in _returns_without_form(schema.returns, is_strict):
        result = schema.returns[index]
        at = return_span(builder.node, [result.text for result in schema.returns], index)
        returned_help = row_help(result.type.innermost.text) if is_strict else _type_help(result.type)
        builder.fault(codes.RETURN_TYPE, f"`{result.type}` cannot be returned in C++", at, help=returned_help)
    own = schema.arguments.self_arg
    if builder.method and (own is None or own.type.text != "Tensor"):
        reason = "it has no argument `self`" if own is None else f"its `self` is a `{own.type}`"
        message = f"`{schema.name}` cannot be a method: {reason}"
        at = item_span(builder.node, "variants", "method")
        builder.fault(codes.METHOD_SELF, message, at, help="write `variants: function`")


def _has_foreign_type(builder: EntryBuilder, schema: FunctionSchema) -> bool:
    """Whether a schema has types that only other trees than the entry's own have; each is reported."""
    tree = builder.context.tree
    own = frozenset() if tree is None else frozenset([type.name for type in tree.types])
    items: list[Argument | Return] = [*schema.arguments.all, *schema.returns]
    foreign = [item for item in items if item.type.innermost.text in LEARNED_TYPES.keys() - own]
    for item in foreign:
        at = argument_span(builder.node, item.text)
        builder.fault(codes.UNKNOWN_TYPE, f"unknown type `{item.type.innermost}`", at)
    return bool(foreign)


def missing_form(schema: FunctionSchema) -> str:
    """What in the schema of a library has no form in C++; empty if all has one.

    >>> from opwright.schema.parser import read_written_schema
    >>> missing_form(read_written_schema("f(Future(Tensor) x) -> ()"))
    '`Future(Tensor) x` has no form in C++'
    """
    arguments, defaults = _arguments_without_form(schema.arguments, False)
    returns = [schema.returns[index].text for index in _returns_without_form(schema.returns, False)]
    texts = [*[argument.text for argument in arguments], *[argument.text for argument in defaults], *returns]
    return f"`{texts[0]}` has no form in C++" if texts else ""


def _type_help(type: Type) -> str:
    """What serves in place of a type that has no form in C++."""
    plain: Type = type.innermost
    if isinstance(plain, ClassType):
        return "register this operator by hand, for which the C++ class is known"
    if not isinstance(plain, DispatcherType):
        return ""
    inside = next((item for item in plain.items if not has_cpp_type(item)), None)
    if plain.name in ("Dict", "") and inside is not None:
        return _type_help(inside)
    if plain.name == "NoneType":
        return "an argument that is always None says nothing: leave it out, or write `Any?`"
    return "write `Any`, or register this operator by hand with a boxed kernel"


# The same lists of arguments and returns occur in many entries.
@cache
def _arguments_without_form(arguments: Arguments, is_strict: bool) -> tuple[list[Argument], list[Argument]]:
    """The arguments whose type has no form in C++, and those whose default has none."""
    without_form = [argument for argument in arguments.all if not is_argument_type(argument.type, is_strict=is_strict)]
    return (
        without_form,
        [
            argument
            for argument in arguments.all
            if argument.default is not None
            and argument not in without_form
            and not (has_cpp_form(argument.type, argument.default) if is_strict else _is_written_in_cpp(argument))
        ],
    )


def _is_written_in_cpp(argument: Argument) -> bool:
    """Whether C++ can say a default of a library: a value of the type, a dtype, or a number that C++ makes a value."""
    type, default = argument.type, argument.default
    assert default is not None, "an argument with a default"
    plain = type.elem if isinstance(type, OptionalType) else type
    if plain.text == "ScalarType" and default != "None":
        return default in DTYPES or default.isdigit()
    if plain.text in ("int", "float", "bool") and is_default(SCALAR, default):
        return True
    if isinstance(plain, ListType) and is_held_list(plain):
        return default == "None" or is_default(plain, default)
    return is_default(type, default) and has_cpp_form(type, default)


@cache
def _returns_without_form(returns: tuple[Return, ...], is_strict: bool) -> list[int]:
    """The indices of the returns whose type cannot be returned in C++."""
    return [index for index, result in enumerate(returns) if not is_return_type(result.type, is_strict=is_strict)]


#: Type -> the words that have a form in C++.
_WORDS: Final = {row.name: row.words for row in BASE_TYPE_ROWS}


def has_cpp_form(type: Type, default: str) -> bool:
    """Whether the default of a type can be written in C++. Few words can, and none inside a list.

    >>> from opwright.schema import parse_type
    >>> has_cpp_form(parse_type("ScalarType"), "long"), has_cpp_form(parse_type("ScalarType"), "float")
    (True, False)
    >>> has_cpp_form(parse_type("int[2]"), "[0,1]"), has_cpp_form(parse_type("bool[2]"), "[True,False]")
    (True, False)
    """
    if isinstance(type, OptionalType):
        return default == "None" or has_cpp_form(type.elem, default)
    if isinstance(type, ListType):
        if default[:1] not in ("[", "{"):
            return type.elem.text != "bool" and has_cpp_form(type.elem, default)
        items = [item.strip() for item in default[1:-1].split(",") if item.strip()]
        return all(not item[0].isalpha() and item[0] != "'" and has_cpp_form(type.elem, item) for item in items)
    if default[:1] in ("'", '"'):
        return type.text == "str"
    is_word = default[:1].isalpha() or default[:1] == "_" or default in ("-inf", "-nan")
    # A qualified name is C++ already.
    return not is_word or default in _WORDS.get(type.text, ()) or "::" in default


def _has_form(type: Type, is_strict: bool) -> bool:
    return has_cpp_type(type) and not (is_strict and _has_unsized_booleans(type))


def _has_unsized_booleans(type: Type) -> bool:
    """Whether a list of booleans without a size is in the type, which PyTorch's own files do not have."""
    if isinstance(type, ListType) and type.elem.text == "bool":
        return type.size is None
    return isinstance(type, ListType | OptionalType) and _has_unsized_booleans(type.elem)


def _is_convertible(type: Type) -> bool:
    """Whether plain integers convert to the symbolic ones of a type: those of an optional list at most."""
    required = type.elem if isinstance(type, OptionalType) else type
    return (required.elem if isinstance(required, ListType) else required) is SYMINT


def _is_returnable(type: Type) -> bool:
    """Whether a type with a form can be returned: C++ returns no optional of a type that is passed by reference."""
    match type:
        case OptionalType():
            return type.elem.text == "Tensor" or _is_value(type.elem)
        case ListType():
            return (type.size is None and _is_returnable(type.elem)) or _is_value(type)
    return True


def _is_value(type: Type) -> bool:
    """Whether a type is passed and returned by value."""
    match type:
        case BaseType():
            return type.name not in ("Tensor", "Scalar")
        case DispatcherType():
            return True
        case OptionalType():
            return _is_value(type.elem)
        case ListType():
            return type.elem.text == "bool"
    return False
