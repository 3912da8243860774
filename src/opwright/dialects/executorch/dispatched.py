"""The kernels of entries of the old style, which name them in `dispatch`, as PyTorch's own entries do."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as Table
from typing import Final

from opwright.dialects.names import default_kernel_name
from opwright.model.catalog import Catalog
from opwright.model.dispatch_key import CPU, DispatchKey
from opwright.model.executorch import DEFAULT_KEY, ExecutorchKernel
from opwright.model.library import PYTORCH
from opwright.model.native_function import Kernel, UnlinkedFunction
from opwright.source.nodes import Mapping

__all__ = ["DispatchRanks", "dispatched_kernel", "pytorch_kernels"]


class DispatchRanks:
    """The dispatch keys of a file in the order in which they first occur.

    ExecuTorch's own program takes the kernel of an operator whose key is the last of them. With `sorts_keys`, it sorts
    the fields of `dispatch` before.
    """

    __slots__ = ("_ranks",)

    def __init__(self, entries: Iterable[tuple[UnlinkedFunction, Mapping | None]], *, sorts_keys: bool = False) -> None:
        ranks: dict[DispatchKey, int] = {}
        for function, entry in entries:
            for key in _sorted_keys(function, entry) if sorts_keys else function.kernels:
                ranks.setdefault(key, len(ranks))
        self._ranks: Final[Table[DispatchKey, int]] = ranks

    def last(self, function: UnlinkedFunction) -> Kernel | None:
        """The kernel whose key is the last one; None for an operator without kernels."""
        key = max(function.kernels, key=self._ranks.__getitem__, default=None)
        return None if key is None else function.kernels[key]


def _sorted_keys(function: UnlinkedFunction, entry: Mapping | None) -> list[DispatchKey]:
    """The keys of an operator's kernels as its entry names them, in the order of the sorted fields of `dispatch`."""
    dispatch = None if entry is None else entry.get("dispatch")
    if not isinstance(dispatch, Mapping):
        return list(function.kernels)
    by_name = {key.name: key for key in function.kernels}
    fields = sorted([key.value for key, _ in dispatch.entries])
    names = [name.strip() for field in fields for name in field.split(",")]
    return [by_name.pop(name) for name in names if name in by_name] + list(by_name.values())


def dispatched_kernel(
    function: UnlinkedFunction, ranks: DispatchRanks, *, as_reference: bool
) -> ExecutorchKernel | None:
    """The kernel of an operator with `dispatch`: that of the CPU, or as ExecuTorch's own program takes it."""
    kernel = None if as_reference else function.kernels.get(CPU)
    kernel = kernel or ranks.last(function)
    return None if kernel is None else ExecutorchKernel(DEFAULT_KEY, kernel.name, kernel.namespace)


def pytorch_kernels(catalog: Catalog, *, as_reference: bool) -> dict[UnlinkedFunction, tuple[ExecutorchKernel, ...]]:
    """The kernels of PyTorch's operators in ATen mode, which only declares them and calls the functions of `at::`.

    ExecuTorch's own program leaves out operators that are implemented by another form of the same operation.
    """
    ranks = DispatchRanks([(function, None) for function in catalog.functions])
    kernels: dict[UnlinkedFunction, tuple[ExecutorchKernel, ...]] = {}
    for function in catalog.functions:
        kernel = dispatched_kernel(function, ranks, as_reference=True)
        if kernel is None and not as_reference:
            kernel = ExecutorchKernel(DEFAULT_KEY, default_kernel_name(function.schema), PYTORCH.native)
        kernels[function] = () if kernel is None else (kernel,)
    return kernels
