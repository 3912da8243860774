"""Parameters of Python signatures, made once per argument, and their types for PyTorch's Python argument parser."""

from __future__ import annotations

from functools import cache
from typing import Final

from opwright.convention.defaults import default_expression
from opwright.schema.base_types import forms_of
from opwright.schema.function import Argument, TensorOptions
from opwright.schema.types import BOOL, TENSOR, BaseType, ListType, OptionalType, Type, base, list_of, optional


class NoPythonType(Exception):
    """A type has no form in Python bindings; the message names it."""


#: Base type -> its forms, if it has any.
_FORMS: Final = forms_of(lambda row: row.python)


@cache
def type_name(type: Type, *, sized: bool = True) -> str:
    """Name of a type in the parser's language. Raises NoPythonType if it has none.

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
        element_reader = _OPTIONAL_READERS.get(type.elem.text)
        if element_reader is not None and not has_default:
            return element_reader
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


#: C++ defaults that are None in Python.
_NONE: Final = frozenset(("::std::nullopt", "{}"))


class Parameter:
    """A parameter of a Python function.

    `default` is the default's text, or None. `text` is the parameter of a function in the language of the argument
    parser, and `method_text` that of a method, where no tensor is renamed to `input`. `outs` are the out arguments that
    the parameter stands for; empty for other parameters.
    """

    __slots__ = ("_ending", "_reader", "default", "initial", "method_text", "name", "outs", "text", "type")

    def __init__(
        self, name: str, type: Type, default: str | None, *, initial: str | None = None, outs: tuple[Argument, ...] = ()
    ) -> None:
        self.name: Final = name
        self.type: Final = type
        self.default: Final = default
        self.initial: Final = initial
        self.outs: Final = outs
        spelled = type_name(type)
        ending = "" if default is None else f"={'None' if default in _NONE else default}"
        self.method_text: Final = f"{spelled} {name}{ending}"
        self.text: Final = f"{spelled} input{ending}" if name == "self" and spelled == "Tensor" else self.method_text
        self._reader: str | None = None
        self._ending: Final = "" if initial is None else f", {initial}"

    def __repr__(self) -> str:
        return f"<parameter {self.text}{self._ending}>"

    @property
    def reader(self) -> str:
        """The parser's method that reads the value. Raises NoPythonType if it cannot read values of the type."""
        if self._reader is None:
            absent = self.default in (None, "None", "::std::nullopt")
            self._reader = reader(self.type, absent=absent, has_default=self.initial is not None)
        return self._reader

    def read(self, index: int) -> str:
        """The C++ expression of the parsed value of the parameter at `index`."""
        return f"_r.{self.reader}({index}{self._ending})"


def python_default(text: str, type: Type) -> str:
    """A schema's default in the language of the argument parser: C++, except for booleans and numbers.

    >>> from opwright.schema import parse_type
    >>> python_default("False", parse_type("bool")), python_default("1e-5", parse_type("float"))
    ('False', '1e-05')
    """
    expression = default_expression(text, type, symint=False)
    if expression in ("true", "false"):
        return expression.capitalize()
    for number in (int, float):
        try:
            return str(number(expression))
        except ValueError:
            continue
    return expression


@cache
def parameter(argument: Argument) -> Parameter:
    """Parameter for an argument."""
    default = None if argument.default is None else python_default(argument.default, argument.type)
    return Parameter(argument.name, argument.type, default)


@cache
def out_parameter(outs: tuple[Argument, ...]) -> Parameter:
    """Parameter for out arguments: a tensor or a list of tensors, and always optional."""
    if len(outs) == 1:
        return Parameter(outs[0].name, outs[0].type, "None", outs=outs)
    return Parameter("out", list_of(TENSOR, len(outs)), "None", outs=outs)


_OPTIONAL_BOOL: Final = optional(BOOL)
_DTYPE: Final = optional(base("ScalarType"))
_LAYOUT: Final = optional(base("Layout"))
_DEVICE: Final = optional(base("Device"))


def _option(name: str, type: Type, initial: str | None = None) -> Parameter:
    return Parameter(name, type, "False" if type is _OPTIONAL_BOOL else "None", initial=initial)


_PIN_MEMORY: Final = _option("pin_memory", _OPTIONAL_BOOL)
_REQUIRES_GRAD: Final = _option("requires_grad", _OPTIONAL_BOOL)

#: The options of operators that take missing options from a tensor argument.
OPTIONS_OF_INPUT: Final = (
    _option("dtype", _DTYPE), _option("layout", _LAYOUT), _option("device", _DEVICE), _PIN_MEMORY, _REQUIRES_GRAD,
)  # fmt: skip


def factory_options(options: TensorOptions | None) -> tuple[Parameter, ...]:
    """Options of a factory. Missing options have the schema's default; a missing device is the current one."""
    if options is None:
        return _factory_options(None, None, None)
    return _factory_options(_initial(options.dtype), _initial(options.layout), _initial(options.device))


@cache
def _factory_options(dtype: str | None, layout: str | None, device: str | None) -> tuple[Parameter, ...]:
    return (
        _option("dtype", _DTYPE, dtype),
        _option("layout", _LAYOUT, layout),
        _option("device", _DEVICE, device or "torch::tensors::get_default_device()"),
        _PIN_MEMORY,
        _REQUIRES_GRAD,
    )


def _initial(argument: Argument) -> str | None:
    if argument.default is None or argument.default == "None":
        return None
    return default_expression(argument.default, argument.type, symint=False)
