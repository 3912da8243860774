// What the backend registers itself: how it copies, and what the Python module of the device calls.

#include <torch/library.h>

#include "runtime/device.h"
#include "runtime/generator.h"
#include "runtime/memory.h"

namespace acme {
namespace {

// PyTorch would resolve a tensor that is conjugated or negated lazily before it copies it, which takes a copy, which
// would never end. The kernel copies such tensors itself.
TORCH_LIBRARY_IMPL(aten, Conjugate, m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(aten, Negative, m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}

// Operators take the place of a Python binding.
TORCH_LIBRARY_FRAGMENT(acme, m) {
  m.def("_open_memory", [] { return reinterpret_cast<int64_t>(new MemoryAccess()); });
  m.def("_close_memory", [](int64_t access) { delete reinterpret_cast<MemoryAccess*>(access); });
  m.def("_device_count", [] { return int64_t{DEVICE_COUNT}; });
  m.def("_default_generator", [](int64_t device) { return default_generator(static_cast<c10::DeviceIndex>(device)); });
}

}  // namespace
}  // namespace acme
