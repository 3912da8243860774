// Tensors of the device: made, resized, copied, and seen in other shapes.

#include <AcmeNativeFunctions.h>

#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/native/DispatchStub.h>
#include <ATen/native/Resize.h>
#include <ATen/native/ResizeCommon.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/copy.h>
#include <ATen/ops/fill.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/resize_as_sparse_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/quantized/Quantizer.h>

#include "runtime/device.h"
#include "host.h"

namespace acme::native {
namespace {

constexpr c10::DispatchKeySet KEYS{c10::DispatchKey::PrivateUse1};

// The device of a new tensor: the current one, unless the options name another.
c10::DeviceIndex device_index(std::optional<at::Device> device) {
  return device.has_value() && device->has_index() ? device->index() : current_device();
}

void check_options(std::optional<at::Layout> layout, std::optional<bool> pin_memory) {
  TORCH_CHECK(
      at::layout_or_default(layout) == at::kStrided, "acme has strided tensors, but no tensors of layout ", *layout);
  TORCH_CHECK(!at::pinned_memory_or_default(pin_memory), "Only dense CPU tensors can be pinned");
}

// Makes the storage of a tensor large enough for its elements.
void grow_storage(c10::TensorImpl* impl) {
  if (impl->numel() == 0) {
    return;
  }
  const size_t size = at::detail::computeStorageNbytes(
      impl->sizes(), impl->strides(), impl->itemsize(), static_cast<size_t>(impl->storage_offset()));
  if (size > impl->storage().nbytes()) {
    resize_storage(impl->unsafe_storage().unsafeGetStorageImpl(), size);
  }
}

// Fills new memory where the user asks for deterministic results, so that nothing depends on what was there.
at::Tensor filled(at::Tensor tensor) {
  const auto& context = at::globalContext();
  if (context.deterministicAlgorithms() && context.deterministicFillUninitializedMemory()) {
    at::native::fill_empty_deterministic_(tensor);
  }
  return tensor;
}

}  // namespace

size_t span(const at::Tensor& tensor) {
  return at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(), tensor.element_size());
}

at::Tensor host_view(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.is_cpu()) {
    return tensor;
  }
  const auto options = tensor.options().device(at::kCPU).dtype(at::toUnderlying(tensor.scalar_type()));
  void* const address = const_cast<void*>(tensor.const_data_ptr());
  at::Tensor view = at::from_blob(address, tensor.sizes(), tensor.strides(), options);
  if (tensor.is_quantized()) {
    const at::Tensor quantized = at::new_qtensor({0}, tensor.options().device(at::kCPU), tensor.quantizer());
    return quantized.set_(view.storage(), 0, tensor.sizes(), tensor.strides());
  }
  view._set_conj(tensor.is_conj());
  view._set_neg(tensor.is_neg());
  return view;
}

std::optional<at::Tensor> host_view(const std::optional<at::Tensor>& tensor) {
  return tensor.has_value() ? std::make_optional(host_view(*tensor)) : std::nullopt;
}

at::Tensor Kernels::empty(
    at::IntArrayRef size,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout> layout,
    std::optional<at::Device> device,
    std::optional<bool> pin_memory,
    std::optional<at::MemoryFormat> memory_format) {
  check_options(layout, pin_memory);
  const DeviceScope scope(device_index(device));
  return filled(
      at::detail::empty_generic(size, device_allocator(), KEYS, c10::dtype_or_default(dtype), memory_format));
}

at::Tensor Kernels::empty_strided(
    at::IntArrayRef size,
    at::IntArrayRef stride,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout> layout,
    std::optional<at::Device> device,
    std::optional<bool> pin_memory) {
  check_options(layout, pin_memory);
  const DeviceScope scope(device_index(device));
  return filled(
      at::detail::empty_strided_generic(size, stride, device_allocator(), KEYS, c10::dtype_or_default(dtype)));
}

const at::Tensor& Kernels::resize_(
    const at::Tensor& self,
    at::IntArrayRef size,
    std::optional<at::MemoryFormat> memory_format) {
  auto* const impl = self.unsafeGetTensorImpl();
  const size_t bytes = self.storage().nbytes();
  if (self.sizes() != size) {
    impl->set_sizes_contiguous(size);
    grow_storage(impl);
  }
  if (memory_format.has_value()) {
    TORCH_CHECK(*memory_format != at::MemoryFormat::Preserve, "Unsupported memory format", *memory_format);
    impl->empty_tensor_restride(*memory_format);
  }
  const auto& context = at::globalContext();
  if (context.deterministicAlgorithms() && context.deterministicFillUninitializedMemory()) {
    at::native::fill_resize_deterministic_(self, static_cast<int64_t>(bytes));
  }
  return self;
}

at::Tensor& Kernels::set_(at::Tensor& self) {
  const DeviceScope scope(self.device().index());
  return at::native::set_(
      self, c10::Storage(c10::Storage::use_byte_size_t(), 0, device_allocator(), /*resizable=*/true));
}

at::Tensor& Kernels::set_(
    at::Tensor& self,
    at::Storage source,
    int64_t storage_offset,
    at::IntArrayRef size,
    at::IntArrayRef stride) {
  at::native::checkSetStorage(self, std::move(source), storage_offset, size, stride);
  auto* const impl = self.unsafeGetTensorImpl();
  impl->set_storage_offset(storage_offset);
  if (stride.data() == nullptr) {
    impl->set_sizes_contiguous(size);
  } else {
    impl->set_sizes_and_strides(size, stride);
  }
  grow_storage(impl);
  return self;
}

at::Tensor Kernels::_copy_from(const at::Tensor& self, const at::Tensor& dst, bool non_blocking) {
  at::assert_no_internal_overlap(dst);
  at::assert_no_partial_overlap(dst, self);
  host_view(dst).copy_(host_view(self), non_blocking);
  return dst;
}

// What the CPU wrote in place of the device: a result that it makes has the strides that it chose. Where the CPU used the
// memory of the device, the result is there.
at::Tensor Kernels::_copy_from_and_resize(const at::Tensor& self, const at::Tensor& dst) {
  const bool is_there = dst.numel() > 0 && self.const_data_ptr() == dst.const_data_ptr();
  const bool has_same_bits = self.is_conj() == dst.is_conj() && self.is_neg() == dst.is_neg();
  if (is_there && has_same_bits && self.sizes() == dst.sizes() && self.strides() == dst.strides()) {
    return dst;
  }
  if (dst.sizes() != self.sizes()) {
    // The CPU has warned that it resizes an output.
    resize_(dst, self.sizes(), std::nullopt);
    if (self.is_non_overlapping_and_dense()) {
      dst.unsafeGetTensorImpl()->set_sizes_and_strides(self.sizes(), self.strides());
    }
  }
  if (at::has_internal_overlap(dst) == at::MemOverlap::Yes && has_same_bits && dst.strides() == self.strides()) {
    device_allocator()->copy_data(dst.mutable_data_ptr(), self.const_data_ptr(), span(self));
    return dst;
  }
  return _copy_from(is_there ? self.clone() : self, dst, false);
}

at::Scalar Kernels::_local_scalar_dense(const at::Tensor& self) {
  return host_view(self).item();
}

at::Tensor& Kernels::fill_(at::Tensor& self, const at::Scalar& value) {
  host_view(self).fill_(value);
  return self;
}

at::Tensor& Kernels::zero_(at::Tensor& self) {
  return fill_(self, 0);
}

at::Tensor Kernels::unfold_backward(
    const at::Tensor& grad_in,
    at::IntArrayRef input_sizes,
    int64_t dim,
    int64_t size,
    int64_t step) {
  at::Tensor grad = at::zeros(input_sizes, grad_in.options());
  const at::Tensor windows = host_view(grad).unfold(dim, size, step);
  const at::Tensor grad_windows = host_view(grad_in);
  // Windows overlap, but elements at the same place of all windows do not.
  for (int64_t place = 0; place < size; ++place) {
    windows.select(-1, place).add_(grad_windows.select(-1, place));
  }
  return grad;
}

// Whether a tensor can take the place of another in the same object, as `Module.to` and `Tensor.data` ask. Dense tensors
// can, on this device and on the CPU, and so do two tensors of the same kind.
bool Kernels::_has_compatible_shallow_copy_type(const at::Tensor& self, const at::Tensor& from) {
  const auto is_dense = [](const at::Tensor& tensor) {
    const auto keys = tensor.key_set();
    return keys.has_any(c10::DispatchKeySet(c10::DispatchKey::Dense)) && (tensor.is_cpu() || tensor.is_privateuseone());
  };
  return self.key_set() == from.key_set() || (is_dense(self) && is_dense(from));
}

// The work of each call is done when it returns, so that memory is never in use on another stream.
void Kernels::record_stream(at::Tensor& /*self*/, at::Stream /*s*/) {}

// Copies are what tensors in other layouts need of the device besides PyTorch's kernels.
at::Tensor Kernels::_copy_from_and_resize_sparse(const at::Tensor& self, const at::Tensor& dst) {
  return dst.sparse_resize_and_clear_(self.sizes(), self.sparse_dim(), self.dense_dim()).copy_(self);
}

at::Tensor Kernels::_copy_from_and_resize_sparse_csr(const at::Tensor& self, const at::Tensor& dst) {
  return at::native::resize_as_sparse_compressed_(dst, self).copy_(self);
}

// A copy of a quantized tensor has its scale and its zero point too.
at::Tensor Kernels::_copy_from_quantized(const at::Tensor& self, const at::Tensor& dst, bool non_blocking) {
  const at::Tensor target = host_view(dst);
  target.copy_(host_view(self), non_blocking);
  if (dst.is_quantized()) {
    at::set_quantizer_(dst, target.quantizer());
  }
  return dst;
}

at::Tensor Kernels::_copy_from_and_resize_quantized(const at::Tensor& self, const at::Tensor& dst) {
  at::native::resize_output(dst, self.sizes());
  return _copy_from_quantized(self, dst, false);
}

namespace {

// One number for the places of each element of a sparse tensor.
at::Tensor flatten_indices(const at::Tensor& indices, at::IntArrayRef size) {
  const at::Tensor strides = at::tensor(c10::contiguous_strides(size), indices.options().dtype(at::kLong));
  return indices.mul(strides.unsqueeze(-1)).sum(0);
}

}  // namespace
}  // namespace acme::native

namespace at::native {

// A loop of PyTorch's kernels for sparse tensors, which no header declares.
using flatten_indices_fn = Tensor (*)(const Tensor&, IntArrayRef);
DECLARE_DISPATCH(flatten_indices_fn, flatten_indices_stub)
REGISTER_PRIVATEUSE1_DISPATCH(flatten_indices_stub, &acme::native::flatten_indices)

}  // namespace at::native
