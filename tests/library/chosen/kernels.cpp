#include <chosen/kernels.h>

#include <ATen/TensorOperators.h>

namespace chosen::native {

at::Tensor fast(const at::Tensor& self, int64_t) {
  return self + 10;
}

at::Tensor small(const at::Tensor& self, int64_t) {
  return self + 20;
}

at::Tensor plain(const at::Tensor& self, int64_t) {
  return self + 30;
}

at::Tensor always(const at::Tensor& self, std::string_view) {
  return self + 30;
}

at::Tensor cubic(const at::Tensor& self, double, int64_t) {
  return self * self * self;
}

void fill_symint(at::Tensor& self, c10::SymInt value) {
  self.fill_(value.guard_int(__FILE__, __LINE__));
}

void fill_small(at::Tensor& self, int64_t value) {
  self.fill_(-value);
}

} // namespace chosen::native

namespace mine {

at::Tensor other(const at::Tensor& self, std::string_view) {
  return self + 20;
}

} // namespace mine
