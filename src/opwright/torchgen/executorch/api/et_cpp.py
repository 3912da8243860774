"""Convention of ExecuTorch's kernels: the names of `torchgen.executorch.api.et_cpp`."""

from __future__ import annotations

from collections.abc import Sequence

from opwright.mobile.executorch import convention as executorch
from opwright.torchgen.api.cpp import return_names
from opwright.torchgen.interface.cpp_types import ArgName, Binding, CType, NamedCType, Part, ctype_of, current_style
from opwright.torchgen.interface.executorch_types import BaseTypeToCppMapping, refusals
from opwright.torchgen.interface.schema import (
    Argument,
    Arguments,
    Return,
    SelfArgument,
    TensorOptionsArguments,
    model_return,
)
from opwright.torchgen.interface.types import Type, model_type

__all__ = [
    "BaseTypeToCppMapping",
    "argument",
    "argument_type",
    "arguments",
    "argumenttype_type",
    "return_names",
    "return_type",
    "returns_type",
    "returntype_type",
    "valuetype_type",
]  # fmt: skip


@refusals()
def valuetype_type(t: Type, *, binds: ArgName, remove_non_owning_ref_types: bool = False) -> NamedCType | None:
    """Type of a value that is passed by value; None for other types. Raises NoType."""
    ctype = executorch.value_type(model_type(t))
    return None if ctype is None else NamedCType(binds, ctype_of(ctype))


@refusals()
def argumenttype_type(
    t: Type, *, mutable: bool, binds: ArgName, remove_non_owning_ref_types: bool = False
) -> NamedCType:
    """Type of an argument of a type. Raises NoType if ExecuTorch has none."""
    ctype = executorch.argument_type(model_type(t), mutable=mutable, style=current_style())
    return NamedCType(binds, ctype_of(ctype))


def argument_type(a: Argument, *, binds: ArgName) -> NamedCType:
    """Type of an argument. Raises NoType if ExecuTorch has none."""
    return argumenttype_type(a.type, mutable=a.is_write, binds=binds)


@refusals()
def returntype_type(t: Type, *, mutable: bool) -> CType:
    """Type of a return of a type. Raises NoType if ExecuTorch has none."""
    return ctype_of(executorch.return_type(model_type(t), mutable=mutable, style=current_style()))


def return_type(r: Return) -> CType:
    """Type of a return. Raises NoType if ExecuTorch has none."""
    return returntype_type(r.type, mutable=r.is_write)


@refusals()
def returns_type(rs: Sequence[Return]) -> CType:
    """Type of all returns. Raises NoType if ExecuTorch has none."""
    return ctype_of(executorch.returns_type(tuple(map(model_return, rs)), current_style()))


def argument(
    a: Part, *, cpp_no_default_args: set[str], method: bool, faithful: bool, has_tensor_options: bool
) -> list[Binding]:
    """Parameter for an argument, without a default; none for `self` of a method.

    Raises NotImplementedError for tensor options.
    """
    if method and isinstance(a, SelfArgument):
        return []
    if isinstance(a, TensorOptionsArguments):
        raise NotImplementedError("ExecuTorch has no tensor options")
    plain = a.argument if isinstance(a, SelfArgument) else a
    return [Binding(plain.name, argument_type(plain, binds=plain.name), plain)]


def arguments(arguments: Arguments, *, faithful: bool, method: bool, cpp_no_default_args: set[str]) -> list[Binding]:
    """Parameters for all arguments; the outs come first unless `faithful`."""
    options = arguments.tensor_options is not None
    parts: list[Part] = [*arguments.non_out, *arguments.out] if faithful else [*arguments.out, *arguments.non_out]
    return [
        binding
        for part in parts
        for binding in argument(
            part,
            cpp_no_default_args=cpp_no_default_args,
            method=method,
            faithful=faithful,
            has_tensor_options=options,
        )
    ]
