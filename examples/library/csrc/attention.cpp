// Kernels for attention, and the random one.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <acme/kernels.h>
#include <acme/ops.h>

#include <mutex>

#include "elementwise.h"

namespace acme::native {

at::Tensor scores(const at::Tensor& query, const at::Tensor& key, double scale) {
  return query.matmul(key.transpose(-2, -1)).mul_(scale);
}

// Composite: `acme::scores` is the operator, not its kernel, so that autograd and autocast see it.
at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, double scale) {
  return acme::scores(query, key, scale).softmax(-1).matmul(value);
}

std::tuple<at::Tensor, at::Tensor> sprinkle(
    const at::Tensor& self, double p, std::optional<at::Generator> generator) {
  auto mask = at::empty_like(self);
  auto* source = at::get_generator_or_default<at::CPUGeneratorImpl>(generator, at::detail::getDefaultCPUGenerator());
  std::lock_guard<std::mutex> lock(source->mutex_);
  // `random` gives 32 random bits.
  for_each_element(self, mask, [=](double) { return source->random() < p * 0x1p32 ? 0 : 1 / (1 - p); });
  return {self * mask, mask};
}

}  // namespace acme::native
