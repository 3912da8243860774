#pragma once
#include <ATen/ATen.h>

namespace torch_scatter {

// The gradient of the values that a minimum or a maximum is: each result names its value by its position.
inline at::Tensor chosen_gradient(
    const at::Tensor& grad, const at::Tensor& position, int64_t dim, c10::SymIntArrayRef sizes) {
  // The position behind the last one stands for no value.
  auto padded = sizes.vec();
  padded[dim] = padded[dim] + 1;
  return at::zeros_symint(padded, grad.options()).scatter(dim, position, grad).narrow_symint(dim, 0, sizes[dim]);
}

// The gradient of the factors of products, zero where a factor is zero.
inline at::Tensor factor_gradient(
    const at::Tensor& grad, const at::Tensor& factor, const at::Tensor& index, int64_t dim) {
  auto quotient = grad.gather(dim, index) / factor;
  return quotient.masked_fill(quotient.isnan(), 0);
}

// A number for each group, with the dimensions that the values have besides.
inline at::Tensor spread(at::Tensor count, const at::Tensor& like) {
  while (count.dim() < like.dim())
    count = count.unsqueeze(-1);
  return count.to(like.scalar_type());
}

} // namespace torch_scatter
