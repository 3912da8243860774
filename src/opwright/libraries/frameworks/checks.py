"""Checks of libraries whose kernels get borrowed tensors: what each of their frameworks can take and give."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from opwright.convention.dispatcher import returned_arguments
from opwright.dialects.nearest import schema_span, word_span
from opwright.libraries import stable_convention as stable
from opwright.libraries.declared_outputs import OutputExpression, OutputOperation, depends_on_values
from opwright.libraries.dialect.head import FRAMEWORKS
from opwright.libraries.emit.python.overloads import calls_another_form
from opwright.libraries.entry_fields import library_fields, outputs_of
from opwright.libraries.frameworks.jax_formulas import NoJax, gradient_texts, module_functions
from opwright.libraries.frameworks.view_convention import DEVICES, new_results, shared_functions, view_type
from opwright.libraries.kernels import implementations_of, python_function
from opwright.libraries.library_codes import FRAMEWORK_FIELD, FRAMEWORK_FORMULA, FRAMEWORK_SIZE, FRAMEWORK_TYPE
from opwright.libraries.operator_library import BUILD_NAMESPACE, OperatorLibrary
from opwright.model.dispatch_key import COMPOSITE_IMPLICIT
from opwright.model.native_function import NativeFunction
from opwright.schema.function import SchemaKind
from opwright.schema.types import ListType, OptionalType
from opwright.source.diagnostic import Diagnostics
from opwright.source.records import NamedTuple

_OTHER_ABI: Final = "write `abi: stable`, with kernels for PyTorch alone"
#: Names that the modules for JAX and TVM FFI give something else.
_TAKEN: Final = frozenset(("Any", "Array", "ArrayLike", "NamedTuple", "Sequence", "annotations", "library"))
#: What to take in place of a type that no framework but PyTorch has values of, by the words of the type.
_SERVES: Final = {"Generator": "int", "Device": "int", "ScalarType": "int", "MemoryFormat": "int", "Layout": "int"}
#: Dtypes that arrays of JAX cannot have.
_NOT_IN_JAX: Final = ("ComplexHalf",)


def check_library(library: OperatorLibrary, sink: Diagnostics) -> None:
    """Report what the frameworks of a library whose kernels get borrowed tensors cannot take or give."""
    functions = [
        function
        for function in library.catalog.functions
        if not function.is_synthesized and not calls_another_form(function)
    ]
    for function in functions:
        for word, message, help in _refused_fields(library, function):
            at = word_span(function, word) if word else schema_span(function)
            sink.error(FRAMEWORK_FIELD, message, at, help=help)
        _check_types(library, function, sink)
        _check_results(library, function, sink)
    if "jax" in library.frameworks:
        _check_formulas(library, sink)


class _Refused(NamedTuple):
    """Something of an entry that kernels over borrowed tensors cannot have: its word, a message and what serves."""

    word: str
    message: str
    help: str = _OTHER_ABI


def _refused_fields(library: OperatorLibrary, function: NativeFunction) -> Iterator[_Refused]:
    fields, name = library_fields(function), function.name
    if library.library.namespace == BUILD_NAMESPACE:
        yield _Refused("", f"`{name}` is in a namespace that PyTorch's builds give, and no other framework's do")
    if library.has_own_signatures:
        yield _Refused("", f"the kernels of `{name}` have signatures of their own, which only PyTorch can read")
    if function.kind is SchemaKind.out:
        message = f"`{name}` writes to an argument that PyTorch resizes, and no other framework does"
        help = "declare the functional operator: its kernel writes to results that the frameworks make"
        yield _Refused("", message, help)
    for key, kernel in function.kernels.items():
        if key is COMPOSITE_IMPLICIT and len(function.kernels) == 1:
            yield _Refused("", f"`{name}` has no kernel for CPU or CUDA", "name one in `dispatch`")
        elif key.name not in DEVICES:
            message = f"kernels over borrowed tensors are for CPU and CUDA, and `{name}` has one for `{key.name}`"
            yield _Refused(key.name, message)
        elif python_function(kernel) or implementations_of(kernel):
            message = f"`{name}` has a kernel in Python, or several for `{key.name}`, which PyTorch alone chooses among"
            yield _Refused(key.name, message)
    for word, is_there in (
        ("batch_rule", fields.batch_rule),
        ("saved", fields.saved or fields.returned_from is not None),
        ("if", fields.condition),
        ("structured", function.structured or function.structured_delegate is not None),
        ("manual_kernel_registration", function.manual_kernel_registration),
    ):
        if is_there:
            yield _Refused(word, f"`{word}` of `{name}` needs PyTorch, and its kernels get borrowed tensors")
    if name.unambiguous in _TAKEN:
        yield _Refused("", f"the Python modules of the frameworks have another `{name.unambiguous}`", "rename it")


def _named(library: OperatorLibrary, *frameworks: str) -> str:
    """Those of the frameworks that a library names, as a message calls them."""
    return " and ".join([FRAMEWORKS[name] for name in frameworks if name in library.frameworks])


def _check_types(library: OperatorLibrary, function: NativeFunction, sink: Diagnostics) -> None:
    for argument in function.arguments.all:
        at = word_span(function, str(argument))
        if stable.argument_type(argument.type) is None:
            # The same library with the stable interface has this fault.
            continue
        if view_type(argument.type) is None:
            lacking = _named(library, "jax", "tvm_ffi") or "a kernel over borrowed tensors"
            message = f"{lacking} cannot take `{argument.type}`"
            serves = next((f"`{other}`" for word, other in _SERVES.items() if word in argument.type.text), "")
            sink.error(FRAMEWORK_TYPE, message, at, help=f"write {serves}" if serves else _OTHER_ABI)
        elif argument.is_write and isinstance(argument.type, (ListType, OptionalType)) and "jax" in library.frameworks:
            message = f"JAX gives what is written as a result, and `{argument.type}` has no fixed number of them"
            help = "write an argument for each tensor, or leave `jax` out of `frameworks`"
            sink.error(FRAMEWORK_TYPE, message, at, help=help)


def _check_results(library: OperatorLibrary, function: NativeFunction, sink: Diagnostics) -> None:
    names = returned_arguments(function.schema)
    at = schema_span(function)
    for result, name in zip(function.schema.returns, names, strict=True):
        if name is None and result.type.text != "Tensor":
            message = f"a kernel over borrowed tensors writes its results into tensors, and `{result.type}` is none"
            sink.error(FRAMEWORK_TYPE, message, at, help="return a tensor, or write `abi: stable`")
            return
    new, outputs = new_results(function), outputs_of(function)
    if not new:
        return
    if len(outputs) != len(new):
        message = f"nothing says which sizes and dtypes the results of `{function.name}` have, so nobody can make them"
        sink.error(FRAMEWORK_SIZE, message, at, help="say them in `dims` and `dtypes`, or in `outputs`")
        return
    if depends_on_values(outputs):
        message = f"the results of `{function.name}` have sizes that only the kernel knows, and are made before it runs"
        sink.error(FRAMEWORK_SIZE, message, at, help=f"return tensors of the largest size and a count, or {_OTHER_ABI}")
    for output in outputs:
        if output.like is not None:
            dense = _named(library, "jax", "tvm_ffi") or "borrowed tensors"
            message = (
                f"a result of `{function.name}` has the memory format of an argument, and {dense} makes dense ones"
            )
            sink.error(FRAMEWORK_FIELD, message, output.span, help="write `contiguous`, or declare the sizes alone")
        if "jax" in library.frameworks:
            for dtype in sorted(_dtypes(output.dtype).intersection(_NOT_IN_JAX)):
                message = f"JAX has no arrays of the dtype `{dtype}`, which a result of `{function.name}` can have"
                sink.error(
                    FRAMEWORK_TYPE, message, output.span, help="choose another, or leave `jax` out of `frameworks`"
                )


def _dtypes(expression: OutputExpression) -> set[str]:
    own = {expression.text} if expression.operation is OutputOperation.dtype else set()
    return own.union(*[_dtypes(operand) for operand in expression.operands if operand is not None])


def _check_formulas(library: OperatorLibrary, sink: Diagnostics) -> None:
    functions = module_functions(shared_functions(library))
    for gradient in library.derivatives.python:
        for formula in gradient.formulas:
            try:
                gradient_texts(formula, library, functions)
            except NoJax as fault:
                message = f"{fault.message} (the gradient of `{', '.join(formula.arguments)}`)"
                sink.error(FRAMEWORK_FORMULA, message, formula.span, help=fault.help)
