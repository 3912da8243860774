"""Backend files without faults, which are damaged to fuzz their loaders."""

from __future__ import annotations

from tests.backend.stub_cases import load_cases

#: Files that PyTorch's own generator reads.
BACKENDS = [case.text for case in load_cases(("keys/", "rules/")) if not case.faults]

#: A file with lazy tensors.
LAZY_BACKENDS = [
    """\
backend: Lazy
cpp_namespace: acme::lazy
full_codegen:
  - abs
  - add.Tensor
  - arange.start_out
  - clamp
  - convolution_backward
  - expand_copy
  - native_batch_norm
  - slice_copy.Tensor
supported:
  - as_strided
  - empty.memory_format
autograd:
  - max_pool3d
symint:
  - expand_copy
  - slice_copy.Tensor
ir_gen:
  - selu
non_native:
  - func: scalar(Scalar value, ScalarType type) -> Tensor
    opkind: at::prim::Constant
    properties:
      - ShapeCompute
      - TreatScalarsAsConstants
  - func: cast(Tensor? input, SymInt[] size, str? text, *, Generator? generator) -> (Tensor, Tensor)
    properties: [Lower, CreateFn, CanBeReusedDeclOnly]
"""
]
