"""Code of lazy tensors: the names of `torchgen.dest.lazy_ir`. Backends override the methods of its classes."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from opwright.backends import backend_codes
from opwright.backends.choices import LazyNames
from opwright.backends.lazy import kernel, node
from opwright.backends.lazy.checks import LazyFault, faults_of_inputs, faults_of_kernel, faults_of_node
from opwright.backends.lazy.kernel import KernelParts, KernelStyle, LazyKernel
from opwright.backends.lazy.node import NodeStyle
from opwright.backends.lazy_backend import NON_NATIVE_PROPERTIES
from opwright.convention import dispatcher
from opwright.torchgen.api.lazy import LazyIrSchema, getValueT, model_node, properties_of
from opwright.torchgen.api.types.signatures import DispatcherSignature, NativeSignature, kernel_signature
from opwright.torchgen.interface.faults import Invalid
from opwright.torchgen.interface.functions import (
    BackendIndex,
    BackendMetadata,
    NativeFunction,
    NativeFunctionsGroup,
    model_function,
)
from opwright.torchgen.interface.installed import installed_rules
from opwright.torchgen.interface.records import Record, record
from opwright.torchgen.interface.schema import FunctionSchema

#: The column at which the statements of kernels begin.
_INDENT = " " * 8


def _refuse(faults: Iterable[LazyFault], *refused: str) -> None:
    """Raise AssertionError with the first fault of some codes."""
    for code, message, _ in faults:
        if code in refused:
            raise Invalid(f"{message} [{code}]")


def aten_symbol(schema: LazyIrSchema) -> str:
    """Symbol of an operator, as a C++ expression."""
    return node.op_kind(model_node(schema).schema)


def node_ctor_inputs(schema: LazyIrSchema) -> str:
    """What the constructor of a node gets from its kernel, without shapes.

    Raises AssertionError for an argument that kernels cannot pass.
    """
    lazy_node = model_node(schema)
    _refuse(faults_of_inputs(lazy_node.schema.name, lazy_node.arguments), backend_codes.INPUT_LIST)
    return kernel.constructor_arguments(lazy_node)


@record()
class GenLazyIR(Record, ABC):
    """Prints the classes of nodes. Those of this class are never used again, and lowered by the backend."""

    backend_index: BackendIndex
    backend_name: str
    node_base: str
    use_lazy_shape: bool

    def _names(self) -> LazyNames:
        return LazyNames(node_base=self.node_base, takes_shapes=self.use_lazy_shape)

    def __call__(self, f: NativeFunctionsGroup | NativeFunction) -> list[str]:
        """Class of the node of a function, or of the functional one of a group."""
        function = f.functional if isinstance(f, NativeFunctionsGroup) else f
        metadata = self.backend_index.get_kernel(function)
        symint = metadata is not None and metadata.supports_symint()
        return self.gen(LazyIrSchema(function.func, symint=symint))

    def lowering_function(self, schema: LazyIrSchema) -> str:
        """Function that lowers a node; nothing in this class."""
        return node.no_lowering(model_node(schema))

    def create_function(self, schema: LazyIrSchema, node_ctor_args: str) -> str:  # noqa: ARG002
        """Function that makes a node; nothing in this class."""
        return node.no_creation(model_node(schema))

    def can_be_reused_function(self, schema: LazyIrSchema, node_ctor_args: str) -> str:  # noqa: ARG002
        """Function that tells whether a node is that of the arguments of its constructor."""
        return node.no_reuse(model_node(schema))

    def node_base_ctor_call(self, schema: LazyIrSchema) -> str:
        """Call of the base class's constructor. Raises AssertionError for a list that cannot be an input."""
        lazy_node = model_node(schema)
        _refuse(faults_of_node(lazy_node.schema, lazy_node.convention), backend_codes.INPUT_LIST)
        return node.base_call(lazy_node, self._names())

    def gen(self, schema: LazyIrSchema) -> list[str]:
        """Class of a node."""
        style = NodeStyle(
            base=lambda _, __: self.node_base_ctor_call(schema),
            create=lambda lazy_node: self.create_function(schema, lazy_node.parameters),
            reuse=lambda lazy_node: self.can_be_reused_function(schema, lazy_node.parameters),
            lower=lambda _: self.lowering_function(schema),
        )
        return [node.node_class(model_node(schema), style, self._names(), installed_rules())]


class GenTSLazyIR(GenLazyIR):
    """Prints the nodes of the TorchScript backend."""

    def lowering_function(self, schema: LazyIrSchema) -> str:
        """Function that lowers a node to an operation of TorchScript."""
        return node.lowering(model_node(schema))

    def create_function(self, schema: LazyIrSchema, node_ctor_args: str) -> str:  # noqa: ARG002
        """Function that creates a node, or reuses one."""
        return node.creation(model_node(schema))

    def can_be_reused_function(self, schema: LazyIrSchema, node_ctor_args: str) -> str:  # noqa: ARG002
        """Function that tells whether a node is that of the arguments of its constructor."""
        return node.reuse(model_node(schema))


def _joined(lines: Iterable[str]) -> str:
    """Statements of a kernel as one text, whose first line has no indentation."""
    return "\n".join(lines).removeprefix(_INDENT)


def _split(text: str) -> Sequence[str]:
    """A text as lines of a kernel."""
    return f"{_INDENT}{text}".split("\n")


@record(
    "class_method_name backend_index tensor_class gen_forced_fallback_code backend_namespace get_tensorlist"
    " get_tensor_or_wrap_number try_get_tensor metrics_counter create_tensor create_from_first_tensor"
    " create_aten_from_ltc_tensor tuple_aten_from_ltc_tensors lazy_tensor_ptr get_device_fn"
)
class GenLazyNativeFuncDefinition(Record):
    """Prints kernels that make nodes. The names are those of the backend's classes and functions."""

    backend_index: BackendIndex
    backend_namespace: str
    class_method_name: str
    tensor_class: str
    lazy_tensor_ptr: str
    create_tensor: str
    create_from_first_tensor: bool
    create_aten_from_ltc_tensor: str
    tuple_aten_from_ltc_tensors: str
    get_device_fn: str
    get_tensorlist: str
    get_tensor_or_wrap_number: str
    try_get_tensor: str
    metrics_counter: str
    gen_forced_fallback_code: bool

    def _names(self) -> LazyNames:
        return LazyNames(
            forced_fallback=self.gen_forced_fallback_code,
            namespace=self.backend_namespace,
            get_tensor_list=self.get_tensorlist,
            get_tensor=self.get_tensor_or_wrap_number,
            try_get_tensor=self.try_get_tensor,
            counter=self.metrics_counter,
            create_tensor=self.create_tensor,
            create_from_tensor=self.create_from_first_tensor,
            to_aten=self.create_aten_from_ltc_tensor,
            to_aten_tuple=self.tuple_aten_from_ltc_tensors,
            value=str(getValueT()),
            tensor_pointer=self.lazy_tensor_ptr,
            get_device=self.get_device_fn,
        )

    def _parts(self, func: NativeFunction, schema: LazyIrSchema, *refused: str) -> KernelParts:
        """A kernel as Opwright's functions print it. Raises AssertionError with a fault of the refused codes."""
        metadata, names = _kernel_of(func, self.backend_index), self._names()
        lazy_kernel = LazyKernel(model_function(func), metadata.kernel, metadata.supports_symint())
        parts = KernelParts(lazy_kernel, model_node(schema), names)
        _refuse(faults_of_kernel(lazy_kernel.function, parts.node.arguments, names), *refused)
        return parts

    def lazy_tensor_decls(self, func: NativeFunction, schema: LazyIrSchema) -> str:
        """Statements that declare a variable for each input of the node."""
        return _joined(kernel.tensors(self._parts(func, schema, backend_codes.INPUT_LIST)))

    def force_eager_fallback(
        self,
        func: NativeFunction,
        schema: LazyIrSchema,
        metadata: BackendMetadata,  # noqa: ARG002
        sig: DispatcherSignature | NativeSignature,  # noqa: ARG002
    ) -> str:
        """Statements that run the CPU's kernel if the user asks for it."""
        return _joined(kernel.fallback(self._parts(func, schema)))

    def metrics(self, func: NativeFunction, schema: LazyIrSchema) -> str:
        """Statement that counts calls."""
        return _joined(kernel.counter(self._parts(func, schema)))

    def get_device(self, func: NativeFunction, schema: LazyIrSchema) -> str:
        """Statements that find the device of the arguments."""
        return _joined(kernel.device(self._parts(func, schema, backend_codes.NO_DEVICE)))

    def shape_inference(self, func: NativeFunction, schema: LazyIrSchema) -> str:
        """Statements that compute shapes."""
        lazy_kernel = self._parts(func, schema, backend_codes.LAZY_COPY_WITHOUT_KERNEL).kernel
        lines = kernel.shapes(lazy_kernel.function, lazy_kernel.signature, lazy_kernel.name, symint=lazy_kernel.symint)
        return "\n".join(lines)

    def build_ir_node(self, func: NativeFunction, schema: LazyIrSchema) -> str:
        """Statements that find the node of before, or make one with shapes."""
        shapes = self.shape_inference(func, schema).split("\n")
        return _joined(kernel.node_lookup_with(self._parts(func, schema, backend_codes.INPUT_LIST), shapes))

    def create_lazy_tensor(self, first_tensor_name: str | None = None) -> str:
        """Function that makes a tensor. Raises AssertionError if it is a member of a tensor that is missing."""
        if self.create_from_first_tensor and first_tensor_name is None:
            raise Invalid(f"`{self.create_tensor}` is a member of the first tensor, and there is none")
        return kernel.tensor_creation(first_tensor_name or "", self._names())

    def return_aten_tensor(self, func: NativeFunction, schema: LazyIrSchema) -> str:
        """Statements that return tensors whose values the node gives."""
        parts = self._parts(func, schema, backend_codes.RESULT_COUNT, backend_codes.RESULTS_WITHOUT_TENSOR)
        first = parts.tensors[0] if parts.tensors else None
        return _joined(kernel.result_with(parts, first or "", self.create_lazy_tensor(first)))

    def __call__(self, func: NativeFunction) -> list[str]:
        """Definition of the kernel of a function. Raises AssertionError if it has none."""
        metadata = _kernel_of(func, self.backend_index)
        schema = LazyIrSchema(func.func, symint=metadata.supports_symint())
        signature = kernel_signature(func, self.backend_index)

        def printing(print_text: Callable[[NativeFunction, LazyIrSchema], str]) -> Callable[[KernelParts], Any]:
            return lambda _: _split(print_text(func, schema))

        style = KernelStyle(
            fallback=lambda _: _split(self.force_eager_fallback(func, schema, metadata, signature)),
            counter=printing(self.metrics),
            device=printing(self.get_device),
            tensors=printing(self.lazy_tensor_decls),
            node=printing(self.build_ir_node),
            result=printing(self.return_aten_tensor),
        )
        lazy_kernel = self._parts(func, schema).kernel
        return [kernel.kernel_definition(lazy_kernel, self.class_method_name, style, self._names())]


def _kernel_of(func: NativeFunction, index: BackendIndex) -> BackendMetadata:
    metadata = index.get_kernel(func)
    if metadata is None:
        raise Invalid(f"`{func.func.name}` has no kernel for {index.dispatch_key}")
    return metadata


@record()
class GenLazyShapeInferenceDefinition(Record):
    """Prints the declarations of shape functions."""

    backend_index: BackendIndex
    tensor_class: str

    def __call__(self, f: NativeFunction) -> list[str]:
        """Declaration of the shape function of a kernel; none if PyTorch has a function for these shapes."""
        metadata = _kernel_of(f, self.backend_index)
        function = model_function(f)
        if kernel.has_meta_function(function):
            return []
        # A node that cannot have the arguments is refused.
        LazyIrSchema(f.func, symint=metadata.supports_symint())
        signature = dispatcher.signature if metadata.supports_symint() else dispatcher.concrete_signature
        return [kernel.shape_declaration(metadata.kernel, signature(function))]


def generate_non_native_lazy_ir_nodes(non_native: list[dict[str, Any]], gen_lazy_ir: GenLazyIR) -> list[str]:
    """Classes of the nodes that entries of a backend file describe, which stand for no operator of PyTorch."""
    texts: list[str] = []
    for entry in non_native:
        properties = properties_of(NON_NATIVE_PROPERTIES)
        for name in entry.get("properties", ()):
            setattr(properties, name, True)
        schema = LazyIrSchema(FunctionSchema.parse(entry["func"]), properties, symint=True)
        schema.opkind = entry.get("opkind")
        texts.append(gen_lazy_ir.gen(schema)[0])
    return texts
