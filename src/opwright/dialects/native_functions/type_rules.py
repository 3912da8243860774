"""Which types the arguments and returns of an entry may have: those with a form in C++."""

from __future__ import annotations

from typing import Final

from opwright.dialects.native_functions import codes
from opwright.dialects.native_functions.entry_builder import EntryBuilder, argument_span, item_span, return_span
from opwright.schema.function import Arguments, FunctionSchema, Return
from opwright.schema.types import SYMINT, BaseType, ClassType, ListType, OptionalType, Type

_ARGUMENTS: Final[dict[Type, bool]] = {}
_RETURNS: Final[dict[Type, bool]] = {}

#: Lists of arguments that all have a form in C++.
_SOUND: Final[set[Arguments]] = set()

#: Returns that all can be returned in C++.
_SOUND_RETURNS: Final[set[tuple[Return, ...]]] = set()


def is_argument_type(type: Type) -> bool:
    """Whether an argument of that type has a form in C++.

    >>> from opwright.schema import parse_type
    >>> is_argument_type(parse_type("bool[3]")), is_argument_type(parse_type("bool[]"))
    (True, False)
    """
    is_allowed = _ARGUMENTS.get(type)
    if is_allowed is None:
        is_allowed = _ARGUMENTS[type] = _has_form(type) and (not type.is_symint_like or _is_turned(type))
    return is_allowed


def is_return_type(type: Type) -> bool:
    """Whether a return of that type has a form in C++.

    >>> from opwright.schema import parse_type
    >>> is_return_type(parse_type("Tensor[]")), is_return_type(parse_type("Tensor[2]"))
    (True, False)
    """
    is_allowed = _RETURNS.get(type)
    if is_allowed is None:
        is_allowed = _RETURNS[type] = _has_form(type) and _is_returned(type)
    return is_allowed


def check_types(builder: EntryBuilder, schema: FunctionSchema) -> None:
    """Reports each argument and return that C++ has no type for, and methods that cannot be called on a tensor."""
    if schema.arguments not in _SOUND:
        _check_arguments(builder, schema.arguments)
    if schema.returns not in _SOUND_RETURNS:
        _check_returns(builder, schema.returns)
    own = schema.arguments.self_arg
    if builder.method and (own is None or own.type.text != "Tensor"):
        reason = "it has no argument `self`" if own is None else f"its `self` is a `{own.type}`"
        message = f"`{schema.name}` cannot be a method: {reason}"
        at = item_span(builder.node, "variants", "method")
        builder.fault(codes.METHOD_SELF, message, at, help="write `variants: function`")


def _check_arguments(builder: EntryBuilder, arguments: Arguments) -> None:
    """Reports each argument that C++ has no type for; lists without such are looked at once for all overloads."""
    wrong = [argument for argument in arguments.all if not is_argument_type(argument.type)]
    for argument in wrong:
        message = f"`{argument.type}` of argument `{argument.name}` has no form in C++"
        builder.fault(codes.ARGUMENT_TYPE, message, argument_span(builder.node, argument.text))
    odd = [
        argument
        for argument in arguments.all
        if argument.default is not None and not has_cpp_form(argument.type, argument.default)
    ]
    for argument in odd:
        default = f"default `{argument.default}` of argument `{argument.name}`"
        message = f"the {default} has no form in C++ for type `{argument.type}`"
        builder.fault(codes.DEFAULT_FORM, message, argument_span(builder.node, argument.text))
    if not wrong and not odd:
        _SOUND.add(arguments)


def _check_returns(builder: EntryBuilder, returns: tuple[Return, ...]) -> None:
    """The same for returns."""
    wrong = [index for index, result in enumerate(returns) if not is_return_type(result.type)]
    for index in wrong:
        at = return_span(builder.node, [result.text for result in returns], index)
        builder.fault(codes.RETURN_TYPE, f"`{returns[index].type}` cannot be returned in C++", at)
    if not wrong:
        _SOUND_RETURNS.add(returns)


#: The words that have a form in C++, by type.
_WORDS: Final = {
    "bool": ("True", "False"),
    "SymBool": ("True", "False"),
    "Scalar": ("True", "False"),
    "int": ("Mean",),
    "ScalarType": ("long",),
    "MemoryFormat": ("contiguous_format",),
}


def has_cpp_form(type: Type, default: str) -> bool:
    """Whether a default of a type can be written in C++: of words only few, and none inside a list.

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
    # A qualified name is one of C++.
    return not is_word or default in _WORDS.get(type.text, ()) or "::" in default


def _has_form(type: Type) -> bool:
    match type:
        case BaseType():
            return type.name != "GraphModule"
        case ClassType():
            return False
        case OptionalType():
            return _has_form(type.elem)
        case ListType():
            return _has_form(type.elem) and (type.elem.text != "bool" or type.size is not None)
    raise AssertionError(type)


def _is_turned(type: Type) -> bool:
    """Whether symbolic integers stand where plain ones can be turned into them: at most as an optional list."""
    held = type.elem if isinstance(type, OptionalType) else type
    return (held.elem if isinstance(held, ListType) else held) is SYMINT


def _is_returned(type: Type) -> bool:
    """Whether a type with a form can be returned: what is passed by reference has no optional form by value."""
    match type:
        case OptionalType():
            return type.elem.text == "Tensor" or _is_value(type.elem)
        case ListType():
            return (type.size is None and _is_returned(type.elem)) or _is_value(type)
    return True


def _is_value(type: Type) -> bool:
    """Whether a type is passed and returned by value."""
    match type:
        case BaseType():
            return type.name not in ("Tensor", "Scalar")
        case OptionalType():
            return _is_value(type.elem)
        case ListType():
            return type.elem.text == "bool"
    return False
