// Kernels as a library has them that was written before its schemas: tensors by value, and vectors.
#pragma once
#include <ATen/core/Tensor.h>
#include <vector>

at::Tensor plain_scale(at::Tensor self, double by);
at::Tensor twice(at::Tensor self, std::vector<int64_t> more);
void fill(const at::Tensor& out, double value);
