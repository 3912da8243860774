"""C++ types and signatures of ExecuTorch: the names of `torchgen.executorch.api.types`."""

from __future__ import annotations

from opwright.convention import public_api
from opwright.torchgen.executorch.api import et_cpp
from opwright.torchgen.interface.cpp_types import Binding, CType
from opwright.torchgen.interface.executorch_types import (
    CONTEXT_ARGUMENT,
    NAMED_VALUES,
    ArrayRefCType,
    BaseTypeToCppMapping,
    OptionalCType,
)
from opwright.torchgen.interface.functions import NativeFunction
from opwright.torchgen.interface.records import Record, record
from opwright.torchgen.interface.schema import FunctionSchema, model_schema

globals().update(NAMED_VALUES)

__all__ = ["ArrayRefCType", "BaseTypeToCppMapping", "ExecutorchCppSignature", "OptionalCType"]
__all__ += NAMED_VALUES


@record("func cpp_no_default_args prefix")
class ExecutorchCppSignature(Record):
    """Signature of an operator's function in `Functions.h`, and of its kernels."""

    cpp_no_default_args: set[str]
    func: FunctionSchema
    prefix: str = ""

    @staticmethod
    def from_native_function(f: NativeFunction, *, prefix: str = "") -> ExecutorchCppSignature:
        """Signature of a function."""
        return ExecutorchCppSignature(func=f.func, prefix=prefix, cpp_no_default_args=f.cpp_no_default_args)

    def arguments(self, *, include_context: bool = True) -> list[Binding]:
        """Parameters, the context first if it is included."""
        choices = {"faithful": True, "method": False}
        arguments = et_cpp.arguments(self.func.arguments, cpp_no_default_args=self.cpp_no_default_args, **choices)
        return [CONTEXT_ARGUMENT, *arguments] if include_context else arguments

    def name(self) -> str:
        """Name with its prefix."""
        return self.prefix + public_api.name(model_schema(self.func), faithful=True)

    def decl(self, name: str | None = None, *, include_context: bool = True) -> str:
        """Declaration without its semicolon."""
        parameters = ", ".join([binding.decl() for binding in self.arguments(include_context=include_context)])
        return f"{self.returns_type().cpp_type()} {self.name() if name is None else name}({parameters})"

    def defn(self, name: str | None = None) -> str:
        """Definition without its body, with the context."""
        return self.decl(name)

    def returns_type(self) -> CType:
        """Type that the function returns."""
        return et_cpp.returns_type(self.func.returns)
