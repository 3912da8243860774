"""Operators of ExecuTorch: the functions of its two YAML files, and the kernels that are registered for each."""

from __future__ import annotations

from typing import Final

from opwright.model.native_function import NativeFunction
from opwright.source.records import NamedTuple

#: The key of a kernel that serves all dtypes and dim orders.
DEFAULT_KEY: Final = "default"
#: Name of a dtype -> its number in keys.
DTYPES: Final = {"Byte": 0, "Char": 1, "Short": 2, "Int": 3, "Long": 4, "Float": 6, "Double": 7, "Bool": 11}


class ExecutorchKernel(NamedTuple):
    """A kernel of an operator: its key, and the name and namespace of the C++ function.

    The key is `default`, or `v1/` and the dtypes and dim orders of the tensors that the kernel is for: those of the
    `arguments`, in their order.
    """

    key: str
    name: str
    namespace: str
    arguments: tuple[str, ...] = ()

    @property
    def is_default(self) -> bool:
        """Whether the kernel serves all dtypes and dim orders."""
        return self.key == DEFAULT_KEY


class ExecutorchOperator(NamedTuple):
    """An operator with its kernels, in the order of the file. `schema` is the text of the function's schema.

    An operator without kernels is declared, and never registered. `is_custom` says that it is not one of PyTorch's.
    """

    function: NativeFunction
    schema: str
    kernels: tuple[ExecutorchKernel, ...]
    is_custom: bool = False

    @property
    def name(self) -> str:
        """Qualified name, such as `aten::add.out`."""
        return f"{self.function.namespace}::{self.function.name.text}"

    @property
    def kernel(self) -> ExecutorchKernel | None:
        """Kernel for callers that do not choose by dtype: the default one, else the first; None if there is none.

        >>> from opwright.mobile.executorch_operators import ExecutorchKernel as Kernel
        >>> kernels = (Kernel("v1/6;0,1", "add_float", "mine::native"), Kernel("default", "add", "mine::native"))
        >>> ExecutorchOperator(None, "", kernels).kernel.name
        'add'
        """
        return next((kernel for kernel in self.kernels if kernel.is_default), next(iter(self.kernels), None))


class ExecutorchOperators(NamedTuple):
    """Operators of a run: those of `functions.yaml` (or of PyTorch), then those of `custom_ops.yaml`.

    `has_custom_file` says that the run names a file of custom operators, even if none of it is selected.
    """

    operators: tuple[ExecutorchOperator, ...]
    has_custom_file: bool = False

    @property
    def custom(self) -> tuple[ExecutorchOperator, ...]:
        """Custom operators."""
        return tuple([operator for operator in self.operators if operator.is_custom])


class RunExecutorch(NamedTuple):
    """What a run has of ExecuTorch."""

    executorch: ExecutorchOperators = ExecutorchOperators(())
