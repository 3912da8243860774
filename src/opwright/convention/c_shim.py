"""Convention of C shims: operators as C functions, for code that AOTInductor compiles ahead of time.

Tensors are handles, optional values are nullable pointers, lists are a pointer and a length, a device is a type and an
index, and enumerations and booleans are `int32_t`. A shim returns an error code and writes its results through
pointers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from typing import Final

from opwright.convention.defaults import default_expression
from opwright.model.native_function import NativeFunction
from opwright.release.operator_names.kernels import NULLABLE_RESULTS
from opwright.schema.base_types import forms_of
from opwright.schema.function import Argument, FunctionSchema, Return
from opwright.schema.types import BaseType, ListType, OptionalType, Type
from opwright.source.records import NamedTuple


class NoCForm(Exception):
    """An argument or return (`what`) has a `type` without a C form."""

    def __init__(self, what: str, type: Type) -> None:
        super().__init__(what, type)
        self.what: Final = what
        self.type: Final = type


class CParameters(NamedTuple):
    """The C parameters of one argument, and the C++ expression made from them.

    There are one or two parameters; `value` is the C++ type of the `expression`.
    """

    types: tuple[str, ...]
    names: tuple[str, ...]
    value: str
    expression: str

    @property
    def declarations(self) -> list[str]:
        """Parameters with their types."""
        return [f"{type} {name}" for type, name in zip(self.types, self.names, strict=True)]


#: Base type -> its form. A device is two C values, and has no form that fits the rows.
_BASES: Final = forms_of(lambda row: row.c_shim)

_DEVICE: Final = "c10::Device"
_TENSOR: Final = "at::Tensor"
_OPTIONAL_TENSOR: Final = "::std::optional<at::Tensor>"


@cache
def parameters(argument: Argument, *, resolves: bool = True) -> CParameters:
    """The C parameters of an argument. Raises NoCForm if its type has no C form.

    With `resolves`, a kernel gets tensors that it reads without lazy conjugation or negation.

    >>> from opwright.schema import parse_schema
    >>> schema = parse_schema("f(Tensor self, SymInt[] size, Device? device=None) -> Tensor")
    >>> parameters(schema.arguments.all[1]).declarations
    ['const int64_t* size', 'int64_t size_len_']
    >>> parameters(schema.arguments.all[2]).expression
    'pointer_to_optional_device(device, device_index_)'
    """
    c_parameters = _parameters(argument.type, argument.name, argument.is_write, resolves)
    if c_parameters is None:
        raise NoCForm(f"argument `{argument.name}`", argument.type)
    return c_parameters


def _parameters(type: Type, name: str, writes: bool, resolves: bool) -> CParameters | None:
    if isinstance(type, OptionalType):
        return _optional(_parameters(type.elem, name, False, resolves), resolves)
    if isinstance(type, ListType):
        return _list(type, _parameters(type.elem, name, False, resolves), writes, resolves)
    if not isinstance(type, BaseType):
        return None
    if type.name == "Device":
        index = f"{name}_index_"
        device = f"c10::Device(static_cast<c10::DeviceType>({name}), static_cast<c10::DeviceIndex>({index}))"
        return CParameters(("int32_t", "int32_t"), (name, index), _DEVICE, device)
    if type.name not in _BASES:
        return None
    form = _BASES[type.name]
    expression = form.expression
    if form.cpp == _TENSOR and (writes or not resolves):
        # A kernel must write to the caller's tensor, not to a copy with resolved dispatch flags.
        expression = "*tensor_handle_to_tensor_pointer({})"
    return CParameters((form.c,), (name,), form.cpp, expression.format(name))


def _optional(inner: CParameters | None, resolves: bool) -> CParameters | None:
    if inner is None:
        return None
    value = inner.value
    passed = ", ".join(inner.names)
    if value == _TENSOR and resolves:
        expression = f"resolve_tensor_dispatch_flags({passed})"
    elif value == _DEVICE:
        expression = f"pointer_to_optional_device({passed})"
    elif value.startswith("c10::ArrayRef<"):
        expression = f"pointer_to_optional_list<{value[len('c10::ArrayRef<') : -1]}>({passed})"
    else:
        expression = f"pointer_to_optional<{value}>({passed})"
    types = (f"{inner.types[0]}*", *inner.types[1:])
    return CParameters(types, inner.names, f"::std::optional<{value}>", expression)


def _list(type: ListType, elem: CParameters | None, writes: bool, resolves: bool) -> CParameters | None:
    if elem is None or len(elem.types) != 1:
        return None
    name, value = elem.names[0], elem.value
    length = f"{name}_len_"
    if value == "bool":
        # `std::vector<bool>` has no array of bool inside, so the list needs a fixed size.
        if type.size is None:
            return None
        expression = f"pointer_to_list<{type.size}>({name})"
    elif resolves and (value == _OPTIONAL_TENSOR or (value == _TENSOR and not writes)):
        expression = f"resolve_tensor_list_dispatch_flags({name}, {length})"
    else:
        expression = f"pointer_to_list<{value}>({name}, {length})"
    if value == _OPTIONAL_TENSOR:
        expression = f"c10::List<{value}>(c10::ArrayRef<{value}>({expression}))"
    types = (f"const {elem.types[0]}*", "int64_t")
    return CParameters(types, (name, length), f"c10::ArrayRef<{value}>", expression)


def left_out(argument: Argument) -> str:
    """Value passed for an argument that an older version of a shim lacks."""
    if argument.default is None:
        return "std::nullopt"
    return default_expression(argument.default, argument.type, symint=False)


class CResult(NamedTuple):
    """The C parameter for one return, and the statement that writes it."""

    declaration: str
    statement: str


def results(schema: FunctionSchema, nullable: Collection[str] = NULLABLE_RESULTS.in_any_release) -> list[CResult]:
    """The C parameters of the returns. Raises NoCForm if a type has no C form.

    In-place and out operators have none: the caller passes the tensors that they return. Operators with a `nullable`
    part in their name have results that the caller may leave out.
    """
    if schema.arguments.out or schema.name.inplace:
        return []
    name = schema.name.unambiguous
    may_be_null = any(part in name for part in nullable)
    single = len(schema.returns) == 1
    outputs = []
    for index, output in enumerate(schema.returns):
        result = "tmp_result" if single else f"std::get<{index}>(tmp_result)"
        outputs.append(_result(output, f"ret{index}", result, may_be_null))
    return outputs


def _result(output: Return, pointer: str, result: str, may_be_null: bool) -> CResult:
    if not isinstance(output.type, BaseType) or output.type.name not in _BASES:
        raise NoCForm(f"return `{output.text}`", output.type)
    form = _BASES[output.type.name]
    statement = f"*{pointer} = {form.result.format(result)};"
    if may_be_null:
        statement = f"if ({pointer}) {{ {statement} }}"
    return CResult(f"{form.c}* {pointer}", statement)


class ShimFunction(NamedTuple):
    """One C function: its name, its head, what it calls with what, and how results leave it.

    `guard` is the macro of the release whose stable interface the function belongs to, or None.
    """

    name: str
    head: str
    called: str
    arguments: Sequence[str]
    results: Sequence[CResult]
    guard: str | None


def operator_key(function: NativeFunction) -> str:
    """Name by which the table of operators with a shim knows an overload.

    It is `namespace.name.overload`, where `default` stands for no overload.
    """
    return f"{function.namespace}.{function.name.name}.{function.name.overload or 'default'}"


def _ordered_arguments(schema: FunctionSchema) -> tuple[Argument, ...]:
    return schema.arguments.out + schema.arguments.non_out


def shim_function(
    name: str,
    called: str,
    schema: FunctionSchema,
    missing: Collection[str] = (),
    guard: str | None = None,
) -> ShimFunction:
    """One version of a shim, that is without the arguments that it misses. Raises NoCForm.

    `called` is the C++ function that it calls.
    """
    passed = passed_arguments(schema, missing)
    taken = [argument for argument in _ordered_arguments(schema) if argument.name not in missing]
    declared = [declaration for argument in taken for declaration in parameters(argument).declarations]
    outputs = results(schema)
    declared += [result.declaration for result in outputs]
    return ShimFunction(name, f"AOTITorchError {name}({', '.join(declared)})", called, passed, outputs, guard)


def passed_arguments(schema: FunctionSchema, missing: Collection[str] = (), *, resolves: bool = True) -> list[str]:
    """What a shim without the `missing` arguments passes on, as `parameters` says. Raises NoCForm."""
    return [
        left_out(argument) if argument.name in missing else parameters(argument, resolves=resolves).expression
        for argument in _ordered_arguments(schema)
    ]
