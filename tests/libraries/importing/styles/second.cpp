// Registers a kernel for an operator of the library that loads it.
#include <torch/library.h>
#include <ATen/ATen.h>
at::Tensor second(const at::Tensor& x) { return x.clone(); }
TORCH_LIBRARY_IMPL(t18, CPU, m) { m.impl("f", &second); }
