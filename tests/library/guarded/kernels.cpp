#include "guarded_kernels.h"

#include <ATen/TensorOperators.h>

at::Tensor plain_scale(at::Tensor self, double by) {
  return self * by;
}

at::Tensor twice(at::Tensor self, std::vector<int64_t> more) {
  return self * (2.0 + more.size());
}

void fill(const at::Tensor& out, double value) {
  out.fill_(value);
}
