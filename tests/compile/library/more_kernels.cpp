// The kernel of the view, and the way back from it.
#include <ATen/FunctionalInverses.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/row_native.h>
#include <ATen/ops/select.h>
#include <ATen/ops/select_scatter.h>

namespace at::native {

Tensor row(const Tensor& self, int64_t index) {
  return self.select(0, index);
}

}  // namespace at::native

namespace at::functionalization {

// A row that was changed, put back into the tensor that it is a view of.
Tensor FunctionalInverses::row_inverse(
    const Tensor& base, const Tensor& mutated_view, InverseReturnMode inverse_return_mode, int64_t index) {
  return at::select_scatter(base, mutated_view, 0, index);
}

}  // namespace at::functionalization
