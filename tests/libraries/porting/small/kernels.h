// The kernels of a small library, as its author wrote them for PyTorch's own C++ API.
#pragma once
#include <ATen/ATen.h>

namespace small {

at::Tensor arithmetic(const at::Tensor& x, const at::Tensor& y);
at::Tensor numbers(const at::Tensor& x, int64_t whole, double real);
std::tuple<at::Tensor, at::Tensor> made(const at::Tensor& x, int64_t n);
at::Tensor filled(const at::Tensor& x);
at::Tensor rows(const at::Tensor& x, const at::Tensor& index);
double read(const at::Tensor& x);
int64_t checked(const at::Tensor& x);
at::Tensor paired(const at::Tensor& x, const at::Tensor& y);
}  // namespace small
