// Kernels for images.
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <acme/kernels.h>

#include <cmath>

#include "elementwise.h"

namespace acme::native {

// gamma: a kernel for each overload.

at::Tensor& gamma_out(const at::Tensor& self, double exponent, at::Tensor& out) {
  for_each_element(self, out, [=](double value) { return std::pow(value, exponent); });
  return out;
}

at::Tensor gamma(const at::Tensor& self, double exponent) {
  auto out = at::empty_like(self);
  return gamma_out(self, exponent, out);
}

at::Tensor& gamma_(at::Tensor& self, double exponent) {
  return gamma_out(self, exponent, self);
}

// mix: the declared output gives the sizes and the dtype of `out`, which is allocated, resized or checked before.

void structured_mix_out::impl(
    const at::Tensor& self, const at::Tensor& other, const at::Scalar& weight, const at::Tensor& out) {
  const auto first = self.expand(out.sizes()).to(out.scalar_type());
  const auto second = other.expand(out.sizes()).to(out.scalar_type());
  out.copy_(first + (second - first) * weight);
}

// track: writes to its first argument.

void track(at::Tensor& mean, const at::Tensor& value, double momentum) {
  mean.mul_(1 - momentum).add_(value, momentum);
}

// weave and tiles: lists.

at::Tensor weave(at::TensorList images, at::ArrayRef<at::Scalar> weights) {
  auto sum = at::zeros(images[0].sizes(), images[0].options());
  for (size_t index = 0; index < images.size(); ++index) {
    sum.add_(images[index], weights[index]);
  }
  return sum;
}

std::vector<at::Tensor> tiles(const at::Tensor& self, int64_t size) {
  std::vector<at::Tensor> bands;
  for (auto& band : self.split(size)) {
    bands.push_back(band.clone());
  }
  return bands;
}

// moments: two results.

std::tuple<at::Tensor, at::Tensor> moments(const at::Tensor& self, int64_t dim, bool keepdim) {
  const auto mean = self.mean({dim}, /*keepdim=*/true);
  const auto deviation = (self - mean).square().mean({dim}, /*keepdim=*/true).sqrt();
  return keepdim ? std::tuple{mean, deviation} : std::tuple{mean.squeeze(dim), deviation.squeeze(dim)};
}

// affine: optional arguments.

at::Tensor affine(
    const at::Tensor& self, const std::optional<at::Tensor>& scale, const std::optional<at::Scalar>& offset) {
  auto result = scale.has_value() ? self * *scale : self.clone();
  return offset.has_value() ? result.add_(*offset) : result;
}

// pad_right: numbers.

at::Tensor pad_right(const at::Tensor& self, int64_t length, const at::Scalar& value) {
  auto sizes = self.sizes().vec();
  sizes.back() = length;
  auto padded = at::full(sizes, value, self.options());
  padded.narrow(-1, 0, self.size(-1)).copy_(self);
  return padded;
}

// soft_clip: its gradient needs only its result.

at::Tensor soft_clip(const at::Tensor& self, double limit) {
  auto out = at::empty_like(self);
  for_each_element(self, out, [=](double value) { return limit * std::tanh(value / limit); });
  return out;
}

at::Tensor soft_clip_backward(const at::Tensor& grad_output, const at::Tensor& output, double limit) {
  return grad_output * (1 - (output / limit).square());
}

}  // namespace acme::native
