"""The codes of operators that a backend should have, and of reports about them: W137x."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register


def _code(number: int, title: str, explanation: str) -> str:
    return register(Code(f"W13{number:02}", title, explanation))


NEEDED_OPERATOR: Final = _code(
    70,
    "an operator that every device needs has no kernel",
    """
PyTorch's own code calls some operators on tensors of every device: to allocate them, to copy them, to make views of
them. A backend without a kernel for one of them fails, crashes, or gives wrong results, and a CPU fallback does not
help with most of them, because it calls them itself.

    backend: PrivateUse1
    cpp_namespace: acme
    fallback: cpu
    supported:
    ^^^^^^^^^ `empty_strided` is left to the CPU fallback, which calls it without end
    - empty.memory_format

Add an entry. Operators that CPU and CUDA implement with the same function can have that function: `inherit: shared`.
List operators that you register without the generator in `manual`. `opwright coverage` shows all of them.
""",
)
LEFT_VIEW: Final = _code(
    71,
    "a view is left to the CPU fallback",
    """
The CPU fallback runs an operator on copies of the tensors, so its result cannot be a view of a tensor on the device.
The fallback refuses views with an error, unless the file says `fallback_views: copy`: then the result is a copy, and
writes to it do not reach the tensor that it should be a view of.

    fallback: cpu
    supported:
    ^^^^^^^^^ `unfold` is left to the CPU fallback
    - view: {inherit: shared}

The kernels of these views only compute sizes and strides, so PyTorch's own serve every device: `inherit: shared`.
""",
)
INPLACE_ALONE: Final = _code(
    72,
    "an in-place operator has a kernel, and its functional form has none",
    """
Functionalization replaces in-place operators by their functional forms, for instance under `torch.compile`. The kernel
of the in-place operator is then not used.

    supported:
    - relu_
      ^^^^^ add `relu`

Add the functional form. If the backend implements out overloads (`use_out_as_primary: true`), one entry for the out
overload serves all three.
""",
)
NO_PYTHON_MODULES: Final = _code(
    73,
    "it is unknown which operators have shapes while tracing",
    """
PyTorch registers many kernels for Meta, which compute shapes and dtypes while PyTorch traces, in Python modules of its
package. Without these modules, a report counts their operators as operators without shapes.

    $ opwright coverage --backend acme.yaml --source-path copied/ATen

The modules are missing if the inputs are only YAML files, or if a release is in the user's cache and the package index
does not answer. Name an installed PyTorch (`--torch auto`), a wheel, or a source tree.
""",
)
