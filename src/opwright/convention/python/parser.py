"""Types in the language of PyTorch's Python argument parser, and the parser's methods that read their values."""

from __future__ import annotations

from functools import cache
from typing import Final

from opwright.schema.types import BaseType, ListType, OptionalType, Type


class NoPythonType(Exception):
    """A type has no form in Python bindings; the message names it."""


#: Base types with another name in the parser's language.
_RENAMED: Final = {"int": "int64_t", "float": "double", "str": "c10::string_view"}

#: Base types with the same name in both languages.
_SAME: Final = frozenset(
    (
        "Tensor", "bool", "QScheme", "Scalar", "ScalarType", "Generator", "Storage", "Layout", "Device", "DeviceIndex",
        "MemoryFormat", "Stream", "SymInt", "Dimname",
    )
)  # fmt: skip

#: Item type -> the name of the list.
_LISTS: Final = {
    "int": "IntArrayRef",
    "SymInt": "SymIntArrayRef",
    "Tensor": "TensorList",
    "Scalar": "ScalarList",
    "Dimname": "DimnameList",
}


@cache
def type_name(type: Type, *, sized: bool = True) -> str:
    """The name of a type in the parser's language. Raises NoPythonType if it has none.

    With `sized`, lists keep their length.

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


#: Base type -> the method that reads a value.
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

#: Types whose method takes a C++ expression as default.
_WITH_DEFAULT: Final = frozenset(("ScalarType", "Device", "bool", "Layout"))

#: Item type -> the method that reads a list.
_LIST_READERS: Final = {
    "Tensor": "tensorlist",
    "Tensor?": "list_of_optional_tensors",
    "int": "intlist",
    "float": "doublelist",
    "SymInt": "symintlist",
    "Scalar": "scalarlist",
    "Dimname": "dimnamelist",
}

#: Optional type -> its own method.
_OPTIONAL_READERS: Final = {
    "Tensor": "optionalTensor",
    "Generator": "generator",
    "Dimname[]": "toDimnameListOptional",
}


def reader(type: Type, *, absent: bool, has_default: bool) -> str:
    """The parser's method that reads a value of a type. Raises NoPythonType if there is none.

    `absent` says that the value may be missing (the default is None, or there is no default), `has_default` that the
    method takes a default.

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
