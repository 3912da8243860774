// What the author of a library writes: the kernels that the generated code declares and calls.
#include <ATen/core/Tensor.h>
#include <ATen/ops/halves_native.h>
#include <ATen/ops/pad_to_native.h>
#include <ATen/ops/twice_native.h>

namespace at::meta {

TORCH_META_FUNC(twice)(const Tensor& self) {
  set_output_raw_strided(0, self.sizes(), {}, self.options());
}

}  // namespace at::meta

namespace at::native {

TORCH_IMPL_FUNC(twice_out)(const Tensor& self, const Tensor& out) {
  out.copy_(self).mul_(2);
}

Tensor pad_to_meta_symint(
    const Tensor& self, c10::SymInt length, const std::optional<Scalar>& value, const std::optional<Tensor>& bias) {
  auto sizes = self.sym_sizes().vec();
  sizes.back() = std::move(length);
  return self.new_empty_symint(sizes);
}

Tensor pad_to(
    const Tensor& self, int64_t length, const std::optional<Scalar>& value, const std::optional<Tensor>& bias) {
  auto sizes = self.sizes().vec();
  sizes.back() = length;
  auto padded = self.new_full(sizes, value.value_or(0));
  padded.narrow(-1, 0, self.size(-1)).copy_(self);
  return bias.has_value() ? padded.add_(*bias) : padded;
}

std::tuple<Tensor, Tensor> halves_symint(const Tensor& self, c10::SymInt at, std::optional<int64_t> dim) {
  const auto along = dim.value_or(0);
  return {self.narrow_symint(along, 0, at), self.narrow_symint(along, at, self.sym_size(along) - at)};
}

}  // namespace at::native
