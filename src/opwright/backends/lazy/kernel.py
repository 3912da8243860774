"""Kernels of lazy tensors: a kernel makes a node for its result, with its shape, or finds the one of before.

A backend that makes nodes in its own way replaces some of the functions here: see `KernelStyle`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from opwright.backends.choices import LazyNames
from opwright.backends.lazy.convention import NodeArgument
from opwright.backends.lazy.node import LazyNode, node_of, op_kind
from opwright.convention import dispatcher
from opwright.cpp.signature import Signature
from opwright.cpp.translation import translate
from opwright.model.native_function import NativeFunction
from opwright.schema.function import SchemaKind
from opwright.source.records import NamedTuple

#: The tag of copying forms of views, whose shapes follow from the view.
VIEW_COPY = "view_copy"


def has_meta_function(function: NativeFunction) -> bool:
    """Whether PyTorch has a function that gives the shapes of a function's results."""
    return function.in_structured_group or VIEW_COPY in function.tags


def shape_declaration(kernel_name: str, signature: Signature) -> str:
    """Line that declares the shape function of a kernel."""
    parameters = signature.definition_parameters
    return f"TORCH_API std::vector<torch::lazy::Shape> compute_shape_{kernel_name}({parameters});"


def shapes(function: NativeFunction, signature: Signature, kernel_name: str, *, symint: bool) -> Iterator[str]:
    """Statements that compute the shapes, check their number, and find symbolic sizes."""
    names = ", ".join([argument.name for argument in signature.bindings])
    if has_meta_function(function):
        yield from _meta_shapes(function, symint=symint)
    else:
        yield ""
        yield f"            auto shapes = torch::lazy::compute_shape_{kernel_name}({names});"
    yield f"            TORCH_INTERNAL_ASSERT(shapes.size() == {len(function.schema.returns)});"
    yield "            if(torch::lazy::symbolicShapeEnabled()){"
    yield f"                std::vector<torch::jit::IValue> inputs = {{ {names} }};"
    yield f'                const char* schema_str = "aten::{function.schema}";'
    yield "                applySymbolicShapesOnLT(schema_str, inputs, shapes);"
    yield "            }"
    yield ""


def _meta_shapes(function: NativeFunction, *, symint: bool) -> Iterator[str]:
    """Call of the meta function with meta tensors. The columns are those of PyTorch's files."""
    parameters = dispatcher.signature(function).bindings
    tensors = [parameter.name for parameter in parameters if dispatcher.is_tensor_like(parameter)]
    conversions = [f"auto {name}_meta = to_meta({name});" for name in tensors]
    yield "                    " + "\n        ".join(conversions) if conversions else ""
    values = [f"{parameter.name}_meta" if parameter.name in tensors else parameter.name for parameter in parameters]
    namespace = "compositeexplicitautogradnonfunctional" if VIEW_COPY in function.tags else "meta"
    suffix = "_symint" if symint and function.schema.has_symint else ""
    yield f"        auto out_meta = at::{namespace}::{function.name.name}{suffix}({', '.join(values)});"
    count = len(function.schema.returns)
    if count > 1:
        results = [_shape(f"std::get<{index}>(out_meta)") for index in range(count)]
        yield f"        std::vector<torch::lazy::Shape> shapes{{{','.join(results)}}};"
    else:
        yield ""
        yield f"std::vector<torch::lazy::Shape> shapes{{{_shape('out_meta')}}};"


def _shape(tensor: str) -> str:
    return f"torch::lazy::Shape({tensor}.scalar_type(), {tensor}.sizes().vec())"


class LazyKernel(NamedTuple):
    """Kernel of a function: its name, and whether it takes symbolic integers."""

    function: NativeFunction
    name: str
    symint: bool

    @property
    def signature(self) -> Signature:
        """The kernel's signature."""
        signature = dispatcher.signature if self.symint else dispatcher.concrete_signature
        return signature(self.function)


class KernelParts(NamedTuple):
    """What the functions of a style print from: a kernel, the node that it makes, and the names of the backend."""

    kernel: LazyKernel
    node: LazyNode
    names: LazyNames

    @property
    def tensors(self) -> list[str]:
        """Names of the inputs of the node that are not made from numbers."""
        return [argument.name for argument in self.node.arguments.values if not argument.is_number]


class KernelStyle(NamedTuple):
    """Functions that print the statements of a kernel, in their order. Each gives lines, with their indentation."""

    fallback: Callable[[KernelParts], Sequence[str]]
    counter: Callable[[KernelParts], Sequence[str]]
    device: Callable[[KernelParts], Sequence[str]]
    tensors: Callable[[KernelParts], Sequence[str]]
    node: Callable[[KernelParts], Sequence[str]]
    result: Callable[[KernelParts], Sequence[str]]


def kernel_definition(kernel: LazyKernel, owner: str, style: KernelStyle, names: LazyNames) -> str:
    """Definition of a kernel, a member of the class `owner`, with two empty lines after it."""
    node = node_of(kernel.function, names.value, symint=kernel.symint)
    parts = KernelParts(kernel, node, names)
    body = [line for print_lines in style for line in print_lines(parts)]
    head = kernel.signature.definition(f"{owner}::{kernel.name}")
    return "\n".join([f"    {head} {{", *body, "    }", "", "", ""])


def fallback(parts: KernelParts) -> Sequence[str]:
    """Runs the CPU's kernel if the user asks for it."""
    if not parts.names.forced_fallback:
        return [""]
    function, name = parts.kernel.function, parts.kernel.function.name
    overload = f"ATEN_OP2({name.name}, {name.overload})" if name.overload else f"ATEN_OP({name.name})"
    arguments = translate(parts.kernel.signature.bindings, dispatcher.signature(function).bindings)
    return [
        "",
        f"        if (force_eager_fallback({op_kind(function.schema)})) {{",
        f"            return at::native::call_fallback_fn_symint<&ltc_eager_fallback, {overload}>::call(",
        "                " + ",\n                ".join(arguments),
        "            );",
        "        }",
        "",
    ]


def counter(parts: KernelParts) -> Sequence[str]:
    """Counts the calls of the kernel."""
    return [f"        {parts.names.counter};"]


def device(parts: KernelParts) -> Sequence[str]:
    """Finds the device of the arguments."""
    scalars = parts.node.arguments.scalars
    devices = [scalar.name for scalar in scalars if scalar.argument.type.text == "Device?"]
    return [
        f"        auto common_device = {parts.names.get_device}({', '.join(parts.tensors + devices)});",
        "        TORCH_INTERNAL_ASSERT(common_device);",
        "",
    ]


def tensors(parts: KernelParts) -> Sequence[str]:
    """Declares a variable for each input of the node."""
    inputs = [value for value in parts.node.arguments.values if not value.is_symbolic]
    return [line for value in inputs for line in _input_lines(value, parts.names)] or [""]


_FROM_NUMBER: Final = "GetIrValueForScalarFromCodegen"
_EXECUTOR: Final = "torch::lazy::LazyGraphExecutor::Get()->"


def _input_lines(argument: NodeArgument, names: LazyNames) -> list[str]:
    name = argument.name
    if argument.is_number and argument.is_optional:
        return [
            f"        auto node_{name} = {name} ?",
            f"                std::make_optional({_EXECUTOR}",
            f"                    {_FROM_NUMBER}(*{name}, *common_device)):",
            "                ::std::nullopt;",
        ]
    if argument.is_number:
        return [
            f"        auto node_{name} = {_EXECUTOR}",
            f"                            {_FROM_NUMBER}({name}, *common_device);",
        ]
    if argument.is_tensor_list:
        return [f"        auto lazy_{name}_tensorlist = {names.namespace}::{names.get_tensor_list}({name});"]
    get = f"{names.get_tensor}({name}, *common_device)"
    if argument.is_optional:
        get = f"{names.try_get_tensor}({name}.value_or(at::Tensor()))"
    return [f"        {names.tensor_pointer} lazy_{name} = {names.namespace}::{get};"]


def node_lookup(parts: KernelParts) -> Sequence[str]:
    """Finds the node of before, or makes one with shapes."""
    kernel = parts.kernel
    return node_lookup_with(parts, shapes(kernel.function, kernel.signature, kernel.name, symint=kernel.symint))


def node_lookup_with(parts: KernelParts, shape_lines: Iterable[str]) -> Sequence[str]:
    """Finds the node of before, or makes one with shapes that these statements compute."""
    node = parts.node
    inputs = constructor_arguments(node)
    with_shapes = ", ".join([inputs, "std::move(shapes)"] if inputs else ["std::move(shapes)"])
    return [
        f"        torch::lazy::NodePtr node = torch::lazy::ReuseNode<{node.name}>({inputs});",
        "        if (!node) {",
        *shape_lines,
        f"            node = torch::lazy::MakeNode<{node.name}>({with_shapes});",
        "            CacheNode(node);",
        "        }",
        "",
    ]


def constructor_arguments(node: LazyNode) -> str:
    """What the constructor of a node gets from its kernel, without shapes."""
    arguments = node.arguments.all
    return ", ".join(
        [
            _value_input(node_argument) if node_argument.is_value else _scalar_input(node_argument)
            for node_argument in arguments
        ]
    )


def _value_input(argument: NodeArgument) -> str:
    name = argument.name
    if argument.is_number:
        return f"node_{name}"
    if argument.is_symbolic:
        return _if_present(name, f"GetSymIntValue(*{name})") if argument.is_optional else f"GetSymIntValue({name})"
    if argument.is_optional:
        return _if_present(f"lazy_{name}", f"lazy_{name}->GetIrValue()")
    return f"lazy_{name}_tensorlist" if argument.is_tensor_list else f"lazy_{name}->GetIrValue()"


def _if_present(name: str, value: str) -> str:
    return f"{name} ? std::make_optional({value}) : ::std::nullopt"


def _scalar_input(argument: NodeArgument) -> str:
    name, type = argument.name, argument.type
    if argument.takes_symbols and type.kind == "vector":
        return f"GetSymIntArrayRefValue({name})"
    if type.kind == "vector" and type.elem.kind == "base":
        return f"std::vector<{type.elem.text}>({name}.begin(), {name}.end())"
    if type.kind == "optional" and type.elem.kind == "vector" and type.elem.elem.kind == "base":
        return f"torch::lazy::ToOptionalVector<{type.elem.elem.text}>({name})"
    return name


def result(parts: KernelParts) -> Sequence[str]:
    """Returns tensors whose values the node gives."""
    first = parts.tensors[0] if parts.tensors else ""
    return result_with(parts, first, tensor_creation(first, parts.names))


def tensor_creation(first: str, names: LazyNames) -> str:
    """Function that makes a tensor, which may be a member of the first tensor."""
    return f"{first}.{names.create_tensor}" if names.create_from_tensor else f"{names.namespace}::{names.create_tensor}"


def result_with(parts: KernelParts, first: str, create: str) -> Sequence[str]:
    """Statements that return results, with the first tensor and the function that makes tensors."""
    schema, names = parts.kernel.function.schema, parts.names
    count = len(schema.returns)
    if schema.kind in (SchemaKind.inplace, SchemaKind.out, SchemaKind.scratch):
        lines = [f"        lazy_{first}->SetInPlaceIrValue(node);", f"        auto& result = {first};"]
    elif count > 1:
        lines = [
            f"        std::vector<{names.tensor_pointer}> lazy_tensors;",
            f"        for (int i = 0; i < {count}; i++) {{",
            f"            lazy_tensors.push_back({create}({names.value}(node, i), *common_device));",
            "        }",
            f"        auto result = {names.to_aten_tuple}<{count}>(lazy_tensors);",
        ]
    else:
        lines = [
            f"        auto result = {names.to_aten}(",
            f"                {create}(std::move(node), *common_device));",
        ]
    return [*lines, "        return result;"]


#: The kernels of all backends, unless they have functions of their own.
DEFAULT: Final = KernelStyle(fallback, counter, device, tensors, node_lookup, result)
