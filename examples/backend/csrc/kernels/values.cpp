// Kernels that write values.

#include <AcmeNativeFunctions.h>

#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/fill.h>

#include "host.h"

namespace acme {

at::Tensor& Kernels::fill_(at::Tensor& self, const at::Scalar& value) {
  const MemoryAccess access;
  host_view(self).fill_(value);
  return self;
}

at::Tensor& Kernels::zero_(at::Tensor& self) {
  return fill_(self, 0);
}

namespace {

at::Tensor to_device(const at::Tensor& values, const at::Tensor& like) {
  if (!values.defined()) {
    return values;
  }
  at::Tensor out = at::empty_like(values, like.options());
  host_view(out).copy_(values);
  return out;
}

}  // namespace

at::Tensor Kernels::convolution_overrideable(
    const at::Tensor& input,
    const at::Tensor& weight,
    const std::optional<at::Tensor>& bias,
    at::IntArrayRef stride,
    at::IntArrayRef padding,
    at::IntArrayRef dilation,
    bool transposed,
    at::IntArrayRef output_padding,
    int64_t groups) {
  const MemoryAccess access;
  return to_device(
      at::convolution(
          host_view(input), host_view(weight), host_view(bias), stride, padding, dilation, transposed, output_padding,
          groups),
      input);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> Kernels::convolution_backward_overrideable(
    const at::Tensor& grad_output,
    const at::Tensor& input,
    const at::Tensor& weight,
    at::IntArrayRef stride,
    at::IntArrayRef padding,
    at::IntArrayRef dilation,
    bool transposed,
    at::IntArrayRef output_padding,
    int64_t groups,
    std::array<bool, 3> output_mask) {
  const MemoryAccess access;
  const int64_t bias_size = transposed ? weight.size(1) * groups : weight.size(0);
  auto [grad_input, grad_weight, grad_bias] = at::convolution_backward(
      host_view(grad_output), host_view(input), host_view(weight), at::IntArrayRef({bias_size}), stride, padding,
      dilation, transposed, output_padding, groups, output_mask);
  return {to_device(grad_input, input), to_device(grad_weight, input), to_device(grad_bias, input)};
}

}  // namespace acme
