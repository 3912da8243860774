"""The shapes of a kernel's results: from PyTorch's meta functions, or from shape functions that a header declares."""

from __future__ import annotations

from collections.abc import Iterator

from opwright.convention import dispatcher
from opwright.cpp.signature import Signature
from opwright.model.native_function import NativeFunction

__all__ = ["has_meta_function", "shape_declaration", "shapes"]

#: The tag of copying forms of views, whose shapes follow from the view.
VIEW_COPY = "view_copy"


def has_meta_function(function: NativeFunction) -> bool:
    """Whether PyTorch has a function that gives the shapes of a function's results."""
    return function.in_structured_group or VIEW_COPY in function.tags


def shape_declaration(kernel_name: str, signature: Signature) -> str:
    """The line that declares the shape function of a kernel."""
    parameters = signature.definition_parameters
    return f"TORCH_API std::vector<torch::lazy::Shape> compute_shape_{kernel_name}({parameters});"


def shapes(function: NativeFunction, signature: Signature, kernel_name: str, *, symint: bool) -> Iterator[str]:
    """The statements that compute the shapes, check their number, and find symbolic sizes."""
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
    """The call of the meta function with meta tensors. The columns are those of PyTorch's own files."""
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
