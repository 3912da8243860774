"""Kernels that PyTorch has compiled ahead of time from a language of their own, beside the ordinary ones."""

from __future__ import annotations

from typing import NamedTuple

from opwright.model.dispatch_key import DispatchKey
from opwright.model.native_function import NativeFunctionsGroup

__all__ = ["NativeAotKernel"]


class NativeAotKernel(NamedTuple):
    """One declaration: the structured operation and the key for which there may be such a kernel.

    `operator` is the operation as it is declared, `topk` or `gt.Tensor`. The kernel is tried before the ordinary one;
    an `unconditional` one is no faster way to the same result but the implementation, so users cannot switch it off.
    """

    operator: str
    key: DispatchKey
    unconditional: bool
    group: NativeFunctionsGroup

    @property
    def identifier(self) -> str:
        """The operator as one C++ identifier."""
        return self.operator.replace(".", "_")

    @property
    def stub(self) -> str:
        """The name of the stub through which the kernel is called."""
        return f"{self.identifier}_aot_stub"
