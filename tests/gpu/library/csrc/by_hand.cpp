// The same operator registered by hand, with the same kernels: what calls are compared with.
#include <norms/kernels.h>

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/DeviceGuard.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace by_hand {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

#ifdef WITH_CUDA
std::tuple<Tensor, Tensor> forward_cuda(const Tensor& self, const Tensor& weight, double eps) {
  const c10::OptionalDeviceGuard guard(self.device());
  return norms::native::rms_norm_cuda(self, weight, eps);
}

std::tuple<Tensor, Tensor> backward_cuda(
    const Tensor& grad, const Tensor& self, const Tensor& weight, const Tensor& rstd) {
  const c10::OptionalDeviceGuard guard(self.device());
  return norms::native::rms_norm_backward_cuda(grad, self, weight, rstd);
}
#endif

std::tuple<Tensor, Tensor> forward(const Tensor& self, const Tensor& weight, double eps) {
  static auto op = c10::Dispatcher::singleton().findSchemaOrThrow("norms_by_hand::rms_norm_fwd", "")
                       .typed<std::tuple<Tensor, Tensor>(const Tensor&, const Tensor&, double)>();
  return op.call(self, weight, eps);
}

struct RmsNorm : torch::autograd::Function<RmsNorm> {
  static Tensor forward(AutogradContext* context, const Tensor& self, const Tensor& weight, double eps) {
    at::AutoDispatchBelowADInplaceOrView guard;
    auto [out, rstd] = by_hand::forward(self, weight, eps);
    context->save_for_backward({self, weight, rstd});
    return out;
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    static auto op = c10::Dispatcher::singleton().findSchemaOrThrow("norms_by_hand::rms_norm_bwd", "")
                         .typed<std::tuple<Tensor, Tensor>(
                             const Tensor&, const Tensor&, const Tensor&, const Tensor&)>();
    auto saved = context->get_saved_variables();
    auto [dx, dw] = op.call(grads[0], saved[0], saved[1], saved[2]);
    return {dx, dw, Tensor()};
  }
};

Tensor rms_norm_autograd(const Tensor& self, const Tensor& weight, double eps) {
  return RmsNorm::apply(self, weight, eps);
}

Tensor rms_norm(const Tensor& self, const Tensor& weight, double eps) {
  return std::get<0>(forward(self, weight, eps));
}

}  // namespace by_hand

TORCH_LIBRARY(norms_by_hand, m) {
  m.def("rms_norm(Tensor self, Tensor weight, float eps=1e-06) -> Tensor");
  m.def("rms_norm_fwd(Tensor self, Tensor weight, float eps=1e-06) -> (Tensor, Tensor)");
  m.def("rms_norm_bwd(Tensor grad, Tensor self, Tensor weight, Tensor rstd) -> (Tensor, Tensor)");
}

TORCH_LIBRARY_IMPL(norms_by_hand, CPU, m) {
  m.impl("rms_norm", &by_hand::rms_norm);
  m.impl("rms_norm_fwd", &norms::native::rms_norm_cpu);
  m.impl("rms_norm_bwd", &norms::native::rms_norm_backward_cpu);
}

#ifdef WITH_CUDA
TORCH_LIBRARY_IMPL(norms_by_hand, CUDA, m) {
  m.impl("rms_norm", &by_hand::rms_norm);
  m.impl("rms_norm_fwd", &by_hand::forward_cuda);
  m.impl("rms_norm_bwd", &by_hand::backward_cuda);
}
#endif

TORCH_LIBRARY_IMPL(norms_by_hand, Autograd, m) {
  m.impl("rms_norm", &by_hand::rms_norm_autograd);
}
