// The kernels of the CPU, of PyTorch's operators.
#include <norms/kernels.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/rsqrt.h>

#include <tuple>

namespace norms::native {

std::tuple<at::Tensor, at::Tensor> rms_norm_cpu(const at::Tensor& self, const at::Tensor& weight, double eps) {
  const auto acc = self.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  auto x = self.to(acc);
  auto rstd = (x.square().mean(-1) + eps).rsqrt();
  auto out = (x * rstd.unsqueeze(-1) * weight.to(acc)).to(self.scalar_type()).contiguous();
  return {out, rstd};
}

std::tuple<at::Tensor, at::Tensor> rms_norm_backward_cpu(
    const at::Tensor& grad, const at::Tensor& self, const at::Tensor& weight, const at::Tensor& rstd) {
  const auto acc = self.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  auto x = self.to(acc), g = grad.to(acc), w = weight.to(acc), r = rstd.unsqueeze(-1);
  auto xhat = x * r, gw = g * w;
  auto dx = r * (gw - xhat * (gw * xhat).mean(-1, true));
  auto dw = (g * xhat).reshape({-1, self.size(-1)}).sum(0);
  return {dx.to(self.scalar_type()).contiguous(), dw.to(weight.scalar_type())};
}

}  // namespace norms::native
