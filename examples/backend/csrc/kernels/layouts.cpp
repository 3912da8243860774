// What tensors in other layouts need of the device besides PyTorch's kernels: copies.

#include <AcmeNativeFunctions.h>

#include <ATen/native/Resize.h>
#include <ATen/quantized/Quantizer.h>

#include "host.h"

namespace acme::native {

at::Tensor Kernels::_copy_from_and_resize_sparse(const at::Tensor& self, const at::Tensor& dst) {
  return dst.copy_(self);
}

// A copy of a quantized tensor has its scale and its zero point too.
at::Tensor Kernels::_copy_from_quantized(const at::Tensor& self, const at::Tensor& dst, bool non_blocking) {
  const at::Tensor target = host_view(dst);
  target.copy_(host_view(self), non_blocking);
  if (dst.is_quantized()) {
    at::set_quantizer_(dst, target.quantizer());
  }
  return dst;
}

at::Tensor Kernels::_copy_from_and_resize_quantized(const at::Tensor& self, const at::Tensor& dst) {
  at::native::resize_output(dst, self.sizes());
  return _copy_from_quantized(self, dst, false);
}

}  // namespace acme::native
