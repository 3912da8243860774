// Functions that the formulas of derivatives.yaml call.
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/slice_scatter.h>
#include <ATen/ops/zeros.h>

namespace acme {

inline at::Tensor patches_backward(const at::Tensor& grad, c10::SymIntArrayRef sizes, int64_t size) {
  const auto across = sizes[1] / size;
  return grad.reshape_symint({sizes[0] / size, across, size, size}).transpose(1, 2).reshape_symint(sizes);
}

inline std::vector<at::Tensor> weave_backward(const at::Tensor& grad, at::ArrayRef<at::Scalar> weights) {
  std::vector<at::Tensor> grads;
  for (const auto& weight : weights) {
    grads.push_back(grad.defined() ? grad * weight : grad);
  }
  return grads;
}

// Images may lack a tangent.
inline at::Tensor weave_tangent(at::TensorList images, at::ArrayRef<at::Scalar> weights) {
  at::Tensor sum;
  for (size_t index = 0; index < images.size(); ++index) {
    const auto tangent = images[index]._fw_grad(/*level=*/0);
    if (tangent.defined()) {
      sum = sum.defined() ? sum + tangent * weights[index] : tangent * weights[index];
    }
  }
  return sum;
}

// Bands that the program does not use have no gradient.
inline at::Tensor tiles_backward(
    at::TensorList grads, c10::SymIntArrayRef sizes, const at::TensorOptions& options, int64_t size) {
  auto grad = at::zeros_symint(sizes, options);
  for (size_t index = 0; index < grads.size(); ++index) {
    if (grads[index].defined()) {
      const auto start = static_cast<int64_t>(index) * size;
      grad = at::slice_scatter_symint(grad, grads[index], 0, start, start + grads[index].sym_size(0));
    }
  }
  return grad;
}

// What `dim` has lost, if `keepdim` is false.
inline at::Tensor with_dim(const at::Tensor& tensor, int64_t dim, bool keepdim) {
  return keepdim ? tensor : tensor.unsqueeze(dim);
}

inline at::Tensor moments_backward(
    const at::Tensor& grad_mean, const at::Tensor& grad_deviation, const at::Tensor& self, const at::Tensor& mean,
    const at::Tensor& deviation, int64_t dim, bool keepdim) {
  const auto count = self.sym_size(dim);
  at::Tensor grad;
  if (grad_mean.defined()) {
    grad = (with_dim(grad_mean, dim, keepdim) / count).expand_as(self);
  }
  if (grad_deviation.defined()) {
    const auto centered = self - with_dim(mean, dim, keepdim);
    const auto slope = centered / (with_dim(deviation, dim, keepdim) * count);
    const auto part = with_dim(grad_deviation, dim, keepdim) * slope;
    grad = grad.defined() ? grad + part : part;
  }
  return grad;
}

inline at::Tensor deviation_tangent(
    const at::Tensor& self, const at::Tensor& tangent, const at::Tensor& mean, const at::Tensor& deviation,
    int64_t dim, bool keepdim) {
  const auto centered = self - with_dim(mean, dim, keepdim);
  return (centered * tangent).mean({dim}, keepdim) / deviation;
}

inline at::Tensor affine_tangent(
    const at::Tensor& self, const at::Tensor& tangent, const at::Tensor& scale, const at::Tensor& scale_tangent) {
  if (!scale.defined()) {
    return tangent.clone();
  }
  return scale_tangent.defined() ? tangent * scale + self * scale_tangent : tangent * scale;
}

}  // namespace acme
