// The functions in formulas that the author of the library wrote.
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>

#include <array>
#include <tuple>
#include <vector>

namespace graded {

inline std::tuple<at::Tensor, at::Tensor> polar_backward(
    const at::Tensor& grad_radius, const at::Tensor& grad_angle, const at::Tensor& x, const at::Tensor& y,
    const at::Tensor& radius) {
  at::Tensor dx, dy;
  if (grad_radius.defined()) {
    dx = grad_radius * x / radius;
    dy = grad_radius * y / radius;
  }
  if (grad_angle.defined()) {
    const at::Tensor scaled = grad_angle / (radius * radius);
    dx = dx.defined() ? dx - scaled * y : -(scaled * y);
    dy = dy.defined() ? dy + scaled * x : scaled * x;
  }
  return {dx, dy};
}

inline std::vector<at::Tensor> total_backward(const at::Tensor& grad, size_t count) {
  return std::vector<at::Tensor>(count, grad);
}

inline std::tuple<at::Tensor, at::Tensor, at::Tensor> affine_backward(
    const at::Tensor& grad, const at::Tensor& self, const at::Tensor& weight, const at::Scalar& alpha,
    std::array<bool, 3> mask) {
  if (!grad.defined()) {
    return {};
  }
  return {
      mask[0] ? grad * weight * alpha : at::Tensor(), mask[1] ? grad * self * alpha : at::Tensor(),
      mask[2] ? grad : at::Tensor()};
}

inline at::Tensor row_backward(const at::Tensor& grad, c10::SymIntArrayRef sizes, int64_t index) {
  at::Tensor result = at::zeros_symint(sizes, grad.options());
  result.select(0, index).copy_(grad);
  return result;
}

inline at::Tensor window_backward(const at::Tensor& grad, c10::SymIntArrayRef sizes, const c10::SymInt& start) {
  at::Tensor result = at::zeros_symint(sizes, grad.options());
  result.narrow_symint(0, start, grad.sym_size(0)).copy_(grad);
  return result;
}

inline at::Tensor bands_backward(const std::vector<at::Tensor>& grads, c10::SymIntArrayRef sizes) {
  at::Tensor result;
  for (size_t index = 0; index < grads.size(); ++index) {
    if (!grads[index].defined()) {
      continue;
    }
    if (!result.defined()) {
      result = at::zeros_symint(sizes, grads[index].options());
    }
    const c10::SymInt height = grads[index].sym_size(0);
    result.narrow_symint(0, height * static_cast<int64_t>(index), height).copy_(grads[index]);
  }
  return result;
}

}  // namespace graded
