"""An emitter of lazy tensors in a style of its own, as a backend outside PyTorch has it.

Its nodes get shapes from functions of the backend, and declare a lowering of their own; its kernels compute no shapes.
"""

from __future__ import annotations

from collections.abc import Sequence

from opwright.backends.choices import LazyNames
from opwright.backends.lazy import kernel, node
from opwright.backends.lazy.convention import NodeArgument
from opwright.backends.lazy.files import LazyStyle, lazy_emitters
from opwright.backends.lazy.kernel import KernelParts, constructor_arguments
from opwright.backends.lazy.node import LazyNode, input_expression
from opwright.backends.lazy_backend import RunLazyBackends
from opwright.emit.emitter import AnyEmitter, Job

NAMES = LazyNames(
    node_base="AcmeNode",
    node_base_header="acme/node.h",
    tensor_header="acme/tensor.h",
    backend_name="Acme",
    takes_shapes=False,
    namespace="acme",
    get_tensor="bridge::GetTensorOrCreate",
    try_get_tensor="bridge::TryGetTensor",
    counter='TORCH_LAZY_FN_COUNTER("acme::")',
    create_tensor="AcmeTensor::Create",
    to_aten="acme::bridge::ToAten",
    to_aten_tuple="acme::bridge::ToAtenTuple",
    tensor_pointer="acme::AcmeTensorPtr",
    get_device="acme::bridge::GetDevice",
)

#: Arguments that the shape functions take although they are neither inputs nor lists nor booleans.
NEEDED = ("reduction", "dim")


def base(own: LazyNode, names: LazyNames) -> str:
    """The call of the base class's constructor, with a shape function named after the class."""
    inputs = ", ".join([input_expression(argument) for argument in own.arguments.values])
    shape_arguments = ", ".join([argument.name for argument in own.arguments.all if is_needed(argument)])
    hashed = ", ".join([argument.name for argument in own.arguments.scalars])
    return "\n".join(
        [
            f"{names.node_base}(torch::lazy::OpKind({own.op_kind}),",
            f"              {{{inputs}}},",
            f"              [&]() {{ return {own.name}OutputShape({shape_arguments}); }},",
            f"              /* num_outputs */ {len(own.schema.returns)},",
            f"              torch::lazy::MHash({hashed}))",
        ]
    )


def is_needed(argument: NodeArgument) -> bool:
    """Whether the shape of a node depends on an argument."""
    return (
        argument.is_value or argument.type.kind == "vector" or argument.type.text == "bool" or argument.name in NEEDED
    )


def lowering(own: LazyNode) -> str:
    """The declaration of the function that lowers a node, which the backend writes by hand."""
    return "acme::OpVector Lower(LoweringContext* loctx) const override;"


def node_lookup(parts: KernelParts) -> Sequence[str]:
    """Finds the node of before, or makes one without shapes."""
    name, arguments = parts.node.name, constructor_arguments(parts.node)
    return [
        f"        torch::lazy::NodePtr node = torch::lazy::ReuseNode<{name}>({arguments});",
        "      if (!node) {",
        f"          node = torch::lazy::MakeNode<{name}>({arguments});",
        "          CacheNode(node);",
        "      }",
        "",
    ]


STYLE = LazyStyle(
    node.PLAIN._replace(base=base, lower=lowering),
    kernel.DEFAULT._replace(node=node_lookup),
)


def emitters(job: Job) -> list[AnyEmitter]:
    """The emitters of all files, in the style above."""
    return [
        emitter
        for backend in job.of(RunLazyBackends).lazy_backends
        for emitter in lazy_emitters(backend, STYLE, "acme")
    ]
