// What the backend registers itself: how it copies, and what the Python module of the device calls.

#include <ATen/ops/empty.h>
#include <c10/core/CPUAllocator.h>
#include <torch/library.h>

#include <map>
#include <utility>
#include <vector>

#include "kernels/host.h"
#include "runtime/device.h"
#include "runtime/generator.h"
#include "runtime/memory.h"

namespace acme {
namespace {

// PyTorch would resolve a tensor that is conjugated or negated lazily before it copies it, which takes a copy, which
// would never end, and to which the CPU would write results. The kernels copy such tensors themselves.
void leave_to_kernels(torch::Library& m) {
  for (const auto* const name : {"_copy_from", "_copy_from_and_resize", "_to_cpu"}) {
    m.impl(name, torch::CppFunction::makeFallthrough());
  }
}
TORCH_LIBRARY_IMPL(aten, Conjugate, m) {
  leave_to_kernels(m);
}
TORCH_LIBRARY_IMPL(aten, Negative, m) {
  leave_to_kernels(m);
}

// Offsets in copies of memory are multiples of this, so that elements of all types are aligned.
constexpr size_t ALIGNMENT = 64;

// A tensor of the CPU with some elements of a storage, at the places and with the bits of a tensor of the device.
at::Tensor on_cpu(const at::Tensor& tensor, const c10::Storage& storage, int64_t offset) {
  at::Tensor other = at::empty({0}, tensor.options().device(at::kCPU));
  other.set_(storage, offset, tensor.sizes(), tensor.strides());
  other._set_conj(tensor.is_conj());
  other._set_neg(tensor.is_neg());
  return other;
}

// Whether the memory of a tensor says what its elements are.
bool is_plain(const at::Tensor& tensor) {
  return !tensor.is_cpu() && tensor.layout() == at::kStrided && !tensor.is_quantized() && !tensor.is_nested();
}

// The memory of the devices itself, where the CPU can touch it: a device with memory of its own needs copies.
std::vector<at::Tensor> shared_with_cpu(at::TensorList tensors) {
  std::map<const c10::StorageImpl*, c10::Storage> storages;
  std::vector<at::Tensor> shared;
  for (const auto& tensor : tensors) {
    if (!is_plain(tensor)) {
      shared.push_back(tensor.cpu());
      continue;
    }
    const c10::Storage& owner = tensor.storage();
    auto& storage = storages[owner.unsafeGetStorageImpl()];
    if (!storage) {
      const auto release = [](void* owner) { delete static_cast<c10::Storage*>(owner); };
      c10::DataPtr data(const_cast<void*>(owner.data()), new c10::Storage(owner), release, at::kCPU);
      storage = c10::Storage(
          c10::Storage::use_byte_size_t(), owner.nbytes(), std::move(data), c10::GetCPUAllocator(),
          /*resizable=*/true);
    }
    shared.push_back(on_cpu(tensor, storage, tensor.storage_offset()));
  }
  return shared;
}

// Copies with which the CPU computes in place of the device. They have the strides of the tensors, and share memory where
// those do, so that the CPU gives results the strides, and refuses the overlaps, that it would for its own tensors.
std::vector<at::Tensor> to_cpu(at::TensorList tensors) {
  if (!is_protected()) {
    return shared_with_cpu(tensors);
  }
  struct Range {
    size_t begin;
    size_t end;
    at::Tensor bytes;
  };
  std::map<const c10::StorageImpl*, Range> ranges;
  const auto has_range = [](const at::Tensor& tensor) {
    // A few elements of much memory are copied alone.
    return is_plain(tensor) && tensor.numel() > 0 && native::span(tensor) <= 16 * tensor.nbytes();
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
    copies.push_back(on_cpu(tensor, range.bytes.storage(), offset));
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
