"""Classes that print the code of operators: the names of `torchgen.dest`."""

from __future__ import annotations

from opwright.torchgen.dest.lazy_ir import (
    GenLazyIR,
    GenLazyNativeFuncDefinition,
    GenLazyShapeInferenceDefinition,
    generate_non_native_lazy_ir_nodes,
)
from opwright.torchgen.dest.native_functions import compute_native_function_declaration
from opwright.torchgen.dest.register_dispatch_key import (
    RegisterDispatchKey,
    gen_registration_headers,
    gen_registration_helpers,
)
from opwright.torchgen.dest.ufunc import compute_ufunc_cpu, compute_ufunc_cpu_kernel, compute_ufunc_cuda

__all__ = [
    "GenLazyIR",
    "GenLazyNativeFuncDefinition",
    "GenLazyShapeInferenceDefinition",
    "RegisterDispatchKey",
    "compute_native_function_declaration",
    "compute_ufunc_cpu",
    "compute_ufunc_cpu_kernel",
    "compute_ufunc_cuda",
    "gen_registration_headers",
    "gen_registration_helpers",
    "generate_non_native_lazy_ir_nodes",
]
