#pragma once
// What the wrappers of structured kernels share: they check and resize outputs that the caller provides.

#include <ATen/core/Tensor.h>
#include <ATen/native/Resize.h>

namespace opwright {

// Checks an out tensor, and resizes it if it has other sizes. Strides are only advice: a tensor that keeps its size
// keeps its strides.
inline void resize_out(
    const at::Tensor& out,
    at::IntArrayRef sizes,
    at::IntArrayRef strides,
    const at::TensorOptions& options) {
  TORCH_CHECK(
      options.dtype() == out.dtype(),
      "Expected out tensor to have dtype ", options.dtype(), ", but got ", out.dtype(), " instead");
  TORCH_CHECK(
      options.device() == out.device(),
      "Expected out tensor to have device ", options.device(), ", but got ", out.device(), " instead");
  if (!at::native::resize_output(out, sizes)) {
    return;
  }
  if (!strides.empty()) {
    TORCH_INTERNAL_ASSERT(!options.memory_format_opt().has_value());
    out.as_strided_(sizes, strides);
  } else if (options.memory_format_opt().has_value()) {
    out.unsafeGetTensorImpl()->empty_tensor_restride(*options.memory_format_opt());
  }
}

// Checks a tensor that the result replaces.
inline void check_inplace(const at::Tensor& self, at::IntArrayRef sizes, const at::TensorOptions& options) {
  TORCH_CHECK(
      options.dtype() == self.dtype(),
      "Bad in-place call: input tensor dtype ", self.dtype(), " and output tensor dtype ", options.dtype(),
      " should match");
  TORCH_CHECK(
      options.device() == self.device(),
      "Bad in-place call: input tensor device ", self.device(), " and output tensor device ", options.device(),
      " should match");
  TORCH_CHECK(
      sizes == self.sizes(),
      "Bad in-place call: input tensor size ", self.sizes(), " and output tensor size ", sizes, " should match");
}

} // namespace opwright
