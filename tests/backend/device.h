#pragma once
// A device in the memory of the host, for tests of generated code: PrivateUse1 with two devices. See device.cpp.

#include <ATen/ops/from_blob.h>

namespace test_device {

// A tensor on the CPU with the memory of a tensor on the device. Kernels of tests compute with it.
inline at::Tensor host(const at::TensorBase& tensor) {
  if (!tensor.defined()) {
    return {};
  }
  return at::from_blob(
      tensor.mutable_data_ptr(), tensor.sizes(), tensor.strides(), tensor.options().device(at::kCPU).pinned_memory(false));
}

} // namespace test_device
