// Kernels of CUDA in PyTorch's stable C++ API.
#include <acme_cuda/kernels.h>
#include <cuda_runtime.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/ops.h>
#include <torch/headeronly/util/shim_utils.h>

namespace acme_cuda::native {
namespace {

__global__ void scale(float* out, const float* in, float factor, int64_t count) {
  const int64_t index = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (index < count) out[index] = in[index] * factor;
}

}  // namespace

torch::stable::Tensor scale_cuda(const torch::stable::Tensor& self, double factor) {
  auto input = torch::stable::contiguous(self);
  auto out = torch::stable::empty_like(input);
  const int64_t count = out.numel();
  if (count == 0) return out;
  void* stream = nullptr;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_cuda_stream(input.get_device_index(), &stream));
  scale<<<(count + 255) / 256, 256, 0, static_cast<cudaStream_t>(stream)>>>(
      static_cast<float*>(out.mutable_data_ptr()),
      static_cast<const float*>(input.const_data_ptr()),
      static_cast<float>(factor),
      count);
  return out;
}

}  // namespace acme_cuda::native
