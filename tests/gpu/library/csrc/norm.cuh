#pragma once
// The kernels that run on the device, for both interfaces.
#include <cstdint>

namespace device {

template <typename acc_t>
__device__ acc_t block_sum(acc_t v) {
  __shared__ acc_t part[32];
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = v;
  __syncthreads();
  acc_t s = 0;
  for (int i = 0; i < (blockDim.x + 31) / 32; ++i) s += part[i];
  __syncthreads();
  return s;
}

template <typename T, typename acc_t>
__global__ void forward(const T* x, const T* w, T* y, acc_t* rstd, int64_t n, acc_t eps) {
  const int64_t row = blockIdx.x;
  x += row * n;
  y += row * n;
  acc_t s = 0;
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) s += acc_t(x[i]) * acc_t(x[i]);
  const acc_t r = acc_t(1) / sqrt(block_sum(s) / acc_t(n) + eps);
  if (threadIdx.x == 0) rstd[row] = r;
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) y[i] = T(acc_t(x[i]) * r * acc_t(w[i]));
}

template <typename T, typename acc_t>
__global__ void backward(
    const T* g, const T* x, const T* w, const acc_t* rstd, T* dx, acc_t* dw, int64_t n) {
  const int64_t row = blockIdx.x;
  x += row * n;
  g += row * n;
  dx += row * n;
  const acc_t r = rstd[row];
  acc_t s = 0;
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) s += acc_t(g[i]) * acc_t(w[i]) * acc_t(x[i]) * r;
  const acc_t mean = block_sum(s) / acc_t(n);
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
    const acc_t xhat = acc_t(x[i]) * r;
    dx[i] = T(r * (acc_t(g[i]) * acc_t(w[i]) - xhat * mean));
    atomicAdd(&dw[i], acc_t(g[i]) * xhat);
  }
}

inline int threads_for(int64_t n) {
  return n >= 1024 ? 512 : n >= 256 ? 128 : 32;
}

}  // namespace device
