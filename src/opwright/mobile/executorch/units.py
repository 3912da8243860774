"""What the files of ExecuTorch are made from: operators, and each kernel of an operator that a selection keeps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from opwright.convention import public_api
from opwright.cpp.signature import Signature
from opwright.emit.emitter import Job
from opwright.mobile.executorch import convention as executorch
from opwright.mobile.executorch_choices import ExecutorchOptions
from opwright.mobile.executorch_operators import ExecutorchKernel, ExecutorchOperator, RunExecutorch
from opwright.model.dispatch_key import CPU
from opwright.model.native_function import Kernel, NativeFunction
from opwright.model.selection import Selection
from opwright.schema.function import Argument
from opwright.schema.types import ListType
from opwright.source.records import NamedTuple


def tensors_of_key(key: str) -> str:
    """The dtypes and dim orders of a key; empty if it has none.

    The version before the slash does not matter yet: there is only one.

    >>> tensors_of_key("v1/6;0,1|6;0,1"), tensors_of_key("default")
    ('6;0,1|6;0,1', '')
    """
    return key.partition("/")[2]


def is_selected(
    operator: ExecutorchOperator, kernel: ExecutorchKernel, selection: Selection, options: ExecutorchOptions
) -> bool:
    """Whether a run registers a kernel.

    A selection lists the keys of the calls in its models. The default kernel serves all calls without a kernel of their
    own, so it is kept with every call. ExecuTorch's program registers no kernel of an operator without keys; elsewhere
    all of its kernels are.
    """
    name = operator.name
    if not selection.is_root_named(name):
        return False
    keys = selection.edge_kernels.get(name)
    if keys is None:
        return selection.everything or not options.as_reference
    if kernel.is_default:
        return bool(keys)
    return tensors_of_key(kernel.key) in [tensors_of_key(key) for key in keys]


#: The dispatch key for which kernels of custom operators are registered.
PYTORCH_KEY: Final = CPU


class KernelEntry(NamedTuple):
    """A kernel of an operator."""

    operator: ExecutorchOperator
    kernel: ExecutorchKernel


class ExecutorchNamespace(NamedTuple):
    """A namespace with the operators, or with those that have a kernel, in it."""

    name: str
    operators: Sequence[ExecutorchOperator]


def by_namespace(operators: Iterable[ExecutorchOperator]) -> list[ExecutorchNamespace]:
    """Namespaces of operators, in the order in which they first occur."""
    namespaces: dict[str, list[ExecutorchOperator]] = {}
    for operator in operators:
        namespaces.setdefault(operator.function.namespace, []).append(operator)
    return [ExecutorchNamespace(name, tuple(members)) for name, members in namespaces.items()]


def operators(job: Job) -> Sequence[ExecutorchOperator]:
    """All operators of the run."""
    return job.of(RunExecutorch).executorch.operators


def custom_operators(job: Job) -> Sequence[ExecutorchOperator]:
    """Operators of the file of custom operators."""
    return job.of(RunExecutorch).executorch.custom


def kernels(job: Job) -> Sequence[KernelEntry]:
    """All kernels of all operators."""
    return [KernelEntry(operator, kernel) for operator in operators(job) for kernel in operator.kernels]


def function_signature(operator: ExecutorchOperator, *, aten_mode: bool) -> Signature:
    """Signature of an operator's function in `Functions.h`, without the context. Raises NoCppType."""
    if aten_mode:
        return public_api.function_signatures(operator.function).most_faithful
    return executorch.signature(operator.function)


def pytorch_kernel(operator: ExecutorchOperator) -> Kernel | None:
    """Kernel that PyTorch's dispatcher calls; None if the operator has none."""
    kernel = operator.kernel
    return None if kernel is None else Kernel(PYTORCH_KEY, kernel.name, kernel.namespace, False)


def boolean_lists(function: NativeFunction) -> list[Argument]:
    """Arguments that are lists of booleans, for which boxed functions declare an index."""
    return [
        argument
        for argument in function.arguments.all
        if isinstance(argument.type, ListType) and argument.type.elem.text == "bool"
    ]
