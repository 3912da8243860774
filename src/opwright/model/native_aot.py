"""Kernels that PyTorch compiles ahead of time from a kernel language, besides the ordinary ones."""

from __future__ import annotations

from opwright.model.dispatch_key import DispatchKey
from opwright.model.native_function import NativeFunctionsGroup
from opwright.source.named_tuple import NamedTuple

__all__ = ["NativeAotKernel"]


class NativeAotKernel(NamedTuple):
    """A declaration that a structured operation may have such a kernel for a dispatch key.

    `operator` is the declared name, `topk` or `gt.Tensor`. The kernel is tried before the ordinary one, and users can
    switch it off unless it is `unconditional`.
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
