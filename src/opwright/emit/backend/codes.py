"""The codes of what the code around the kernels of a backend cannot express: E14xx."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register

__all__ = ["NO_DTYPE_OVERLOAD", "OTHER_KERNEL", "UNDECLARED_KERNEL", "UNEXPORTED_KERNEL"]


def _code(number: int, title: str, explanation: str) -> str:
    return register(Code(f"E14{number:02}", title, explanation))


NO_DTYPE_OVERLOAD: Final = _code(
    1,
    "an autocast policy that needs another overload",
    """
Under the policy `fp32_append_dtype`, an operator calls the overload that takes the same arguments and a dtype after
them, as `norm.Scalar` calls `norm.ScalarOpt_dtype`. The operator of this entry has no such overload.

    autocast:
    - relu: {policy: fp32_append_dtype}
      ^^^^ choose another policy

Use `fp32`, which casts the arguments, or `fp32_set_opt_dtype`, which sets an argument of type `ScalarType?`.
""",
)
UNDECLARED_KERNEL: Final = _code(
    2,
    "a kernel that PyTorch does not have",
    """
An entry names a function in `at::native` that implements no operator of this release. Without a kernel of that name, no
header of PyTorch declares the function, and the generated code does not compile.

    supported:
    - view: {kernel: at::native::veiw}
      ^^^^ did you mean `at::native::view`?

Kernels of PyTorch are named in the `dispatch` of `native_functions.yaml`. Kernels that are structured are classes
instead of functions: write `stub: true` for these.
""",
)
UNEXPORTED_KERNEL: Final = _code(
    3,
    "a kernel that PyTorch does not export",
    """
Kernels that only CUDA needs are in the library for CUDA, which PyTorch for the CPU does not have. A backend that calls
one of them cannot be loaded: the linker does not find the symbol.

    supported:
    - bincount: {inherit: CUDA}
      ^^^^^^^^ write a kernel of your own

The main library exports the kernels that CPU and CUDA share, those of the CPU, and nearly all composite ones.
""",
)
OTHER_KERNEL: Final = _code(
    4,
    "a kernel of an operator with other arguments",
    """
An entry names a kernel of PyTorch that implements another operator, with arguments or a result of other types.

    supported:
    - relu: {kernel: at::native::view}
      ^^^^ `relu` needs `at::Tensor (const at::Tensor &)`

Name a kernel of the operator, or of an operator with the same arguments.
""",
)
