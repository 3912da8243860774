#include <norms/kernels.h>

#include <ATen/AccumulateType.h>
#include <ATen/Dispatch.h>
#include <c10/cuda/CUDAStream.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDAException.h>

#include "norm.cuh"

namespace norms::native {
std::tuple<at::Tensor, at::Tensor> rms_norm_cuda(const at::Tensor& self, const at::Tensor& weight, double eps) {
  auto x = self.contiguous(), w = weight.contiguous();
  const auto acc = self.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  auto out = at::empty(self.sizes(), self.options());
  auto rstd = at::empty(self.sizes().slice(0, self.dim() - 1), self.options().dtype(acc));
  const int64_t n = self.size(-1), rows = n ? self.numel() / n : 0;
  if (rows == 0) return {out, rstd};
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, self.scalar_type(), "rms_norm_cuda", [&] {
    using acc_t = at::acc_type<scalar_t, true>;
    device::forward<scalar_t, acc_t><<<rows, device::threads_for(n), 0, c10::cuda::getCurrentCUDAStream()>>>(
        x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(), out.mutable_data_ptr<scalar_t>(),
        rstd.mutable_data_ptr<acc_t>(), n, static_cast<acc_t>(eps));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  });
  return {out, rstd};
}

std::tuple<at::Tensor, at::Tensor> rms_norm_backward_cuda(
    const at::Tensor& grad, const at::Tensor& self, const at::Tensor& weight, const at::Tensor& rstd) {
  auto g = grad.contiguous(), x = self.contiguous(), w = weight.contiguous(), r = rstd.contiguous();
  const auto acc = self.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  auto dx = at::empty(self.sizes(), self.options());
  auto dw = at::zeros(weight.sizes(), weight.options().dtype(acc));
  const int64_t n = self.size(-1), rows = n ? self.numel() / n : 0;
  if (rows > 0) {
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, self.scalar_type(), "rms_norm_backward_cuda", [&] {
      using acc_t = at::acc_type<scalar_t, true>;
      device::backward<scalar_t, acc_t><<<rows, device::threads_for(n), 0, c10::cuda::getCurrentCUDAStream()>>>(
          g.const_data_ptr<scalar_t>(), x.const_data_ptr<scalar_t>(), w.const_data_ptr<scalar_t>(),
          r.const_data_ptr<acc_t>(), dx.mutable_data_ptr<scalar_t>(), dw.mutable_data_ptr<acc_t>(), n);
      C10_CUDA_KERNEL_LAUNCH_CHECK();
    });
  }
  return {dx, dw.to(weight.scalar_type())};
}


}  // namespace norms::native
