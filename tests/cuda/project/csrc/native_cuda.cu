// Kernels of CUDA.
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <acme_cuda/kernels.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

namespace acme_cuda::native {
namespace {

__global__ void scale(float* out, const float* in, float factor, int64_t count) {
  const int64_t index = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (index < count) out[index] = in == nullptr ? index * factor : in[index] * factor;
}

void launch(const at::Tensor& out, const float* in, float factor) {
  const int64_t count = out.numel();
  if (count == 0) return;
  scale<<<(count + 255) / 256, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(
      out.mutable_data_ptr<float>(), in, factor, count);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

}  // namespace

at::Tensor scale_cuda(const at::Tensor& self, double factor) {
  auto input = self.contiguous();
  auto out = at::empty_like(input);
  launch(out, input.const_data_ptr<float>(), factor);
  return out;
}

at::Tensor steps_cuda(
    int64_t count,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout> layout,
    std::optional<at::Device> device,
    std::optional<bool> pin_memory) {
  auto out = at::empty({count}, dtype, layout, device, pin_memory, std::nullopt);
  launch(out, nullptr, 1);
  return out;
}

void structured_twice_cuda::impl(const at::Tensor& self, const at::Tensor& out) {
  auto input = self.contiguous();
  launch(out, input.const_data_ptr<float>(), 2);
}

}  // namespace acme_cuda::native
