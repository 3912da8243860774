#pragma once
// Checks before a kernel runs that what it writes shares no memory with what else it gets.

#include <ATen/core/IListRef.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/impl/COW.h>
#include <c10/util/SmallVector.h>

#include <opwright/memory.h>

#include <cstdint>
#include <optional>

namespace opwright {

// The tensors of a call: `Operands("acme::f").reads("self", self).writes("out", out).check()`.
class Operands {
 public:
  explicit Operands(const char* operator_name) : operator_name_(operator_name) {}

  template <class Argument>
  Operands& writes(const char* name, const Argument& argument) {
    return add({nullptr, name, Access::writes}, argument);
  }

  template <class Argument>
  Operands& reads(const char* name, const Argument& argument) {
    return add({nullptr, name, Access::reads}, argument);
  }

  // The same for an argument that may be exactly what is written, as in a call of an in-place overload.
  template <class Argument>
  Operands& reads_or_is_written(const char* name, const Argument& argument) {
    return add({nullptr, name, Access::reads_or_is_written}, argument);
  }

  // Raises if two elements of a written tensor share memory, or one with an element of another tensor.
  void check() const {
    for (const Operand& written : operands_) {
      if (written.access != Access::writes) {
        continue;
      }
      if (C10_UNLIKELY(!has_numbers(written) || !written.tensor->is_non_overlapping_and_dense())) {
        check_itself(written);
      }
      c10::StorageImpl* const storage = storage_of(written);
      for (const Operand& other : operands_) {
        if (C10_UNLIKELY(shares_storage(storage, storage_of(other))) && &other != &written) {
          check_pair(written, other);
        }
      }
    }
  }

 private:
  enum class Access { reads, reads_or_is_written, writes };

  struct Operand {
    const c10::TensorImpl* tensor;
    const char* name;
    Access access;
  };

  Operands& add(Operand operand, const at::Tensor& tensor) {
    operand.tensor = tensor.unsafeGetTensorImpl();
    // Sparse and batched tensors have no memory of their own, and sizes of nested ones are no numbers.
    if (storage_of(operand) != nullptr && !tensor.is_nested()) {
      operands_.push_back(operand);
    }
    return *this;
  }

  Operands& add(const Operand& operand, const std::optional<at::Tensor>& tensor) {
    return tensor.has_value() ? add(operand, *tensor) : *this;
  }

  Operands& add(const Operand& operand, at::ITensorListRef tensors) {
    for (const at::Tensor& tensor : tensors) {
      add(operand, tensor);
    }
    return *this;
  }

  Operands& add(const Operand& operand, at::TensorList tensors) {
    for (const at::Tensor& tensor : tensors) {
      add(operand, tensor);
    }
    return *this;
  }

  Operands& add(const Operand& operand, const c10::List<std::optional<at::Tensor>>& tensors) {
    for (const std::optional<at::Tensor> tensor : tensors) {
      add(operand, tensor);
    }
    return *this;
  }

  // An argument of the dispatcher's stack: a tensor, a list of tensors, or none.
  Operands& add(const Operand& operand, const c10::IValue& value) {
    if (value.isTensor()) {
      return add(operand, value.toTensor());
    }
    if (value.isList()) {
      for (const c10::IValue& item : value.toListRef()) {
        add(operand, item);
      }
    }
    return *this;
  }

  static c10::StorageImpl* storage_of(const Operand& operand) {
    return operand.tensor->unsafe_storage().unsafeGetStorageImpl();
  }

  // Whether two storages are one, or have bytes in common. Tensors in a trace have storages without bytes.
  static bool shares_storage(c10::StorageImpl* first, c10::StorageImpl* second) {
    if (first == second) {
      return true;
    }
    const char* const start = address(first);
    const char* const other = address(second);
    return start != nullptr && other != nullptr && start < other + second->nbytes() && other < start + first->nbytes();
  }

  static const char* address(c10::StorageImpl* storage) {
    return static_cast<const char*>(storage->_mutable_data_ptr_no_checks().get());
  }

  static bool has_numbers(const Operand& operand) {
    return !operand.tensor->has_symbolic_sizes_strides();
  }

  static memory::Elements elements(const Operand& operand) {
    const c10::TensorImpl& tensor = *operand.tensor;
    const auto item_size = static_cast<std::int64_t>(tensor.dtype().itemsize());
    const auto start = reinterpret_cast<std::intptr_t>(address(storage_of(operand)));
    return {
        start + tensor.storage_offset() * item_size, item_size, tensor.sizes().data(), tensor.strides().data(),
        tensor.sizes().size()};
  }

  C10_NOINLINE void check_itself(const Operand& written) const {
    TORCH_CHECK(
        !has_numbers(written) || !memory::overlaps_itself(elements(written)), operator_name_, " writes to `",
        written.name, "`, elements of which share memory. Pass a tensor whose elements are apart, such as a clone().");
  }

  C10_NOINLINE void check_pair(const Operand& written, const Operand& other) const {
    // A storage that is copied when it is written to shares its bytes only until then.
    const bool is_copied = storage_of(written) != storage_of(other) &&
        (c10::impl::cow::is_cow_data_ptr(storage_of(written)->_mutable_data_ptr_no_checks()) ||
         c10::impl::cow::is_cow_data_ptr(storage_of(other)->_mutable_data_ptr_no_checks()));
    const bool is_known = has_numbers(written) && has_numbers(other);
    if (is_copied || (!is_known && written.tensor != other.tensor)) {
      return;
    }
    const bool is_same =
        written.tensor == other.tensor || memory::is_same(elements(written), elements(other));
    const bool is_empty = is_known && written.tensor->numel() == 0;
    if (is_empty || (is_same && other.access == Access::reads_or_is_written)) {
      return;
    }
    TORCH_CHECK(
        !is_same && !memory::overlap(elements(written), elements(other)), operator_name_, " writes to `", written.name,
        "`, which shares memory with `", other.name, "`. Pass a clone() of one of them.");
  }

  const char* operator_name_;
  c10::SmallVector<Operand, 8> operands_;
};

} // namespace opwright
