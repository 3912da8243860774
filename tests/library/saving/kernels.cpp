#include <saving/kernels.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

namespace saving::native {

std::tuple<at::Tensor, at::Tensor> segment_mean(const at::Tensor& self, const at::Tensor& index, int64_t size) {
  const at::Tensor count = at::zeros({size}, self.options()).index_add(0, index, at::ones(self.size(0), self.options()));
  const at::Tensor sum = at::zeros({size, self.size(1)}, self.options()).index_add(0, index, self);
  return {sum / count.clamp_min(1).unsqueeze(1), count};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> moments(const at::Tensor& self, double eps) {
  const at::Tensor shifted = self - 1;
  return {self.sum(), shifted, shifted.square().sum() + eps};
}

} // namespace saving::native
