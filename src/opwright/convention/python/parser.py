"""Types in the language of PyTorch's Python argument parser, and the parser's methods that read values of them."""

from __future__ import annotations

from functools import cache
from typing import Final

from opwright.schema.types import BaseType, ListType, OptionalType, Type


class NoPythonType(Exception):
    """A type that Python bindings have no form of; the message names it."""


#: Base types whose name in the parser's language is not their own.
_RENAMED: Final = {"int": "int64_t", "float": "double", "str": "c10::string_view"}

#: Base types that are named alike in both languages.
_SAME: Final = frozenset(
    (
        "Tensor", "bool", "QScheme", "Scalar", "ScalarType", "Generator", "Storage", "Layout", "Device", "DeviceIndex",
        "MemoryFormat", "Stream", "SymInt", "Dimname",
    )
)  # fmt: skip

#: Types of list items, and the name of a list of them.
_LISTS: Final = {
    "int": "IntArrayRef",
    "SymInt": "SymIntArrayRef",
    "Tensor": "TensorList",
    "Scalar": "ScalarList",
    "Dimname": "DimnameList",
}


@cache
def type_name(type: Type, *, sized: bool = True) -> str:
    """The name of a type in the parser's language; NoPythonType where it has none.

    `sized` keeps the wished length of lists.

    >>> from opwright.schema import parse_type
    >>> type_name(parse_type("int[2]?")), type_name(parse_type("int[2]?"), sized=False)
    ('IntArrayRef[2]?', 'IntArrayRef?')
    """
    if isinstance(type, OptionalType):
        return f"{type_name(type.elem, sized=sized)}?"
    if isinstance(type, BaseType) and (type.name in _RENAMED or type.name in _SAME):
        return _RENAMED.get(type.name, type.name)
    if not isinstance(type, ListType):
        raise NoPythonType(type.text)
    items = type.elem.text
    if items == "bool" and type.size is not None:
        return f"::std::array<bool,{type.size}>"
    if items == "Tensor?":
        return "c10::List<::std::optional<Tensor>>"
    if items not in _LISTS:
        return f"ArrayRef<{type_name(type.elem, sized=sized)}>"
    return f"{_LISTS[items]}[{type.size}]" if sized and type.size is not None else _LISTS[items]


#: Base types and the method that reads a value of them.
_READERS: Final = {
    "Tensor": "tensor",
    "Stream": "stream",
    "Storage": "storage",
    "Scalar": "scalar",
    "Dimname": "dimname",
    "ScalarType": "scalartype",
    "Device": "device",
    "DeviceIndex": "toInt64",
    "int": "toInt64",
    "SymInt": "toSymInt",
    "bool": "toBool",
    "float": "toDouble",
    "str": "stringView",
    "Layout": "layout",
    "MemoryFormat": "memoryformat",
}

#: Those whose method can be given a default that only C++ knows.
_WITH_DEFAULT: Final = frozenset(("ScalarType", "Device", "bool", "Layout"))

#: Types of list items and the method that reads a list of them; a list of tensors may have a fixed length.
_LIST_READERS: Final = {
    "Tensor": "tensorlist",
    "Tensor?": "list_of_optional_tensors",
    "int": "intlist",
    "float": "doublelist",
    "SymInt": "symintlist",
    "Scalar": "scalarlist",
    "Dimname": "dimnamelist",
}

#: Optional types with a method of their own.
_OPTIONAL_READERS: Final = {
    "Tensor": "optionalTensor",
    "Generator": "generator",
    "Dimname[]": "toDimnameListOptional",
}


def reader(type: Type, *, absent: bool, has_default: bool) -> str:
    """The parser's method that reads a value of a type; NoPythonType where it has none.

    `absent` tells that a value may be missing (None is the default, or there is no default); `has_default` that the
    method is given a default.

    >>> from opwright.schema import parse_type
    >>> reader(parse_type("int?"), absent=True, has_default=False)
    'toInt64Optional'
    """
    if isinstance(type, OptionalType):
        own = _OPTIONAL_READERS.get(type.elem.text)
        if own is not None:
            return own
        inner = reader(type.elem, absent=False, has_default=has_default)
        return f"{inner}Optional" if absent and not has_default else inner
    if has_default and type.text not in _WITH_DEFAULT:
        raise NoPythonType(type.text)
    if isinstance(type, ListType) and type.elem.text in _LIST_READERS:
        name = _LIST_READERS[type.elem.text]
        return f"{name}_n<{type.size}>" if type.elem.text == "Tensor" and type.size is not None else name
    if type.text not in _READERS:
        raise NoPythonType(type.text)
    return f"{_READERS[type.text]}WithDefault" if has_default else _READERS[type.text]
