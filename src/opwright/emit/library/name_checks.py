"""Checks that the names of arguments can be those of parameters in generated C++."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from opwright.dialects.names import CPP_WORDS
from opwright.dialects.nearest import word_span
from opwright.emit.autograd.views import has_kernel
from opwright.model.derivatives import DifferentiableFunction
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup, ViewGroup
from opwright.schema.function import SchemaKind
from opwright.source.codes import ARGUMENT_NAME
from opwright.source.diagnostic import Diagnostics
from opwright.source.named_tuple import NamedTuple

__all__ = ["check_names"]


class _Code(NamedTuple):
    """Generated code, and the names of its variables, parameters and members."""

    title: str
    names: frozenset[str]


def _code(title: str, names: str) -> _Code:
    return _Code(title, frozenset(names.split()))


_RULE: Final = _code("the batching rule", "cur_level guard results")
_STRUCTURED: Final = _code("structured kernels", "op precompute")
_DEVICES: Final = _code("kernels of devices", "common_device device_guard")
_AUTOGRAD: Final = _code("the autograd kernel", "_tmp grad_fn guard original_self")
_NODE: Final = _code(
    "the autograd node", "apply apply_with_saved args compiled_args grads name release_variables saved"
)
_WRITE: Final = _code("functionalization", "guard")
_VIEW: Final = _code("views", "base guard i inverse_return_mode mutated_view name output reapply_views view_meta")
_COPY: Final = _code("the synthesized functional overload", "output")


def check_names(derivative: DifferentiableFunction, *, is_stable: bool, sink: Diagnostics) -> None:
    """Report arguments whose names C++ does not allow, or that generated code gives something else."""
    function = derivative.function
    taken = {} if is_stable else {name: code for code in _codes(derivative) for name in code.names}
    words = frozenset[str]().union(*[info.words for info in derivative.infos.values()])
    arguments = {argument.name: argument for argument in function.arguments.all}
    for name, argument in arguments.items():
        fault = ""
        tensor = arguments.get(name.removesuffix("_"))
        if name in CPP_WORDS:
            fault = "is a C++ keyword"
        elif name == "out" and not argument.is_write and _has_made_out(function):
            fault = "is that of the tensor of the synthesized out overload"
        elif name == "grad" and "grad" in words and not is_stable:
            fault = "is that of the gradient of the result in formulas"
        elif name in taken and (taken[name] is not _NODE or name in words):
            fault = f"has another meaning in the generated code of {taken[name].title}"
        elif taken and tensor is not None and tensor is not argument and tensor.type.is_tensor_like:
            fault = f"is that of the unwrapped `{tensor.name}` in generated code"
        if fault:
            at = word_span(function, argument.text)
            sink.error(ARGUMENT_NAME, f"argument name `{name}` {fault}", at, help="rename the argument")


def _codes(derivative: DifferentiableFunction) -> Iterator[_Code]:
    """What is generated for an overload."""
    function, group = derivative.function, derivative.function.group
    if function.library_fields.batch_rule:
        yield _RULE
    if function.in_structured_group:
        yield _STRUCTURED
    if any(key.device is not None and key.device.has_guard for key in function.kernels):
        yield _DEVICES
    if derivative.infos:
        yield _NODE
    if has_kernel(derivative):
        yield _AUTOGRAD
    if function.has_composite_implicit:
        return
    if isinstance(function.view_group, ViewGroup) and not function.view_group.composite:
        yield _VIEW
    if isinstance(group, NativeFunctionsGroup) and group.functional.is_synthesized:
        yield _COPY
    if function.kind is not SchemaKind.functional:
        yield _WRITE


def _has_made_out(function: NativeFunction) -> bool:
    """Whether an out overload is synthesized from a function."""
    group = function.group
    return isinstance(group, NativeFunctionsGroup) and group.out.is_synthesized
