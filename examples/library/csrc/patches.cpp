// A structured operator with a shape function of its own, and a view.
#include <acme/kernels.h>

namespace acme {

namespace meta {

void structured_patches::meta(const at::Tensor& self, int64_t size) {
  TORCH_CHECK(self.dim() == 2, "patches: expected a matrix, but got ", self.dim(), " dimensions");
  TORCH_CHECK(size > 0, "patches: expected a size above 0, but got ", size);
  // Sizes may be symbols while a program is traced: this reads their values, and the trace holds for these values.
  const auto rows = self.sym_size(0).guard_int(__FILE__, __LINE__);
  const auto columns = self.sym_size(1).guard_int(__FILE__, __LINE__);
  TORCH_CHECK(
      rows % size == 0 && columns % size == 0, "patches: ", rows, "x", columns, " is no multiple of ", size);
  set_output_raw_strided(0, {rows / size * (columns / size), size * size}, {}, self.options());
}

}  // namespace meta

namespace native {

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

}  // namespace native

}  // namespace acme
