"""C++ signatures: the names of `torchgen.api.types.signatures`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opwright.torchgen.api import cpp, dispatcher
from opwright.torchgen.api.dispatcher import name as dispatcher_name
from opwright.torchgen.api.dispatcher import returns_type as dispatcher_returns
from opwright.torchgen.api.functionalization import op_arguments, reverse_name
from opwright.torchgen.api.functionalization import returns_type as view_returns
from opwright.torchgen.api.native import arguments as native_arguments
from opwright.torchgen.api.native import name as native_name
from opwright.torchgen.api.structured import impl_arguments
from opwright.torchgen.api.translate import translate
from opwright.torchgen.interface.cpp_types import Binding, CType, Expr
from opwright.torchgen.interface.functions import (
    BackendIndex,
    NativeFunction,
    NativeFunctionsGroup,
    NativeFunctionsViewGroup,
)
from opwright.torchgen.interface.records import Record, record
from opwright.torchgen.interface.schema import FunctionSchema

#: The first parameter of functions that call the next kernel for an operator.
_KEY_SET = "c10::DispatchKeySet dispatchKeySet"


def _function(returns: CType, name: str, parameters: list[str], *, redispatches: bool = False) -> str:
    listed = [_KEY_SET, *parameters] if redispatches else parameters
    return f"{returns.cpp_type()} {name}({', '.join(listed)})"


def _declared(bindings: Sequence[Binding]) -> list[str]:
    return [binding.decl() for binding in bindings]


def _defined(bindings: Sequence[Binding]) -> list[str]:
    return [binding.defn() for binding in bindings]


def _function_type(returns: CType, bindings: Sequence[Binding], pointer: str = "") -> str:
    return f"{returns.cpp_type()} {pointer}({', '.join([binding.type for binding in bindings])})"


@record("func method faithful symint cpp_no_default_args fallback_binding")
class CppSignature(Record):
    """One of the signatures of a function or method of the public API."""

    symint: bool
    faithful: bool
    method: bool
    func: FunctionSchema
    cpp_no_default_args: set[str]
    fallback_binding: bool = False

    def arguments(self) -> Sequence[Binding]:
        """Parameters."""
        return cpp.arguments(
            self.func.arguments,
            method=self.method,
            faithful=self.faithful,
            symint=self.symint,
            cpp_no_default_args=self.cpp_no_default_args,
        )

    def name(self, *, suppress_symint_suffix: bool = False) -> str:
        """Name, with the prefix of those whose public form is written by hand."""
        has_suffix = self.symint and not suppress_symint_suffix
        name = cpp.name(self.func, symint_overload=has_suffix, faithful_name_for_out_overloads=self.faithful)
        return f"__dispatch_{name}" if self.fallback_binding else name

    def decl(
        self,
        *,
        name: str | None = None,
        prefix: str = "",
        is_redispatching_fn: bool = False,
        suppress_symint_suffix: bool = False,
    ) -> str:
        """Declaration without its semicolon."""
        symbol = self.name(suppress_symint_suffix=suppress_symint_suffix) if name is None else name
        parameters = _declared(self.arguments())
        return _function(self._returns(), prefix + symbol, parameters, redispatches=is_redispatching_fn)

    def defn(self, *, name: str | None = None, prefix: str = "", is_redispatching_fn: bool = False) -> str:
        """Definition without its body."""
        symbol = self.name() if name is None else name
        return _function(self._returns(), prefix + symbol, _defined(self.arguments()), redispatches=is_redispatching_fn)

    def _returns(self) -> CType:
        return cpp.returns_type(self.func.returns, symint=self.symint)

    def ptr_type(self) -> str:
        """Type of a pointer to the function."""
        return _function_type(self._returns(), self.arguments(), "(*)")

    def type(self) -> str:
        """Type of the function."""
        return _function_type(self._returns(), self.arguments())


@record("func signature faithful_signature symint_signature symint_faithful_signature")
class CppSignatureGroup(Record):
    """Signatures of one overload as a function or as a method."""

    signature: CppSignature
    symint_signature: CppSignature | None
    faithful_signature: CppSignature | None
    symint_faithful_signature: CppSignature | None
    func: FunctionSchema

    def most_faithful_signature(self) -> CppSignature:
        """The faithful signature if there is one."""
        return self.faithful_signature or self.signature

    def signatures(self, *, symint: bool = True) -> Iterator[CppSignature]:
        """All signatures in the order of their declarations."""
        with_symint = (self.symint_signature, self.symint_faithful_signature) if symint else ()
        listed = (self.signature, self.faithful_signature, *with_symint)
        return iter([signature for signature in listed if signature is not None])

    @staticmethod
    def from_native_function(f: NativeFunction, *, method: bool, fallback_binding: bool = False) -> CppSignatureGroup:
        """Signatures of a function."""

        def signature(faithful: bool, symint: bool) -> CppSignature:
            return CppSignature(
                symint=symint,
                faithful=faithful,
                method=method,
                func=f.func,
                cpp_no_default_args=f.cpp_no_default_args,
                fallback_binding=fallback_binding,
            )

        has_faithful = f.func.arguments.tensor_options is not None or f.func.is_out_fn()
        has_symint = f.func.has_symint()
        return CppSignatureGroup(
            signature=signature(False, False),
            symint_signature=signature(False, True) if has_symint else None,
            faithful_signature=signature(True, False) if has_faithful else None,
            symint_faithful_signature=signature(True, True) if has_faithful and has_symint else None,
            func=f.func,
        )


@record("func prefix symint")
class DispatcherSignature(Record):
    """The dispatcher's signature of an overload."""

    func: FunctionSchema
    symint: bool = True
    prefix: str = ""

    @staticmethod
    def from_schema(func: FunctionSchema, *, prefix: str = "", symint: bool = True) -> DispatcherSignature:
        """Signature of a schema."""
        return DispatcherSignature(func=func, symint=symint, prefix=prefix)

    def arguments(self) -> list[Binding]:
        """Parameters."""
        return dispatcher.arguments(self.func, symint=self.symint)

    def name(self) -> str:
        """Name with its prefix."""
        return self.prefix + dispatcher_name(self.func)

    def decl(self, name: str | None = None) -> str:
        """Declaration without its semicolon."""
        return _function(self.returns_type(), self.name() if name is None else name, _declared(self.arguments()))

    def defn(self, name: str | None = None, *, is_redispatching_fn: bool = False) -> str:
        """Definition without its body."""
        symbol = self.name() if name is None else name
        return _function(self.returns_type(), symbol, _defined(self.arguments()), redispatches=is_redispatching_fn)

    def exprs(self) -> list[Expr]:
        """Parameters as expressions."""
        return [Expr(binding.name, binding.nctype) for binding in self.arguments()]

    def returns_type(self) -> CType:
        """Type that the function returns."""
        return dispatcher_returns(self.func.returns, symint=self.symint)

    def ptr_type(self) -> str:
        """Type of a pointer to the function."""
        return _function_type(self.returns_type(), self.arguments(), "(*)")

    def type(self) -> str:
        """Type of the function."""
        return _function_type(self.returns_type(), self.arguments())


@record("func symint prefix")
class NativeSignature(Record):
    """Signature of a kernel."""

    symint: bool
    func: FunctionSchema
    prefix: str = ""

    def name(self) -> str:
        """Name with its prefix."""
        return self.prefix + native_name(self.func)

    def decl(self, name: str | None = None) -> str:
        """Declaration without its semicolon."""
        return _function(self.returns_type(), self.name() if name is None else name, _declared(self.arguments()))

    def defn(self, name: str | None = None) -> str:
        """Definition without its body."""
        return _function(self.returns_type(), self.name() if name is None else name, _defined(self.arguments()))

    def ptr_type(self) -> str:
        """Type of a pointer to the function, with the names of its parameters."""
        return _function(self.returns_type(), "(*)", _defined(self.arguments()))

    def arguments(self) -> list[Binding]:
        """Parameters."""
        return native_arguments(self.func, symint=self.symint)

    def returns_type(self) -> CType:
        """Type that the function returns."""
        return cpp.returns_type(self.func.returns, symint=self.symint)

    def dispatcher_exprs(self) -> list[Expr]:
        """The dispatcher's arguments made from the parameters."""
        return translate(self.arguments(), dispatcher.arguments(self.func))


@record()
class ViewInverseSignature(Record):
    """Signature of the function that writes a view back into its base."""

    g: NativeFunctionsViewGroup

    def name(self) -> str:
        """Name without its namespace."""
        return reverse_name(self.g.view, include_namespace=False)

    def decl(self) -> str:
        """Declaration in the class of such functions."""
        schema = self.g.view.func
        return (
            f"static {_function(view_returns(schema), self.name(), _declared(op_arguments(schema, is_reverse=True)))};"
        )


@record("g name")
class StructuredImplSignature(Record):
    """Signature of the computation of a structured kernel."""

    name: str
    g: NativeFunctionsGroup

    def defn(self, name: str | None = None) -> str:
        """Definition without its body."""
        return f"TORCH_IMPL_FUNC({self.name if name is None else name})({', '.join(_defined(self.arguments()))})"

    def arguments(self) -> list[Binding]:
        """Parameters."""
        return impl_arguments(self.g)


def kernel_signature(
    f: NativeFunction, backend_index: BackendIndex, *, prefix: str = ""
) -> NativeSignature | DispatcherSignature:
    """Signature of a function's kernel: that of the dispatcher for backends outside PyTorch."""
    kernel = backend_index.get_kernel(f)
    symint = kernel is not None and kernel.supports_symint()
    if backend_index.external:
        return DispatcherSignature.from_schema(f.func, prefix=prefix, symint=symint)
    return NativeSignature(symint=symint, func=f.func, prefix=prefix)
