// Kernels whose memory is that of the host, as it is on the device that `opwright new backend` makes.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <acme_npu/kernels.h>

#include <cmath>

namespace acme_npu::native {

at::Tensor gamma(const at::Tensor& self, double exponent) {
  TORCH_CHECK(self.scalar_type() == at::kFloat && self.is_contiguous(), "gamma: contiguous float32 is needed");
  auto result = at::empty_like(self);
  const auto* from = static_cast<const float*>(self.const_data_ptr());
  auto* to = static_cast<float*>(result.mutable_data_ptr());
  for (int64_t i = 0; i < self.numel(); ++i) {
    to[i] = std::pow(from[i], static_cast<float>(exponent));
  }
  return result;
}

void track(at::Tensor& mean, const at::Tensor& value, double momentum) {
  mean.mul_(1 - momentum).add_(value, momentum);
}

std::tuple<at::Tensor, at::Tensor> moments(const at::Tensor& self, int64_t dim, bool keepdim) {
  return {self.mean(dim, keepdim), self.std(dim, /*unbiased=*/false, keepdim)};
}

}  // namespace acme_npu::native
