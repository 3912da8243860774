"""Classes that print the code of operators: the names of `torchgen.dest`."""

from __future__ import annotations

from opwright.torchgen.dest.lazy_ir import (
    GenLazyIR,
    GenLazyNativeFuncDefinition,
    GenLazyShapeInferenceDefinition,
    generate_non_native_lazy_ir_nodes,
)

__all__ = [
    "GenLazyIR",
    "GenLazyNativeFuncDefinition",
    "GenLazyShapeInferenceDefinition",
    "generate_non_native_lazy_ir_nodes",
]
