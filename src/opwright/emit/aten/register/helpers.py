"""What `Register{Key}.cpp` has once: its includes, and the functions that structured kernels get outputs from."""

from __future__ import annotations

from typing import Final

from opwright.emit.aten.backend import Backend, has_functions_header
from opwright.emit.aten.native_aot import STUBS
from opwright.emit.emitter import Job
from opwright.model.dispatch_key import (
    COMPOSITE_EXPLICIT_NON_FUNCTIONAL,
    COMPOSITE_IMPLICIT_NESTED,
    CPU,
    CUDA,
    META,
    MPS,
    MTIA,
    XPU,
    DispatchKey,
    key_named,
)
from opwright.release.rules import Rules

#: Where `at::detail::empty_KEY` is declared, by key.
_EMPTY_TENSOR: Final = {
    CPU: "ATen/EmptyTensor.h",
    META: "ATen/EmptyTensor.h",
    CUDA: "ATen/cuda/EmptyTensor.h",
    MPS: "ATen/mps/EmptyTensor.h",
    XPU: "ATen/xpu/EmptyTensor.h",
    MTIA: "ATen/native/mtia/EmptyTensor.h",
}
_EMPTY_BY_DISPATCH: Final = ("empty", "empty_strided", "_copy_from_and_resize", "_copy_from")

#: Keys without such functions that make outputs by `at::empty`.
_AT_EMPTY: Final = (COMPOSITE_EXPLICIT_NON_FUNCTIONAL, key_named("QuantizedCPU"), key_named("QuantizedCUDA"))


def acting_key(backend: Backend) -> DispatchKey | None:
    """The backend's key; None where no entry names it, for such a key has nothing of its own."""
    return backend.key if backend.kernels else None


def registration_headers(
    backend: Backend, *, per_operator_headers: bool, rocm: bool, native_aot: bool = False
) -> list[str]:
    """The includes that the helpers need, and the stubs of kernels compiled ahead of time."""
    headers = [
        "#include <ATen/ops/as_strided_native.h>" if per_operator_headers else "#include <ATen/NativeFunctions.h>"
    ]
    key = acting_key(backend)
    if key is CUDA and rocm:
        headers.append("#include <ATen/hip/EmptyTensor.h>")
    elif key in _EMPTY_TENSOR:
        headers.append(f"#include <{_EMPTY_TENSOR[key]}>")
    elif per_operator_headers:
        headers += [f"#include <ATen/ops/{name}.h>" for name in _EMPTY_BY_DISPATCH]
    else:
        headers.append("#include <ATen/Functions.h>")
    if native_aot and key is CUDA:
        headers.append(STUBS)
    return [*headers, "#include <c10/macros/Macros.h>"]


def device_headers(key: DispatchKey, *, rocm: bool, rules: Rules) -> str:
    """The includes for device guards, of CUDA keys only."""
    if key.family != "cuda":
        return ""
    if not rocm:
        paths = [
            "c10/cuda/CUDAGuard.h",
            "ATen/cuda/ATenCUDAGeneral.h",
            "ATen/cuda/CUDADevice.h",
            "ATen/cuda/CUDAContext.h",
        ]
    else:
        guard = "c10/hip/HIPGuard.h" if rules.plain_hip_guards else "ATen/hip/impl/HIPGuardImplMasqueradingAsCUDA.h"
        paths = [guard, "ATen/hip/ATenHIPGeneral.h", "ATen/hip/HIPDevice.h", "ATen/hip/HIPContext.h"]
    return "\n".join([f"#include <{path}>" for path in paths])


def operator_headers(backend: Backend, job: Job) -> list[str]:
    """The includes that declare the kernels, what they are registered for, and the functions defined here."""
    key = backend.key
    has_functions = has_functions_header(key, job)
    non_functional = key is COMPOSITE_EXPLICIT_NON_FUNCTIONAL
    if not job.options.per_operator_headers:
        files = ["NativeFunctions.h"]
        files += ["Functions.h"] if non_functional else []
        files += [f"{key.name}Functions.h"] if has_functions else []
        return [f"#include <ATen/{file}>" for file in files]
    endings = ["_native"]
    endings += [""] if non_functional else []
    endings += [f"_{key.lower}_dispatch"] if has_functions else []
    names = {function.root_name for function in backend.kernels}
    if key in (META, COMPOSITE_EXPLICIT_NON_FUNCTIONAL):
        names.update(group.root_name for group in job.catalog.structured_groups)
    return sorted([f"#include <ATen/ops/{name}{ending}.h>" for name in names for ending in endings])


def registration_helpers(backend: Backend) -> list[str]:
    """The functions that make and check outputs of structured kernels, those of them that the key can use."""
    if backend.key is COMPOSITE_IMPLICIT_NESTED:
        return []
    key = acting_key(backend)
    empty = _empty_function(key)
    return [
        'C10_DIAGNOSTIC_PUSH_AND_IGNORED_IF_DEFINED("-Wunused-function")',
        _create_out(empty, "options.device(at::kMeta)" if key is META else "options") if empty else "",
        # Only functional overloads are made for this key: nothing there resizes, and unused functions are errors.
        "" if key is COMPOSITE_EXPLICIT_NON_FUNCTIONAL else _RESIZE_OUT,
        _CHECK_INPLACE,
        _maybe_create_proxy(empty) if empty else "",
        "C10_DIAGNOSTIC_POP()",
    ]


def _empty_function(key: DispatchKey | None) -> str:
    """The pattern of the names of the functions that allocate outputs: `{}` is nothing or `_strided`."""
    if key in _AT_EMPTY:
        return "at::empty{}"
    return f"at::detail::empty{{}}_{key.lower}" if key in _EMPTY_TENSOR and key is not None else ""


def _create_out(empty: str, options: str) -> str:
    return f"""
Tensor create_out(IntArrayRef sizes, IntArrayRef strides, const TensorOptions &options) {{
  if (strides.empty()) {{
      return {empty.format("")}(sizes, {options});
  }} else {{
      return {empty.format("_strided")}(sizes, strides, {options});
  }}
}}
"""


def _maybe_create_proxy(empty: str) -> str:
    return f"""
std::optional<Tensor> maybe_create_proxy(const Tensor &out, IntArrayRef sizes, IntArrayRef strides, \
const TensorOptions &options) {{
  if (out.strides() != strides) {{
    return {empty.format("_strided")}(sizes, strides, options);
  }}
  return std::nullopt;
}}
"""


def _mismatch(what: str, *lines: str) -> str:
    """A check with a message over several lines."""
    return f"  TORCH_CHECK({what},\n" + ",\n".join([f"      {line}" for line in lines]) + ");"


def _expected(property: str) -> str:
    wanted, actual = f"options.{property}()", f"out.{property}()"
    return _mismatch(
        f"{wanted} == {actual}",
        f'"Expected out tensor to have {property} ", {wanted}, ", but got ", {actual}, " instead"',
    )


def _bad_call(property: str, what: str, wanted: str) -> str:
    actual = f"self.{what}()"
    return _mismatch(
        f"{wanted} == {actual}",
        '"Bad in-place call: "',
        f'"input tensor {property} ", {actual}, " and output tensor {property} ", {wanted}, " should match"',
    )


_RESIZE_OUT: Final = f"""
void resize_out(const Tensor &out, IntArrayRef sizes, IntArrayRef strides, const TensorOptions &options) {{
{_expected("dtype")}
{_expected("device")}
  const bool resized = at::native::resize_output(out, sizes);
  // Only restride if a resize occurred; otherwise we ignore the (advisory)
  // strides from the meta function and directly use the output tensor's
  // preexisting strides
  if (resized) {{
    if (!strides.empty()) {{
      TORCH_INTERNAL_ASSERT(!options.memory_format_opt().has_value());
      // TODO: avoid the redispatch here
      out.as_strided_(sizes, strides);
    }} else if (options.memory_format_opt().has_value()) {{
      out.unsafeGetTensorImpl()->empty_tensor_restride(*options.memory_format_opt());
    }}
  }}
}}
"""

_CHECK_INPLACE: Final = f"""
void check_inplace(const Tensor &self, IntArrayRef sizes, const TensorOptions &options) {{
  // These checks are needed on those operators that:
  //   1) don't use 'TensorIterator' (e.g. 'addmm' and 'baddbmm')
  //   2) have particular typing rules (e.g. 'cumsum' and 'cumprod')
  // For other operators (e.g. 'add'), 'TensorIterator' already checks
  // these things separately.
{_bad_call("dtype", "dtype", "options.dtype()")}
{_bad_call("device", "device", "options.device()")}
{_bad_call("size", "sizes", "sizes")}
}}
"""
