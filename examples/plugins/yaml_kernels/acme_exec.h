// What runs the commands of a device. Here the device is the CPU, and a command is a C++ function.
#pragma once

#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>

#include <vector>

#define ACME_EXEC(command, ...) ::acme::command(__VA_ARGS__)

namespace acme {

inline void aclnnMul(const at::Tensor& self, const at::Tensor& other, at::Tensor& out) {
  at::mul_out(out, self, other);
}

inline void aclnnInplaceRelu(at::Tensor& self) {
  self.clamp_min_(0);
}

inline void aclnnAminmax(const at::Tensor& self, int64_t axis, bool keepdim, at::Tensor& min, at::Tensor& max) {
  at::aminmax_out(min, max, self, axis, keepdim);
}

inline std::vector<int64_t> reduced(const at::Tensor& self, int64_t axis, bool keepdim) {
  std::vector<int64_t> sizes = self.sizes().vec();
  if (keepdim) {
    sizes[axis] = 1;
  } else {
    sizes.erase(sizes.begin() + axis);
  }
  return sizes;
}

} // namespace acme
