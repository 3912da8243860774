// What the backend registers itself: how it copies, and what the Python module of the device calls.

#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <map>
#include <vector>

#include "kernels/host.h"
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

// Offsets in copies of memory are multiples of this, so that elements of all types are aligned.
constexpr size_t ALIGNMENT = 64;

// Copies with which the CPU computes in place of the device. They have the strides of the tensors, and share memory where
// those do, so that the CPU gives results the strides, and refuses the overlaps, that it would for its own tensors.
std::vector<at::Tensor> to_cpu(at::TensorList tensors) {
  struct Range {
    size_t begin;
    size_t end;
    at::Tensor bytes;
  };
  std::map<const c10::StorageImpl*, Range> ranges;
  const auto has_range = [](const at::Tensor& tensor) {
    const bool is_plain = tensor.layout() == at::kStrided && !tensor.is_quantized() && !tensor.is_nested();
    // A few elements of much memory are copied alone.
    return !tensor.is_cpu() && is_plain && tensor.numel() > 0 && native::span(tensor) <= 16 * tensor.nbytes();
  };
  const auto begin_of = [](const at::Tensor& tensor) {
    return static_cast<size_t>(tensor.storage_offset()) * tensor.element_size();
  };
  for (const auto& tensor : tensors) {
    if (has_range(tensor)) {
      const size_t begin = begin_of(tensor), end = begin + native::span(tensor);
      auto& range = ranges.try_emplace(tensor.storage().unsafeGetStorageImpl(), Range{begin, end, {}}).first->second;
      range.begin = std::min(range.begin, begin);
      range.end = std::max(range.end, end);
    }
  }
  for (auto& [storage, range] : ranges) {
    range.begin -= range.begin % ALIGNMENT;
    range.bytes = at::empty({static_cast<int64_t>(range.end - range.begin)}, at::kByte);
    const auto* const data = static_cast<const char*>(storage->data());
    device_allocator()->copy_data(range.bytes.mutable_data_ptr(), data + range.begin, range.end - range.begin);
  }
  std::vector<at::Tensor> copies;
  for (const auto& tensor : tensors) {
    if (!has_range(tensor)) {
      copies.push_back(tensor.cpu());
      continue;
    }
    const auto& range = ranges.at(tensor.storage().unsafeGetStorageImpl());
    const auto offset = static_cast<int64_t>((begin_of(tensor) - range.begin) / tensor.element_size());
    at::Tensor copy = at::empty({0}, tensor.options().device(at::kCPU));
    copy.set_(range.bytes.storage(), offset, tensor.sizes(), tensor.strides());
    copy._set_conj(tensor.is_conj());
    copy._set_neg(tensor.is_neg());
    copies.push_back(std::move(copy));
  }
  return copies;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_to_cpu", &to_cpu);
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
