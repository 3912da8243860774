"""Calls of kernels with a convention of a plug-in, and of one of several kernels that a plug-in chooses among."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from opwright.backends.hook_statements import filled_text, hook_values
from opwright.backends.hooks import Hook
from opwright.convention import public_api
from opwright.cpp.binding import Binding, Expression, WantedBinding
from opwright.cpp.c_types import CType
from opwright.cpp.signature import Signature
from opwright.cpp.text import indent
from opwright.cpp.translation import AvailableValue, Solver, TypeConversion
from opwright.emit.aten.backend import Backend, KernelWrapper
from opwright.source.records import NamedTuple, frozen_fields

_RESULT = "opwright_kernel_result"


class KernelCallee(NamedTuple):
    """A kernel that a wrapper calls: the C++ function, its signature, and conversions of types besides PyTorch's.

    `family` is the name by which a selector's statements refer to the kernel.
    """

    function: str
    signature: Signature
    conversions: tuple[TypeConversion, ...] = ()
    family: str = ""


@frozen_fields
class WrapperAdditions:
    """What plug-ins add to a wrapper.

    `hooks` stand inside those of the backend file. `callees` are the kernels in place of the usual one; with several,
    `selection` has the statements that choose. `includes` are the headers that the code needs.
    """

    hooks: tuple[Hook, ...] = ()
    callees: tuple[KernelCallee, ...] = ()
    selection: str = ""
    includes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.hooks or self.callees)


class KernelResult(NamedTuple):
    """What calls of kernels return: the type, and an expression of the arguments that a kernel writes to."""

    type: CType
    written: str


def written_arguments(type: CType, names: Sequence[str]) -> str:
    """Expression that returns written arguments, by their names, as a result of this type."""
    return names[0] if len(names) == 1 else f"{type.text}({', '.join(names)})"


def chosen_kernel_body(wrapper: KernelWrapper, backend: Backend, additions: WrapperAdditions) -> str:
    """Statements that call the kernel, or one of them, and return its result."""
    type = wrapper.signature.returns
    result = KernelResult(type, written_arguments(type, public_api.return_names(wrapper.function) or ("",)))
    return indent(_statements(wrapper, backend, additions, wrapper.signature.bindings, result))


def chosen_kernel_call(
    wrapper: KernelWrapper,
    backend: Backend,
    additions: WrapperAdditions,
    given: tuple[AvailableValue, ...],
    result: KernelResult,
) -> str:
    """An expression that calls the kernel, or one of them, with values that the wrapper has."""
    return _expression(_statements(wrapper, backend, additions, given, result), result)


def _statements(
    wrapper: KernelWrapper,
    backend: Backend,
    additions: WrapperAdditions,
    given: tuple[AvailableValue, ...],
    result: KernelResult,
) -> str:
    if not additions.selection:
        return _call_statements(additions.callees[0], given, result)
    calls = {
        callee.family: _expression(_call_statements(callee, given, result), result) for callee in additions.callees
    }
    return filled_text(additions.selection, {**hook_values(wrapper, backend), **calls})


def _call_statements(callee: KernelCallee, given: tuple[AvailableValue, ...], result: KernelResult) -> str:
    """Statements that call a kernel, and return its result with the type of the wrapper's."""
    arguments = ", ".join(translate_with(callee.conversions, given, callee.signature.bindings))
    call = f"{callee.function}({arguments})"
    if callee.signature.returns is result.type:
        return f"return {call};"
    if returns_arguments(result.type):
        return f"{call};\nreturn {result.written};"
    converted = converted_result(_RESULT, callee.signature.returns, result.type, callee.conversions)
    return f"auto {_RESULT} = {call};\nreturn {converted};"


def returns_arguments(type: CType) -> bool:
    """Whether a wrapper with this result returns arguments that it writes to."""
    return type.kind == "mut_ref" or (type.kind == "tuple" and type.elems[0].kind == "mut_ref")


def converted_result(name: str, given: CType, wanted: CType, conversions: tuple[TypeConversion, ...]) -> str:
    """An expression of the wrapper's result, from that of a kernel. Raises Untranslatable if there is none."""
    return translate_with(conversions, (Expression(name, "result", given),), (WantedBinding("result", wanted),))[0]


def _expression(statements: str, result: KernelResult) -> str:
    """An expression that runs statements and has the value that they return."""
    call = statements.removeprefix("return ").removesuffix(";")
    if statements == f"return {call};" and ";" not in call:
        return call
    return f"[&]() -> {result.type.text} {{\n{indent(statements)}\n}}()"


class _ConvertingSolver(Solver):
    """Finds expressions also by further conversions, which are preferred to those of PyTorch."""

    __slots__ = ("_conversions",)

    def __init__(
        self,
        given: Sequence[AvailableValue],
        wanted: Sequence[Binding | WantedBinding],
        conversions: tuple[TypeConversion, ...],
    ) -> None:
        super().__init__(given, wanted)
        self._conversions = conversions

    def conversion(self, role: str, type: CType) -> str | None:
        for conversion in self._conversions:
            text = self.direct(role, conversion.given) if conversion.wanted is type else None
            if text is not None:
                return conversion.form.replace("{0}", text)
        return super().conversion(role, type)


@cache
def translate_with(
    conversions: tuple[TypeConversion, ...],
    given: tuple[AvailableValue, ...],
    wanted: tuple[Binding | WantedBinding, ...],
) -> tuple[str, ...]:
    """Translates with further conversions.

    >>> from opwright.cpp import c_types
    >>> shape = c_types.base("acme::Shape")
    >>> sizes = Expression("size", "size", c_types.SYMINT_ARRAY_REF)
    >>> to_shape = TypeConversion(shape, c_types.SYMINT_ARRAY_REF, "acme::shape({0})")
    >>> translate_with((to_shape,), (sizes,), (WantedBinding("size", shape),))
    ('acme::shape(size)',)
    """
    return _ConvertingSolver(given, wanted, conversions).expressions()
