// A loop over the elements of tensors with floating-point numbers.
#pragma once

#include <ATen/Dispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>

namespace acme {

// Writes function(x) to `out` for each element x of `self`. Both have the same sizes and the same dtype.
template <typename Function>
void for_each_element(const at::Tensor& self, const at::Tensor& out, Function function) {
  const bool in_place = self.is_non_overlapping_and_dense() && self.strides() == out.strides();
  const auto source = in_place ? self : self.contiguous();
  const auto target = in_place ? out : at::empty_like(source);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, self.scalar_type(), "for_each_element", [&] {
    const auto* from = source.const_data_ptr<scalar_t>();
    auto* to = target.mutable_data_ptr<scalar_t>();
    for (int64_t index = 0; index < source.numel(); ++index) {
      to[index] = static_cast<scalar_t>(function(static_cast<double>(from[index])));
    }
  });
  if (!in_place) {
    out.copy_(target);
  }
}

}  // namespace acme
