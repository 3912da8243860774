// The kernels of shims.yaml.
#include <acme/kernels.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/add.h>
#include <ATen/ops/mul.h>

using at::Tensor;

namespace acme::native {

std::tuple<Tensor, Tensor> blend(
    const Tensor& self,
    const std::optional<Tensor>& other,
    at::IntArrayRef sizes,
    double weight,
    std::optional<at::Device> device) {
  const auto low = self * weight + static_cast<int64_t>(sizes.size());
  return {low, other.has_value() ? low + *other : low * 2};
}

Tensor scale_wide(const Tensor& self, const at::Scalar& factor) {
  return self * factor;
}

Tensor scale_symint(const Tensor& self, double factor, c10::SymIntArrayRef shape) {
  return self.reshape_symint(shape) * factor;
}

Tensor count(const Tensor& self, Tensor& seen) {
  seen.add_(self.numel());
  return self + 0;
}

std::vector<Tensor> pieces(const Tensor& self) {
  return {self + 0};
}

Tensor abs_of(const Tensor& self) {
  return self + 0;
}

} // namespace acme::native
