"""File slots of `Register{Key}.cpp`: includes, and the functions that allocate and check outputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from opwright.cpp.text import include_line
from opwright.emit.aten.backend import Backend, has_functions_header
from opwright.emit.aten.native_aot import STUBS
from opwright.emit.aten.register.devices import hip_path
from opwright.emit.aten.units import include
from opwright.emit.emitter import FragmentContext, Job
from opwright.model.dispatch_key import (
    COMPOSITE_EXPLICIT_NON_FUNCTIONAL,
    COMPOSITE_IMPLICIT_NESTED,
    Allocation,
)
from opwright.model.native_function import NativeFunction
from opwright.release.rules import Rules

#: The operators that allocate and copy outputs of keys without allocation functions of their own.
_EMPTY_BY_DISPATCH: Final = ("empty", "empty_strided", "_copy_from_and_resize", "_copy_from")


def allocation_of(backend: Backend) -> Allocation | None:
    """How the backend allocates outputs; None if no entry names its key, or if the key cannot allocate."""
    return backend.allocation if backend.kernels or backend.generates_kernels else None


def registration_headers(
    backend: Backend, *, per_operator_headers: bool, rocm: bool, rules: Rules, native_aot: bool = False
) -> list[str]:
    """Includes of the helpers, and of the stubs of kernels compiled ahead of time."""
    headers = [
        "#include <ATen/ops/as_strided_native.h>" if per_operator_headers else "#include <ATen/NativeFunctions.h>"
    ]
    allocation = allocation_of(backend)
    if allocation is not None and allocation.header:
        header = hip_path(allocation.header) if rocm else allocation.header
        headers.append(include_line(header))
    elif per_operator_headers:
        headers += [f"#include <ATen/ops/{name}.h>" for name in _EMPTY_BY_DISPATCH]
    else:
        headers.append("#include <ATen/Functions.h>")
    if native_aot and backend.key.has_native_aot and backend.kernels:
        headers.append(STUBS)
    return [*headers, "#include <c10/macros/Macros.h>"] if rules.unused_helpers_ignored else headers


def operator_headers(functions: Iterable[NativeFunction], backend: Backend, context: FragmentContext) -> list[str]:
    """Includes that declare the kernels of functions, their operators, and their dispatch-key functions."""
    key = backend.key
    has_functions = has_functions_header(key, context)
    non_functional = key is COMPOSITE_EXPLICIT_NON_FUNCTIONAL
    if not context.options.per_operator_headers:
        files = ["NativeFunctions.h"]
        files += ["Functions.h"] if non_functional else []
        files += [f"{key.name}Functions.h"] if has_functions else []
        return [f"#include <ATen/{file}>" for file in files]
    endings = ["_native"]
    endings += [""] if non_functional else []
    endings += [f"_{key.lower}_dispatch"] if has_functions else []
    by_root = {function.root_name: function for function in functions}
    return sorted([include(function, ending) for function in by_root.values() for ending in endings])


def wrapped_functions(backend: Backend, job: Job) -> Iterator[NativeFunction]:
    """Functions with a wrapper in the files of the backend, at least one of each operator."""
    yield from backend.kernels
    if backend.key.generated_suffix:
        yield from [group.out for group in job.catalog.structured_groups]


def registration_helpers(backend: Backend, rules: Rules) -> list[str]:
    """Functions that allocate and check outputs of structured kernels, if the key can use them."""
    if backend.key is COMPOSITE_IMPLICIT_NESTED:
        return []
    create_out, create_proxy = allocation_helpers(backend)
    helpers = [
        create_out,
        # This key has only functional overloads, which never resize, and compilers report unused functions as errors.
        "" if backend.key is COMPOSITE_EXPLICIT_NON_FUNCTIONAL and backend.generates_kernels else _RESIZE_OUT,
        _CHECK_INPLACE,
        create_proxy,
    ]
    if not rules.unused_helpers_ignored:
        return helpers
    return ['C10_DIAGNOSTIC_PUSH_AND_IGNORED_IF_DEFINED("-Wunused-function")', *helpers, "C10_DIAGNOSTIC_POP()"]


def allocation_helpers(backend: Backend) -> tuple[str, str]:
    """Functions that allocate an output, and what replaces one; empty if the key cannot allocate."""
    allocation = allocation_of(backend)
    return ("", "") if allocation is None else (create_out_function(allocation), _maybe_create_proxy(allocation))


def create_out_function(allocation: Allocation) -> str:
    """Function that allocates an output."""
    empty, options = allocation.function, allocation.options
    return f"""
Tensor create_out(IntArrayRef sizes, IntArrayRef strides, const TensorOptions &options) {{
  if (strides.empty()) {{
      return {empty.format("")}(sizes, {options});
  }} else {{
      return {allocation.strided}(sizes, strides, {options});
  }}
}}
"""


def _maybe_create_proxy(allocation: Allocation) -> str:
    return f"""
std::optional<Tensor> maybe_create_proxy(const Tensor &out, IntArrayRef sizes, IntArrayRef strides, \
const TensorOptions &options) {{
  if (out.strides() != strides) {{
    return {allocation.strided}(sizes, strides, options);
  }}
  return std::nullopt;
}}
"""


_RESIZE_OUT: Final = """
void resize_out(const Tensor &out, IntArrayRef sizes, IntArrayRef strides, const TensorOptions &options) {
  TORCH_CHECK(options.dtype() == out.dtype(),
      "Expected out tensor to have dtype ", options.dtype(), ", but got ", out.dtype(), " instead");
  TORCH_CHECK(options.device() == out.device(),
      "Expected out tensor to have device ", options.device(), ", but got ", out.device(), " instead");
  const bool resized = at::native::resize_output(out, sizes);
  // Only restride if a resize occurred; otherwise we ignore the (advisory)
  // strides from the meta function and directly use the output tensor's
  // preexisting strides
  if (resized) {
    if (!strides.empty()) {
      TORCH_INTERNAL_ASSERT(!options.memory_format_opt().has_value());
      // TODO: avoid the redispatch here
      out.as_strided_(sizes, strides);
    } else if (options.memory_format_opt().has_value()) {
      out.unsafeGetTensorImpl()->empty_tensor_restride(*options.memory_format_opt());
    }
  }
}
"""

_CHECK_INPLACE: Final = """
void check_inplace(const Tensor &self, IntArrayRef sizes, const TensorOptions &options) {
  // These checks are needed on those operators that:
  //   1) don't use 'TensorIterator' (e.g. 'addmm' and 'baddbmm')
  //   2) have particular typing rules (e.g. 'cumsum' and 'cumprod')
  // For other operators (e.g. 'add'), 'TensorIterator' already checks
  // these things separately.
  TORCH_CHECK(options.dtype() == self.dtype(),
      "Bad in-place call: ",
      "input tensor dtype ", self.dtype(), " and output tensor dtype ", options.dtype(), " should match");
  TORCH_CHECK(options.device() == self.device(),
      "Bad in-place call: ",
      "input tensor device ", self.device(), " and output tensor device ", options.device(), " should match");
  TORCH_CHECK(sizes == self.sizes(),
      "Bad in-place call: ",
      "input tensor size ", self.sizes(), " and output tensor size ", sizes, " should match");
}
"""
