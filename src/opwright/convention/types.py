"""The C++ types that all conventions share, worked out once per schema type.

Every table here is keyed by interned values, so that the 14,000 arguments of PyTorch's operators cost as much as
the 50 types that occur in them.
"""

from __future__ import annotations

from typing import Final

from opwright.cpp import types as cpp
from opwright.cpp.types import CType
from opwright.model.native_function import TypeStyle
from opwright.schema.function import Return
from opwright.schema.types import BaseType, ClassType, ListType, OptionalType, Type


class NoCppType(Exception):
    """A schema type that has no form in C++; loading reports such types, so that emitters never meet one."""


_VALUES: Final[dict[tuple[Type, bool], CType | None]] = {}


def value_type(type: Type, *, symint: bool) -> CType | None:
    """The C++ type of a value that is passed alike whatever is done with it; None for tensors and such.

    With `symint` symbolic integers keep their type, else they become `int64_t`.
    """
    key = (type, symint)
    if key in _VALUES:
        return _VALUES[key]
    ctype = _VALUES[key] = _value_type(type, symint)
    return ctype


def _value_type(type: Type, symint: bool) -> CType | None:
    if isinstance(type, BaseType):
        if type.name in ("Tensor", "Scalar"):
            return None
        if type.name == "SymInt":
            return cpp.SYMINT if symint else cpp.LONG
        if type.name not in cpp.BASE_TYPES:
            raise NoCppType(type.text)
        return cpp.BASE_TYPES[type.name]
    if isinstance(type, OptionalType):
        inner = value_type(type.elem, symint=symint)
        return None if inner is None else cpp.optional(inner)
    if isinstance(type, ListType):
        if type.elem.text == "bool":
            if type.size is None:
                raise NoCppType(type.text)
            return cpp.array(cpp.BOOL, type.size)
        return None
    if isinstance(type, ClassType):
        raise NoCppType(type.text)
    raise AssertionError(type)


def integer_list(type: ListType, *, symint: bool, owning: bool = False) -> CType | None:
    """The C++ type of a list of integers; None for other lists."""
    name = type.elem.text
    if name not in ("int", "SymInt"):
        return None
    if name == "SymInt" and symint:
        return cpp.vector(cpp.SYMINT) if owning else cpp.SYMINT_ARRAY_REF
    return cpp.vector(cpp.LONG) if owning else cpp.INT_ARRAY_REF


def argument_type(type: Type, *, mutable: bool, symint: bool, style: TypeStyle, owning: bool = False) -> CType:
    """The C++ type of an argument in the public API, the dispatcher and autograd.

    With `owning` a list of integers is a vector, not a reference to memory of the caller.
    """
    key = (type, mutable, symint, int(style), owning)
    ctype = _ARGUMENTS.get(key)
    if ctype is None:
        ctype = _ARGUMENTS[key] = _argument_type(type, mutable, symint, style, owning)
    return ctype


_ARGUMENTS: Final[dict[tuple[Type, bool, bool, int, bool], CType]] = {}


def _argument_type(type: Type, mutable: bool, symint: bool, style: TypeStyle, owning: bool) -> CType:
    value = value_type(type, symint=symint)
    if value is not None:
        return value
    writable = mutable and not style & TypeStyle.CONST_REF_MUTABLES
    if isinstance(type, BaseType):
        held = cpp.TENSOR if type.name == "Tensor" else cpp.SCALAR
        return cpp.mut_ref(held) if writable and held is cpp.TENSOR else cpp.const_ref(held)
    if isinstance(type, OptionalType):
        return _optional_argument(type, mutable, writable, symint, style, owning)
    if not isinstance(type, ListType):
        raise AssertionError(type)
    return _list_argument(type, mutable, symint, style, owning)


def _optional_argument(
    type: OptionalType, mutable: bool, writable: bool, symint: bool, style: TypeStyle, owning: bool
) -> CType:
    elem = type.elem
    if elem.text == "Tensor":
        return cpp.mut_ref(cpp.TENSOR) if writable else cpp.const_ref(cpp.optional(cpp.TENSOR))
    if elem.text == "Scalar":
        return cpp.const_ref(cpp.optional(cpp.SCALAR))
    if isinstance(elem, ListType):
        if elem.elem.text == "int":
            return cpp.OPTIONAL_INT_ARRAY_REF
        if elem.elem.text == "SymInt":
            return cpp.OPTIONAL_SYMINT_ARRAY_REF if symint else cpp.OPTIONAL_INT_ARRAY_REF
    return cpp.optional(argument_type(elem, mutable=mutable, symint=symint, style=style, owning=owning))


def _list_argument(type: ListType, mutable: bool, symint: bool, style: TypeStyle, owning: bool) -> CType:
    integers = integer_list(type, symint=symint, owning=owning)
    if integers is not None:
        return integers
    match type.elem.text:
        case "Tensor":
            return cpp.const_ref(cpp.ITENSOR_LIST_REF) if style & TypeStyle.ILIST_REF else cpp.TENSOR_LIST
        case "Scalar":
            return cpp.array_ref(cpp.SCALAR)
        case "Dimname":
            return cpp.DIMNAME_LIST
        case "Tensor?":
            return cpp.const_ref(cpp.c10_list(cpp.optional(cpp.TENSOR)))
    return cpp.array_ref(argument_type(type.elem, mutable=mutable, symint=symint, style=style))


#: The only part of a style that return types depend on.
_CONST_REF_MUTABLES: Final = int(TypeStyle.CONST_REF_MUTABLES)

_RETURN: Final[dict[tuple[Type, bool, int], CType]] = {}


def return_type(result: Return, style: TypeStyle) -> CType:
    """The C++ type of one return; tensors are returned by value unless they are written arguments."""
    return _return_type(result.type, result.is_write, style)


def _return_type(type: Type, mutable: bool, style: TypeStyle) -> CType:
    key = (type, mutable, int(style) & _CONST_REF_MUTABLES)
    ctype = _RETURN.get(key)
    if ctype is None:
        ctype = _RETURN[key] = _fresh_return_type(type, mutable, style)
    return ctype


def _fresh_return_type(type: Type, mutable: bool, style: TypeStyle) -> CType:
    value = value_type(type, symint=True)
    if value is not None:
        return value
    if isinstance(type, BaseType):
        if type.name == "Scalar":
            return cpp.SCALAR
        if not mutable:
            return cpp.TENSOR
        return cpp.const_ref(cpp.TENSOR) if style & TypeStyle.CONST_REF_MUTABLES else cpp.mut_ref(cpp.TENSOR)
    if isinstance(type, OptionalType) and type.elem.text == "Tensor":
        return cpp.optional(_return_type(type.elem, mutable, style))
    if isinstance(type, ListType) and (type.size is None or type.elem.text == "bool"):
        return cpp.vector(_return_type(type.elem, mutable, style))
    raise NoCppType(type.text)


_RETURNS: Final[dict[tuple[tuple[Return, ...], int], CType]] = {}


def returns_type(returns: tuple[Return, ...], style: TypeStyle = TypeStyle.PLAIN) -> CType:
    """The C++ type of all returns: `void`, the single type, or a tuple."""
    key = (returns, int(style) & _CONST_REF_MUTABLES)
    ctype = _RETURNS.get(key)
    if ctype is None:
        if not returns:
            ctype = cpp.VOID
        elif len(returns) == 1:
            ctype = return_type(returns[0], style)
        else:
            ctype = cpp.tuple_of(tuple(return_type(result, style) for result in returns))
        _RETURNS[key] = ctype
    return ctype
