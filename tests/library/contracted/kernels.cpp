// The kernels: each writes into tensors that have the sizes of its results.
#include <contracted/kernels.h>

#include <ATen/ATen.h>

namespace contracted::native {

void rms_norm(at::Tensor& result, const at::Tensor& input, const at::Tensor& weight, double eps) {
  at::mul_out(result, input * (input.square().mean(-1, true) + eps).rsqrt(), weight);
}

at::Tensor rms_norm_backward(const at::Tensor& grad, const at::Tensor& input, const at::Tensor& weight, double eps) {
  const auto scale = (input.square().mean(-1, true) + eps).rsqrt();
  const auto weighted = grad * weight;
  return scale * (weighted - input * scale.square() * (weighted * input).mean(-1, true));
}

void extremes(at::Tensor& low, at::Tensor& high, const at::Tensor& x, int64_t count) {
  TORCH_CHECK(low.numel() == count && high.numel() == count);
  const auto sorted = std::get<0>(x.flatten().sort());
  low.copy_(sorted.slice(0, 0, count));
  high.copy_(sorted.slice(0, sorted.numel() - count));
}

at::Tensor halve(at::Tensor& result, const at::Tensor& self) {
  return at::div_out(result, self, at::scalar_tensor(2, self.options()));
}

} // namespace contracted::native
