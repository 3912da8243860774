"""What further inputs of a run add to its operators: names and docstrings of Python, and kernels of other languages."""

from __future__ import annotations

from opwright.model.dispatch_key import DispatchKey
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup
from opwright.schema.function import FunctionSchema
from opwright.source.records import NamedTuple
from opwright.source.span import Span


class DeprecatedSignature(NamedTuple):
    """One signature of `deprecated.yaml` with the function that it calls.

    `passed` are the values passed to the C++ function, in its order: names of the signature's arguments, and constants.
    `span` is that of the signature in the entry.
    """

    schema: FunctionSchema
    function: NativeFunction
    passed: tuple[str, ...]
    span: Span


class Docstring(NamedTuple):
    """Docstring of a function, without blanks at its ends, and where the module gives it."""

    text: str
    span: Span


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
        """Operator as one C++ identifier."""
        return self.operator.replace(".", "_")

    @property
    def stub(self) -> str:
        """Name of the stub through which the kernel is called."""
        return f"{self.identifier}_aot_stub"
