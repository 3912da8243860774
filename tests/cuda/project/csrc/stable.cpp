// Kernels of the CPU in PyTorch's stable C++ API.
#include <acme_cuda/kernels.h>
#include <torch/csrc/stable/ops.h>

namespace acme_cuda::native {

torch::stable::Tensor scale_cpu(const torch::stable::Tensor& self, double factor) {
  auto input = torch::stable::contiguous(self);
  auto out = torch::stable::empty_like(input);
  const auto* from = static_cast<const float*>(input.const_data_ptr());
  auto* to = static_cast<float*>(out.mutable_data_ptr());
  for (int64_t index = 0; index < input.numel(); ++index) to[index] = from[index] * static_cast<float>(factor);
  return out;
}

}  // namespace acme_cuda::native
