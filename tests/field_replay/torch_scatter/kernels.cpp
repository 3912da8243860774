#include <torch_scatter/kernels.h>
#include <torch_scatter/ops.h>

#include "cpu/scatter_cpu.h"
#include "cpu/segment_coo_cpu.h"
#include "cpu/segment_csr_cpu.h"

#ifdef WITH_CUDA
#include "cuda/scatter_cuda.h"
#include "cuda/segment_coo_cuda.h"
#include "cuda/segment_csr_cuda.h"
#define BY_DEVICE(KERNEL, src, ...) ((src).is_cuda() ? KERNEL##_cuda(src, __VA_ARGS__) : KERNEL##_cpu(src, __VA_ARGS__))
#ifdef USE_ROCM
#include <hip/hip_version.h>
#define CUDA_VERSION HIP_VERSION
#else
#include <cuda.h>
#endif
#else
#define BY_DEVICE(KERNEL, src, ...) KERNEL##_cpu(src, __VA_ARGS__)
#define CUDA_VERSION -1
#endif

namespace torch_scatter::native {
namespace {

using at::Tensor;
using Out = const std::optional<Tensor>&;
using Size = std::optional<int64_t>;

// The kernels write to what they get as `out`.
std::optional<Tensor> copy(Out out) {
  return out.has_value() ? std::optional(out->clone(at::MemoryFormat::Contiguous)) : std::nullopt;
}

std::tuple<Tensor, Tensor> both(std::tuple<Tensor, std::optional<Tensor>> result) {
  return {std::get<0>(result), *std::get<1>(result)};
}

auto scatter(const Tensor& src, const Tensor& index, int64_t dim, Out out, Size size, const char* reduce) {
  return BY_DEVICE(scatter, src, index, dim, copy(out), size, reduce);
}

auto coo(const Tensor& src, const Tensor& index, Out out, Size size, const char* reduce) {
  return BY_DEVICE(segment_coo, src, index, copy(out), size, reduce);
}

auto csr(const Tensor& src, const Tensor& indptr, Out out, const char* reduce) {
  return BY_DEVICE(segment_csr, src, indptr, copy(out), reduce);
}

} // namespace

int64_t cuda_version() {
  return CUDA_VERSION;
}

Tensor scatter_sum(const Tensor& src, const Tensor& index, int64_t dim, Out out, Size size) {
  return std::get<0>(scatter(src, index, dim, out, size, "sum"));
}

Tensor scatter_mul(const Tensor& src, const Tensor& index, int64_t dim, Out out, Size size) {
  return std::get<0>(scatter(src, index, dim, out, size, "mul"));
}

std::tuple<Tensor, Tensor> scatter_min(const Tensor& src, const Tensor& index, int64_t dim, Out out, Size size) {
  return both(scatter(src, index, dim, out, size, "min"));
}

std::tuple<Tensor, Tensor> scatter_max(const Tensor& src, const Tensor& index, int64_t dim, Out out, Size size) {
  return both(scatter(src, index, dim, out, size, "max"));
}

Tensor scatter_mean(const Tensor& src, const Tensor& index, int64_t dim, Out out, Size size) {
  auto sum = torch_scatter::scatter_sum(src, index, dim, out, size);
  auto count = torch_scatter::scatter_sum(at::ones_like(src), index, dim, {}, sum.size(dim)).clamp_min(1);
  return sum.is_floating_point() ? sum / count : sum.div(count, "floor");
}

Tensor segment_sum_coo(const Tensor& src, const Tensor& index, Out out, Size size) {
  return std::get<0>(coo(src, index, out, size, "sum"));
}

std::tuple<Tensor, Tensor> segment_mean_coo(const Tensor& src, const Tensor& index, Out out, Size size) {
  return both(coo(src, index, out, size, "mean"));
}

std::tuple<Tensor, Tensor> segment_min_coo(const Tensor& src, const Tensor& index, Out out, Size size) {
  return both(coo(src, index, out, size, "min"));
}

std::tuple<Tensor, Tensor> segment_max_coo(const Tensor& src, const Tensor& index, Out out, Size size) {
  return both(coo(src, index, out, size, "max"));
}

Tensor gather_coo(const Tensor& src, const Tensor& index, Out out) {
  return BY_DEVICE(gather_coo, src, index, copy(out));
}

Tensor segment_sum_csr(const Tensor& src, const Tensor& indptr, Out out) {
  return std::get<0>(csr(src, indptr, out, "sum"));
}

Tensor segment_mean_csr(const Tensor& src, const Tensor& indptr, Out out) {
  return std::get<0>(csr(src, indptr, out, "mean"));
}

std::tuple<Tensor, Tensor> segment_min_csr(const Tensor& src, const Tensor& indptr, Out out) {
  return both(csr(src, indptr, out, "min"));
}

std::tuple<Tensor, Tensor> segment_max_csr(const Tensor& src, const Tensor& indptr, Out out) {
  return both(csr(src, indptr, out, "max"));
}

Tensor gather_csr(const Tensor& src, const Tensor& indptr, Out out) {
  return BY_DEVICE(gather_csr, src, indptr, copy(out));
}

} // namespace torch_scatter::native
