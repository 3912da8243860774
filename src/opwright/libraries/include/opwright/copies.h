#pragma once
// What generated kernels use that call another form of their operator: they clone what it writes, and copy its results.

#include <ATen/core/Tensor.h>
#include <ATen/native/Resize.h>
#include <c10/util/irange.h>

#include <opwright/outputs.h>

#include <vector>

namespace opwright::copies {

inline at::Tensor clone_arg(const at::Tensor& tensor) {
  return tensor.clone();
}

inline std::vector<at::Tensor> clone_arg(at::TensorList tensors) {
  std::vector<at::Tensor> clones;
  clones.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) {
    clones.push_back(tensor.clone());
  }
  return clones;
}

inline std::optional<at::Tensor> clone_arg(const std::optional<at::Tensor>& tensor) {
  return tensor.has_value() ? std::make_optional(tensor->clone()) : std::nullopt;
}

inline void copy_arg(const at::Tensor& out, const at::Tensor& result) {
  check_written("out tensor", out, result.scalar_type(), result.device());
  out.copy_(result);
}

inline void copy_arg(at::TensorList outs, at::TensorList results) {
  for (const auto index : c10::irange(results.size())) {
    copy_arg(outs[index], results[index]);
  }
}

// Gives an out tensor the sizes of a result.
inline void resize_out_helper(const at::Tensor& out, const at::Tensor& result) {
  at::native::resize_output_symint(out, result.sym_sizes());
}

inline void resize_out_helper(at::TensorList outs, at::TensorList results) {
  TORCH_CHECK(
      outs.size() == results.size(), "Expected ", results.size(), " out tensors, but got ", outs.size());
  for (const auto index : c10::irange(results.size())) {
    resize_out_helper(outs[index], results[index]);
  }
}

} // namespace opwright::copies
