"""Types in the language of PyTorch's Python argument parser, and the parser's methods that read their values."""

from __future__ import annotations

from functools import cache
from typing import Final

from opwright.schema.base_types import BASE_TYPE_ROWS
from opwright.schema.types import BaseType, ListType, OptionalType, Type


class NoPythonType(Exception):
    """A type has no form in Python bindings; the message names it."""


#: Base type -> its forms, if it has any.
_FORMS: Final = {row.name: row.python for row in BASE_TYPE_ROWS if row.python is not None}


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
    if isinstance(type, BaseType) and type.name in _FORMS:
        return _FORMS[type.name].name
    if not isinstance(type, ListType):
        raise NoPythonType(type.text)
    items = type.elem.text
    if items == "bool" and type.size is not None:
        return f"::std::array<bool,{type.size}>"
    if items == "Tensor?":
        return "c10::List<::std::optional<Tensor>>"
    name = _FORMS[items].list if items in _FORMS else ""
    if not name:
        return f"ArrayRef<{type_name(type.elem, sized=sized)}>"
    return f"{name}[{type.size}]" if sized and type.size is not None else name


#: Item type -> the method that reads a list.
_LIST_READERS: Final = {
    "Tensor?": "list_of_optional_tensors",
    **{name: form.list_reader for name, form in _FORMS.items() if form.list_reader},
}

#: Optional type -> its own method.
_OPTIONAL_READERS: Final = {
    "Dimname[]": "toDimnameListOptional",
    **{name: form.optional_reader for name, form in _FORMS.items() if form.optional_reader},
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
    form = _FORMS.get(type.text)
    if has_default and (form is None or not form.takes_default):
        raise NoPythonType(type.text)
    if isinstance(type, ListType) and type.elem.text in _LIST_READERS:
        name = _LIST_READERS[type.elem.text]
        return f"{name}_n<{type.size}>" if type.elem.text == "Tensor" and type.size is not None else name
    if form is None or not form.reader:
        raise NoPythonType(type.text)
    return f"{form.reader}WithDefault" if has_default else form.reader
