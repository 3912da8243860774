// A structured operator, and a view.
#include <acme/kernels.h>

namespace acme::native {

void structured_patches_out::impl(const at::Tensor& self, int64_t size, const at::Tensor& out) {
  const auto squares = self.unfold(0, size, size).unfold(1, size, size);
  out.copy_(squares.reshape(out.sizes()));
}

at::Tensor rows_symint(const at::Tensor& self, c10::SymInt start, c10::SymInt length) {
  return self.narrow_symint(0, std::move(start), std::move(length));
}

at::Tensor rows_copy_symint(const at::Tensor& self, c10::SymInt start, c10::SymInt length) {
  return self.narrow_symint(0, std::move(start), std::move(length)).clone();
}

}  // namespace acme::native
