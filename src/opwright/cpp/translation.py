"""Translation: expressions for the C++ values that a call wants, made from the values in scope.

A wanted value is found by its role and type: a value in scope of that type, an implicit C++ conversion of it, or one
conversion of the tables below. Which conversions exist, their order and their text are PyTorch's. Inputs are interned
values, so results are cached.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

from opwright.cpp import c_types
from opwright.cpp.binding import POSSIBLY_REDUNDANT_MEMORY_FORMAT, Binding, Expression, WantedBinding
from opwright.cpp.c_types import CType
from opwright.source.records import NamedTuple

AvailableValue = Binding | Expression
AvailableExpressions = dict[tuple[str, CType], str]


class Untranslatable(Exception):
    """No conversion makes a wanted value from the values in scope. This is a bug of the caller."""


class TypeConversion(NamedTuple):
    """A conversion besides those of PyTorch: an expression of a wanted type from a value `{0}` of another type.

    >>> TypeConversion(c_types.base("acme::Tensor"), c_types.TENSOR, "acme::from_torch({0})").form
    'acme::from_torch({0})'
    """

    wanted: CType
    given: CType
    form: str


_CONST_TENSOR: Final = c_types.const_ref(c_types.TENSOR)
_MUT_TENSOR: Final = c_types.mut_ref(c_types.TENSOR)
_OPTIONAL_LONG: Final = c_types.optional(c_types.LONG)
_OPTIONAL_SYMINT: Final = c_types.optional(c_types.SYMINT)
_LONG_ARRAY: Final = c_types.array_ref(c_types.LONG)
_OPTIONS: Final = ("options", c_types.TENSOR_OPTIONS)
_OPTIONS_BY_REFERENCE: Final = ("options", c_types.const_ref(c_types.TENSOR_OPTIONS))
_OUT: Final = ("out", _CONST_TENSOR)

#: Type of a value -> another type that the value is available as, and its expression. `{0}` is the value.
_ALSO_AVAILABLE: Final[dict[CType, tuple[CType, str]]] = {
    c_types.const_ref(c_types.optional(c_types.TENSOR)): (
        c_types.OPTIONAL_TENSOR_REF,
        "(({0}.has_value() && (*{0}).defined()) ? at::OptionalTensorRef(*{0}) : at::OptionalTensorRef())",
    ),
    c_types.const_ref(c_types.SCALAR): (c_types.OPMATH_T, "({0}).to<opmath_t>()"),
    c_types.const_ref(c_types.optional(c_types.SCALAR)): (
        c_types.OPTIONAL_SCALAR_REF,
        "({0}.has_value() ? at::OptionalScalarRef(&({0}.value())) : at::OptionalScalarRef())",
    ),
    c_types.SCALAR_T: (c_types.OPMATH_T, "static_cast<opmath_t>({0})"),
    c_types.const_ref(c_types.c10_list(c_types.optional(c_types.TENSOR))): (
        c_types.IOPT_TENSOR_LIST_REF,
        "at::IOptTensorListRef({0})",
    ),
}

_SYMINTS_TO_INTS: Final = "{0}.has_value() ? ::std::make_optional(C10_AS_INTARRAYREF_SLOW(*{0})) : ::std::nullopt"
_INTS_TO_SYMINTS: Final = "{0}.has_value() ? ::std::make_optional(c10::fromIntArrayRefSlow(*{0})) : ::std::nullopt"
_SYMINT_TO_INT: Final = "{0}.has_value() ? ::std::make_optional({0}->guard_int(__FILE__, __LINE__)) : ::std::nullopt"
_TO_OPTIONAL: Final = "{0}.has_value() ? ::std::make_optional({0}) : ::std::nullopt"

#: Wanted type -> the types it can be made from, in order of preference, and the expression. `{0}` is the value.
_CONVERSIONS: Final[dict[CType, tuple[tuple[CType, str], ...]]] = {
    c_types.INT_ARRAY_REF: (
        (c_types.vector(c_types.LONG), "{0}"),
        (c_types.SYMINT_ARRAY_REF, "C10_AS_INTARRAYREF_SLOW({0})"),
    ),
    c_types.SYMINT_ARRAY_REF: (
        (c_types.INT_ARRAY_REF, "c10::fromIntArrayRefSlow({0})"),
        (c_types.vector(c_types.SYMINT), "{0}"),
    ),
    c_types.SYMINT: ((c_types.LONG, "{0}"),),
    _OPTIONAL_SYMINT: (
        (_OPTIONAL_LONG, "{0}.has_value() ? ::std::make_optional(c10::SymInt(*{0})) : ::std::nullopt"),
    ),
    c_types.LONG: ((c_types.SYMINT, "{0}.guard_int(__FILE__, __LINE__)"),),
    _OPTIONAL_LONG: (
        (_OPTIONAL_SYMINT, _SYMINT_TO_INT),
    ),
    c_types.OPTIONAL_INT_ARRAY_REF: (
        (c_types.optional(c_types.vector(c_types.LONG)), "{0}"),
        (c_types.OPTIONAL_SYMINT_ARRAY_REF, _SYMINTS_TO_INTS),
    ),
    c_types.OPTIONAL_SYMINT_ARRAY_REF: ((c_types.OPTIONAL_INT_ARRAY_REF, _INTS_TO_SYMINTS),),
    c_types.OPTIONAL_SCALAR_REF: ((c_types.optional(c_types.SCALAR), "{0}"),),
    c_types.OPTIONAL_TENSOR_REF: ((c_types.optional(c_types.TENSOR), "{0}"),),
}  # fmt: skip

#: The same for conversions that copy, which callers must allow.
_COPIES: Final[dict[CType, tuple[CType, str]]] = {
    c_types.vector(c_types.LONG): (c_types.INT_ARRAY_REF, "{0}.vec()"),
    c_types.vector(c_types.SYMINT): (c_types.SYMINT_ARRAY_REF, "{0}.vec()"),
    c_types.optional(c_types.vector(c_types.LONG)): (
        c_types.OPTIONAL_INT_ARRAY_REF,
        "{0}.has_value() ? ::std::make_optional({0}->vec()) : ::std::nullopt",
    ),
    c_types.optional(c_types.SCALAR): (c_types.OPTIONAL_SCALAR_REF, _TO_OPTIONAL),
    c_types.optional(c_types.TENSOR): (c_types.OPTIONAL_TENSOR_REF, _TO_OPTIONAL),
}

#: Role and type of each tensor option -> the expressions that read it from the options and from an out tensor.
_OPTION_PARTS: Final[dict[tuple[str, CType], tuple[str, str]]] = {
    ("dtype", c_types.optional(c_types.SCALAR_TYPE)): (
        "c10::optTypeMetaToScalarType({0}.dtype_opt())",
        "{0}.scalar_type()",
    ),
    ("layout", c_types.optional(c_types.LAYOUT)): ("{0}.layout_opt()", "{0}.layout()"),
    ("device", c_types.optional(c_types.DEVICE)): ("{0}.device_opt()", "{0}.device()"),
    ("pin_memory", c_types.optional(c_types.BOOL)): ("{0}.pinned_memory_opt()", "::std::nullopt"),
}
_DTYPE, _LAYOUT, _DEVICE, _PIN_MEMORY = _OPTION_PARTS

_MEMORY_FORMAT: Final = ("memory_format", c_types.optional(c_types.MEMORY_FORMAT))
_REDUNDANT_MEMORY_FORMAT: Final = (POSSIBLY_REDUNDANT_MEMORY_FORMAT, c_types.optional(c_types.MEMORY_FORMAT))


def translate(
    given: tuple[AvailableValue, ...],
    wanted: tuple[Binding | WantedBinding, ...],
    *,
    method: bool = False,
    copies: bool = False,
) -> tuple[str, ...]:
    """The C++ expressions of the wanted values, in order, made from the given values.

    `method` says that the expressions are for a method of Tensor, where `self` is `*this`. `copies` allows conversions
    that copy. Raises Untranslatable if a wanted value cannot be made.

    >>> sizes = Expression("size", "size", c_types.SYMINT_ARRAY_REF)
    >>> translate((sizes,), (WantedBinding("size", c_types.INT_ARRAY_REF),))
    ('C10_AS_INTARRAYREF_SLOW(size)',)
    """
    return _translate(given, wanted, method, copies)


@cache
def _translate(
    given: tuple[AvailableValue, ...], wanted: tuple[Binding | WantedBinding, ...], method: bool, copies: bool
) -> tuple[str, ...]:
    return Solver(given, wanted, method=method, copies=copies).expressions()


def translated_call(
    function: str, given: tuple[AvailableValue, ...], wanted: tuple[Binding | WantedBinding, ...]
) -> str:
    """A C++ call of `function` with the wanted values."""
    return f"{function}({', '.join(translate(given, wanted))})"


def _available_expressions(given: Sequence[AvailableValue], method: bool) -> AvailableExpressions:
    scope: AvailableExpressions = {}
    for binding in given:
        text = binding.name if isinstance(binding, Binding) else binding.text
        scope[binding.role, binding.type] = text
        also = _ALSO_AVAILABLE.get(binding.type)
        if also is not None:
            scope[binding.role, also[0]] = also[1].format(text)
    if method:
        scope["self", _MUT_TENSOR] = scope["self", _CONST_TENSOR] = "const_cast<Tensor&>(*this)"
    return scope


class Solver:
    """Finds expressions of wanted values in one scope. Its look-ups return None if there is no expression."""

    __slots__ = ("_copies", "_scope", "_takes_options", "_wanted")

    def __init__(
        self,
        given: Sequence[AvailableValue],
        wanted: Sequence[Binding | WantedBinding],
        *,
        method: bool = False,
        copies: bool = False,
    ) -> None:
        self._scope = _available_expressions(given, method)
        self._wanted = [binding.wanted if isinstance(binding, Binding) else binding for binding in wanted]
        self._takes_options = any((value.role, value.type) == _OPTIONS_BY_REFERENCE for value in self._wanted)
        self._copies = copies

    def expressions(self) -> tuple[str, ...]:
        """Expressions of all wanted values. Raises Untranslatable if one has none."""
        return tuple([self._expression(value.role, value.type) for value in self._wanted])

    def _expression(self, role: str, type: CType) -> str:
        text = self._reference(role, type, self.conversion)
        if text is None:
            in_scope = ", ".join(f"{ctype.text} {named}" for named, ctype in self._scope)
            raise Untranslatable(f"no way to `{type.text} {role}` from: {in_scope}")
        return text

    def direct(self, role: str, type: CType) -> str | None:
        """A value of this type in scope, or one that C++ converts implicitly."""
        return self._reference(role, type, lambda _role, _type: None)

    def _reference(self, role: str, type: CType, otherwise: Callable[[str, CType], str | None]) -> str | None:
        """A value of this type in scope, else one that a reference can bind to."""
        text = self._scope.get((role, type))
        if text is None and type.kind == "const_ref":
            text = self._reference(role, c_types.mut_ref(type.elem), otherwise)
        elif text is None and type.kind == "mut_ref":
            text = self._reference(role, type.elem, otherwise)
        if text is None and type is _LONG_ARRAY:
            return self._reference(role, c_types.INT_ARRAY_REF, otherwise)
        return otherwise(role, type) if text is None else text

    def conversion(self, role: str, type: CType) -> str | None:
        """A value of this type, made from one in scope."""
        key = (role, type)
        if key == _MEMORY_FORMAT:
            return self._memory_format()
        if key == _OPTIONS:
            return self._options()
        if key in _OPTION_PARTS:
            return self._option_part(*_OPTION_PARTS[key])
        if type in _CONVERSIONS:
            return self._first(role, _CONVERSIONS[type])
        text = None
        if self._copies and type in _COPIES:
            text = self._first(role, (_COPIES[type],))
        if text is None and type is _MUT_TENSOR:
            constant = self.direct(role, _CONST_TENSOR)
            text = None if constant is None else f"const_cast<Tensor&>({constant})"
        return text

    def _first(self, role: str, ways: Sequence[tuple[CType, str]]) -> str | None:
        for source, form in ways:
            text = self.direct(role, source)
            if text is not None:
                return form.format(text)
        return None

    def _memory_format(self) -> str | None:
        """Memory format, which the options may contain too. If both are in scope they must agree."""
        text = self.direct(*_REDUNDANT_MEMORY_FORMAT)
        options = None if self._takes_options else self.direct(*_OPTIONS)
        if text is None or options is None:
            return text
        return f"c10::impl::check_tensor_options_and_extract_memory_format({options}, {text})"

    def _options(self) -> str | None:
        dtype, layout, device, pin_memory = (self.direct(*part) for part in (_DTYPE, _LAYOUT, _DEVICE, _PIN_MEMORY))
        if dtype is None or layout is None or device is None or pin_memory is None:
            return None
        return f"TensorOptions().dtype({dtype}).layout({layout}).device({device}).pinned_memory({pin_memory})"

    def _option_part(self, from_options: str, from_out: str) -> str | None:
        options = self.direct(*_OPTIONS)
        if options is not None:
            return from_options.format(options)
        out = self.direct(*_OUT)
        return None if out is None else from_out.format(out)
