#pragma once
// Kernels run on the host, as the memory of the devices is there: this is how they see tensors of a device.

#include <ATen/core/Tensor.h>

#include "runtime/memory.h"

namespace acme::native {

// A tensor of the CPU with the memory of a tensor of a device. A tensor of the CPU is itself. Only code with a
// MemoryAccess can use its elements.
at::Tensor host_view(const at::Tensor& tensor);
std::optional<at::Tensor> host_view(const std::optional<at::Tensor>& tensor);

// How many bytes there are from the first element of a tensor to the end of the last.
size_t span(const at::Tensor& tensor);

}  // namespace acme::native
