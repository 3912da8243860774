"""`{Key}NativeFunctions.cpp`: the kernels of lazy tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeAlias

from opwright.cpp.namespaces import closing, opening
from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, OneFile, Slots
from opwright.emit.lazy.kernel import LazyKernel
from opwright.emit.lazy.units import ordered_functions
from opwright.model.lazy_backend import LazyBackend
from opwright.syntax.cpp import include_line

#: What the file includes between the headers of tensors and shapes and the generated headers.
_INCLUDED: Final = (
    "ATen/Functions.h",
    "ATen/native/TensorConversions.h",
    "ATen/NativeFunctions.h",
    "ATen/CompositeExplicitAutogradNonFunctionalFunctions.h",
    "ATen/MetaFunctions.h",
    "ATen/Operators.h",
    "ATen/native/CPUFallback.h",
    "torch/csrc/lazy/core/ir_builder.h",
    "torch/csrc/lazy/core/lazy_graph_executor.h",
    "torch/csrc/lazy/core/metrics.h",
    "torch/csrc/lazy/core/shape.h",
)
_FALLBACK: Final = "torch/csrc/lazy/ts_backend/ts_eager_fallback.h"

_EMPTY_META: Final = ", ".join(
    [
        "tensor.sym_sizes()",
        "tensor.sym_strides()",
        "/*dtype=*/tensor.scalar_type()",
        "/*layout=*/tensor.layout()",
        "/*device=*/c10::Device(c10::kMeta)",
        "/*pin_memory=*/std::nullopt",
    ]
)
#: The functions that give a meta tensor for each tensor.
_TO_META: Final = f"""\
at::Tensor to_meta(const at::Tensor& tensor) {{
  // undefined tensors can't be converted to the meta device, since they don't have sizes/strides
  if (!tensor.defined()) return tensor;
  auto out = at::native::empty_strided_meta_symint({_EMPTY_META});
  // needs to handle wrapped numbers, so dtype promotion works properly.
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) {{
    out.unsafeGetTensorImpl()->set_wrapped_number(true);
  }}
  return out;
}}
std::optional<at::Tensor> to_meta(const std::optional<at::Tensor>& tensor) {{
  if (tensor.has_value()) {{
    return to_meta(*tensor);
  }}
  return std::nullopt;
}}

std::vector<at::Tensor> to_meta(at::ITensorListRef t_list) {{
  std::vector<at::Tensor> outs;
  outs.reserve(t_list.size());
  for (const auto& tensor : t_list) {{
    outs.push_back(to_meta(tensor));
  }}
  return outs;
}}
"""


#: Prints a kernel, a member of a class.
PrintKernel: TypeAlias = Callable[[LazyKernel, str, FragmentContext], str]


def native_functions_source(backend: LazyBackend, print_kernel: PrintKernel, family: str) -> AnyEmitter:
    """The emitter of the kernels."""
    name = backend.backend.display_name
    return Emitter(
        name=f"{name.lower()}_native_functions_source",
        family=family,
        template="lazy/DispatchKeyNativeFunctions.cpp",
        folder=family,
        units=partial(_kernels, backend),
        fragment=partial(_fragment, backend.backend.class_name, print_kernel),
        file_slots=partial(_file_slots, backend),
        layout=OneFile(f"{name}NativeFunctions.cpp"),
    )


def _kernels(backend: LazyBackend, job: Job) -> Sequence[LazyKernel]:
    kernels = {entry.function: entry.kernel for entry in backend.generated}
    functions = ordered_functions(kernels.keys(), job)
    return [LazyKernel(function, kernels[function].name, kernels[function].symint) for function in functions]


def _fragment(owner: str, print_kernel: PrintKernel, kernel: LazyKernel, context: FragmentContext) -> Slots:
    return {"native_function_definitions": [print_kernel(kernel, owner, context)]}


def _file_slots(backend: LazyBackend, job: Job) -> Slots:
    names, folder = job.options.lazy, job.options.backend_folder
    generated = (f"{folder}{backend.backend.display_name}NativeFunctions.h", f"{folder}LazyIr.h")
    paths = [names.tensor_header, f"{names.shape_header}", *_INCLUDED, *generated]
    paths += [_FALLBACK] if names.forced_fallback else []
    namespace = backend.backend.cpp_namespace
    return {
        "includes": list(map(include_line, paths)),
        "native_functions_include": "",
        "helper_fns": _TO_META,
        "native_function_definitions": [],
        "namespace_prologue": opening(namespace),
        "namespace_epilogue": closing(namespace),
    }
