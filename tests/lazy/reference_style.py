"""Program for the reference's interpreter: lazy tensors in the style of `own_style.py`.

usage: reference_style.py ATEN BACKEND_YAML OUT
"""

from __future__ import annotations

import sys

from torchgen.api.lazy import LazyArgument, LazyIrSchema
from torchgen.api.types import BaseCType, OptionalCType, VectorCType, boolT
from torchgen.dest.lazy_ir import GenLazyIR, GenLazyNativeFuncDefinition, aten_symbol, node_ctor_inputs
from torchgen.gen_lazy_tensor import run_gen_lazy_tensor
from torchgen.model import NativeFunction


def is_needed(argument: LazyArgument) -> bool:
    """Whether the shape of a node depends on an argument."""
    kept = isinstance(argument.lazy_type, VectorCType) or argument.lazy_type == BaseCType(boolT)
    return argument.is_lazy_value or kept or argument.name in ("reduction", "dim")


class Nodes(GenLazyIR):  # type: ignore[misc]
    """Nodes with shape functions and lowerings of the backend."""

    def lowering_function(self, schema: LazyIrSchema) -> str:
        """The declaration of the backend's lowering."""
        return "acme::OpVector Lower(LoweringContext* loctx) const override;"

    def node_base_ctor_call(self, schema: LazyIrSchema) -> str:
        """The call of the base class's constructor."""
        inputs = [
            f"{value.name}.value_or(kNullValue)" if isinstance(value.lazy_type, OptionalCType) else value.name
            for value in schema.filtered_args(values=True, scalars=False)
        ]
        shape = [argument.name for argument in schema.filtered_args() if is_needed(argument)]
        hashed = [argument.name for argument in schema.filtered_args(values=False, scalars=True)]
        lines = [
            f"{self.node_base}(torch::lazy::OpKind({schema.opkind or aten_symbol(schema)}),",
            f"{{{', '.join(inputs)}}},",
            f"[&]() {{ return {schema.node_name}OutputShape({', '.join(shape)}); }},",
            f"/* num_outputs */ {len(schema.returns)},",
            f"torch::lazy::MHash({', '.join(hashed)}))",
        ]
        return ("\n" + 14 * " ").join(lines)


class Kernels(GenLazyNativeFuncDefinition):  # type: ignore[misc]
    """Kernels that compute no shapes."""

    def build_ir_node(self, func: NativeFunction, schema: LazyIrSchema) -> str:
        """The statements that find a node, or make one."""
        template = f"{schema.node_name}>({node_ctor_inputs(schema)});"
        lines = [
            f"torch::lazy::NodePtr node = torch::lazy::ReuseNode<{template}",
            "      if (!node) {",
            f"          node = torch::lazy::MakeNode<{template}",
            "          CacheNode(node);",
            "      }",
            "",
        ]
        return "\n".join(lines)


if __name__ == "__main__":
    run_gen_lazy_tensor(
        aten_path=sys.argv[1],
        source_yaml=sys.argv[2],
        output_dir=sys.argv[3],
        dry_run=False,
        impl_path=None,
        node_base="AcmeNode",
        node_base_hdr="acme/node.h",
        tensor_class="acme::AcmeTensor",
        tensor_class_hdr="acme/tensor.h",
        lazy_ir_generator=Nodes,
        native_func_definition_generator=Kernels,
        build_in_tree=False,
        per_operator_headers=True,
        backend_name="Acme",
        use_lazy_shape=False,
        backend_namespace="acme",
        get_tensor_or_wrap_number="bridge::GetTensorOrCreate",
        try_get_tensor="bridge::TryGetTensor",
        metrics_counter='TORCH_LAZY_FN_COUNTER("acme::")',
        create_tensor="AcmeTensor::Create",
        create_aten_from_ltc_tensor="acme::bridge::ToAten",
        tuple_aten_from_ltc_tensors="acme::bridge::ToAtenTuple",
        lazy_tensor_ptr="acme::AcmeTensorPtr",
        get_device_fn="acme::bridge::GetDevice",
    )
