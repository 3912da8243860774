"""C++ types of schema types, as far as conventions agree on them.

The caches are keyed by interned types: PyTorch's operators have 12,000 arguments, but only 50 argument types.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from opwright.cpp import c_types
from opwright.cpp.c_types import CType
from opwright.model.native_function import TypeStyle
from opwright.schema.base_types import BASE_TYPE_ROWS, forms_of
from opwright.schema.function import Return
from opwright.schema.types import BaseType, ClassType, DispatcherType, ListType, OptionalType, Type


class NoCppType(Exception):
    """A schema type has no C++ type. Loading reports such types, so emitters never see them."""


@cache
def value_type(type: Type, *, symint: bool) -> CType | None:
    """The C++ type of a value that all conventions pass by value; None for tensors, scalars and most lists.

    With `symint`, symbolic integers keep their type; otherwise they become `int64_t`.
    """
    if isinstance(type, BaseType):
        if type.name in ("Tensor", "Scalar"):
            return None
        if type.name == "SymInt":
            return c_types.SYMINT if symint else c_types.LONG
        if type.name not in c_types.BASE_TYPES:
            raise NoCppType(type.text)
        return c_types.BASE_TYPES[type.name]
    if isinstance(type, OptionalType):
        inner = value_type(type.elem, symint=symint)
        return None if inner is None else c_types.optional(inner)
    if isinstance(type, ListType):
        if is_held_list(type):
            return held_type(type)
        return c_types.array(c_types.BOOL, type.size) if type.elem.text == "bool" and type.size is not None else None
    if isinstance(type, DispatcherType):
        return held_type(type)
    if isinstance(type, ClassType):
        raise NoCppType(type.text)
    raise AssertionError(type)


def is_held_list(type: ListType) -> bool:
    """Whether a list is passed as a `c10::List`: nothing else refers to its items in memory."""
    elem = type.elem
    if elem.innermost.text in _NOT_HELD:
        return False
    if isinstance(elem, OptionalType):
        return not isinstance(elem.elem, BaseType)
    return (elem.text == "bool" and type.size is None) or isinstance(elem, ListType | DispatcherType)


@cache
def held_type(type: Type) -> CType:
    """The C++ type of a value inside a list, a dictionary or a tuple of the dispatcher, which owns it.

    >>> from opwright.syntax.dispatcher_schemas import read_written_schema
    >>> schema = read_written_schema("f(Dict(str, Tensor[]) x) -> ()")
    >>> held_type(schema.arguments.all[0].type).text
    'c10::Dict<::std::string, c10::List<at::Tensor>>'
    """
    match type:
        case OptionalType(elem=elem):
            return c_types.optional(held_type(elem))
        case ListType(elem=elem):
            return c_types.c10_list(held_type(elem))
        case DispatcherType(name="Dict", items=(key, value)):
            return c_types.dict_of(held_type(key), held_type(value))
        case DispatcherType(name="", items=items):
            return c_types.tuple_of(tuple([held_type(item) for item in items]))
        case _ if type.text in _HELD_TYPES:
            return _HELD_TYPES[type.text]
    raise NoCppType(type.text)


#: Types of PyTorch's files of which the dispatcher holds no values.
_NOT_HELD: Final = frozenset([row.name for row in BASE_TYPE_ROWS if not row.is_held])

#: The types of values that the dispatcher holds, by the type of the schema language.
_HELD_TYPES: Final = forms_of(
    lambda row: c_types.base(row.held or row.cpp) if row.is_held and (row.held or row.cpp) else None
)


def integer_list(type: ListType, *, symint: bool, owning: bool = False) -> CType | None:
    """The C++ type of a list of integers; None for other lists."""
    name = type.elem.text
    if name not in ("int", "SymInt"):
        return None
    if name == "SymInt" and symint:
        return c_types.vector(c_types.SYMINT) if owning else c_types.SYMINT_ARRAY_REF
    return c_types.vector(c_types.LONG) if owning else c_types.INT_ARRAY_REF


@cache
def argument_type(type: Type, *, mutable: bool, symint: bool, style: TypeStyle, owning: bool = False) -> CType:
    """The C++ type of an argument in the public API, the dispatcher and autograd.

    With `owning`, a list of integers is a vector, not a reference to the caller's memory.
    """
    value = value_type(type, symint=symint)
    if value is not None:
        return value
    if isinstance(type, BaseType):
        held = c_types.TENSOR if type.name == "Tensor" else c_types.SCALAR
        is_written = held is c_types.TENSOR and _is_mutable_reference(mutable, style)
        return c_types.mut_ref(held) if is_written else c_types.const_ref(held)
    if isinstance(type, OptionalType):
        return _optional_argument(type, mutable, symint, style, owning)
    if not isinstance(type, ListType):
        raise AssertionError(type)
    return _list_argument(type, mutable, symint, style, owning)


@cache
def has_cpp_type(type: Type) -> bool:
    """Whether an argument of that type has a C++ type.

    >>> from opwright.schema import parse_type
    >>> has_cpp_type(parse_type("Tensor?[]")), has_cpp_type(parse_type("GraphModule"))
    (True, False)
    """
    try:
        argument_type(type, mutable=False, symint=True, style=TypeStyle.PLAIN)
    except NoCppType:
        return False
    return True


def _is_mutable_reference(mutable: bool, style: TypeStyle) -> bool:
    return mutable and not style & TypeStyle.CONST_REF_MUTABLES


def _optional_argument(type: OptionalType, mutable: bool, symint: bool, style: TypeStyle, owning: bool) -> CType:
    elem = type.elem
    if elem.text == "Tensor":
        is_written = _is_mutable_reference(mutable, style) and not style & TypeStyle.OPTIONAL_WRITES
        return c_types.mut_ref(c_types.TENSOR) if is_written else c_types.const_ref(c_types.optional(c_types.TENSOR))
    if elem.text == "Scalar":
        return c_types.const_ref(c_types.optional(c_types.SCALAR))
    if isinstance(elem, ListType):
        if elem.elem.text == "int":
            return c_types.OPTIONAL_INT_ARRAY_REF
        if elem.elem.text == "SymInt":
            return c_types.OPTIONAL_SYMINT_ARRAY_REF if symint else c_types.OPTIONAL_INT_ARRAY_REF
    return c_types.optional(argument_type(elem, mutable=mutable, symint=symint, style=style, owning=owning))


def _list_argument(type: ListType, mutable: bool, symint: bool, style: TypeStyle, owning: bool) -> CType:
    integers = integer_list(type, symint=symint, owning=owning)
    if integers is not None:
        return integers
    if type.elem.text in ("SymInt?", "Scalar?") and style & TypeStyle.HELD_LISTS:
        return held_type(type)
    match type.elem.text:
        case "Tensor":
            return c_types.const_ref(c_types.ITENSOR_LIST_REF) if style & TypeStyle.ILIST_REF else c_types.TENSOR_LIST
        case "Scalar":
            return c_types.array_ref(c_types.SCALAR)
        case "Dimname":
            return c_types.DIMNAME_LIST
        case "Tensor?":
            return c_types.const_ref(c_types.c10_list(c_types.optional(c_types.TENSOR)))
    return c_types.array_ref(argument_type(type.elem, mutable=mutable, symint=symint, style=style))


def return_type(result: Return, style: TypeStyle) -> CType:
    """The C++ type of one return. Tensors are returned by value, unless they are written arguments."""
    return _return_type(result.type, result.is_write and not style & TypeStyle.OPTIONAL_WRITES, style)


@cache
def _return_type(type: Type, mutable: bool, style: TypeStyle) -> CType:
    value = value_type(type, symint=True)
    if value is not None:
        return value
    if isinstance(type, BaseType):
        if type.name == "Scalar":
            return c_types.SCALAR
        if not mutable:
            return c_types.TENSOR
        return (
            c_types.const_ref(c_types.TENSOR)
            if style & TypeStyle.CONST_REF_MUTABLES
            else c_types.mut_ref(c_types.TENSOR)
        )
    if isinstance(type, OptionalType) and type.elem.text == "Tensor":
        return c_types.optional(_return_type(type.elem, mutable, style))
    if isinstance(type, ListType) and (type.size is None or type.elem.text == "bool"):
        return c_types.vector(_return_type(type.elem, mutable, style))
    raise NoCppType(type.text)


@cache
def returns_type(returns: tuple[Return, ...], style: TypeStyle = TypeStyle.PLAIN) -> CType:
    """The C++ type of all returns: `void`, the single type, or a tuple."""
    if not returns:
        return c_types.VOID
    types = [return_type(result, style) for result in returns]
    return types[0] if len(types) == 1 else c_types.tuple_of(tuple(types))
