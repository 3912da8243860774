"""Which kernels a selection keeps."""

from __future__ import annotations

from opwright.model.executorch import ExecutorchKernel, ExecutorchOperator, ExecutorchOptions
from opwright.model.selection import Selection

__all__ = ["is_selected", "tensors_of_key"]


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
