"""Backend files without faults, which are damaged to fuzz their loaders."""

from __future__ import annotations

from pathlib import Path

from opwright.backends.extensions import (
    EmitExtensions,
    Extension,
    KernelCandidate,
    KernelConvention,
    KernelSelector,
    WrapperFacts,
)
from opwright.plugins.cpp_names import usual_signature
from tests.backend.stub_cases import load_cases
from tests.dialects.cases import load_cases as dialect_cases

FOLDER = Path(__file__).parents[1] / "dialects" / "backend_cases"

#: Files that PyTorch's generator reads.
PLAIN_BACKENDS = [case.text for case in load_cases(("keys/", "rules/")) if not case.faults]

#: Files with all that Opwright adds.
EXTENDED_BACKENDS = [
    case.text for name in ("heads", "entries") for case in dialect_cases(f"{name}.yaml", FOLDER) if not case.faults
]

#: All files. Texts of every third length are read as PyTorch's generator reads them, which knows the first files alone.
BACKENDS = PLAIN_BACKENDS + [text if len(text) % 3 else text + "\n" for text in EXTENDED_BACKENDS]


def _first_kernel(wrapper: WrapperFacts, candidates: tuple[KernelCandidate, ...]) -> str:
    return f"return {{{candidates[0].family}}};"


#: What files may ask of plug-ins: to choose among kernels of several families, and two conventions.
EXTENSIONS = EmitExtensions(
    kernel_selectors=(Extension("acme", KernelSelector("first", _first_kernel)),),
    kernel_conventions=tuple(
        [Extension("acme", KernelConvention(name, usual_signature)) for name in ("acme_tensors", "bang_tensors")]
    ),
)

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
