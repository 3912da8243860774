#pragma once
// The type of the arguments of kernels with the convention of acme_views.py.

#include <ATen/core/Tensor.h>

namespace acme {

struct View {
  at::Tensor tensor;
};

} // namespace acme
