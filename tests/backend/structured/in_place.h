#pragma once

#include <ATen/core/Tensor.h>

namespace acme::native {

at::Tensor& atan2_in_place(at::Tensor& self, const at::Tensor& other);

} // namespace acme::native
