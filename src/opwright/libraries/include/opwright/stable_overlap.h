#pragma once
// Checks before a kernel runs that what it writes shares no memory with what else it gets, with nothing but PyTorch's
// stable C++ API.

#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/tensor.h>

#include <opwright/memory.h>
#include <opwright/taken_tensor.h>

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace opwright {

// The tensors of a call: `Operands("acme::f").reads("self", self).writes("out", out).check()`.
class Operands {
 public:
  // Kernels of other keys than those of dense tensors may get tensors that are not strided.
  explicit Operands(const char* operator_name, bool is_dense = true)
      : operator_name_(operator_name), is_dense_(is_dense) {}

  template <class Argument>
  Operands& writes(const char* name, const Argument& argument) {
    return add(name, Access::writes, argument);
  }

  template <class Argument>
  Operands& reads(const char* name, const Argument& argument) {
    return add(name, Access::reads, argument);
  }

  // The same for an argument that may be exactly what is written, as in a call of an in-place overload.
  template <class Argument>
  Operands& reads_or_is_written(const char* name, const Argument& argument) {
    return add(name, Access::reads_or_is_written, argument);
  }

  // Raises if two elements of a written tensor share memory, or one with an element of another tensor.
  void check() const {
    for (size_t place = 0; place < count_; ++place) {
      const Operand& written = operand(place);
      if (written.access != Access::writes) {
        continue;
      }
      bool is_contiguous = false;
      TORCH_ERROR_CODE_CHECK(aoti_torch_is_contiguous(written.tensor, &is_contiguous));
      std::optional<memory::Elements> own;
      if (!is_contiguous) {
        own = elements(written);
        if (memory::overlaps_itself(*own)) {
          refuse(
              written, "elements of which share memory. Pass a tensor whose elements are apart, such as a clone().");
        }
      }
      for (size_t other = 0; other < count_; ++other) {
        if (other != place && !(other < place && operand(other).access == Access::writes)) {
          check_pair(written, own, operand(other));
        }
      }
    }
  }

 private:
  enum class Access { reads, reads_or_is_written, writes };

  // A tensor with elements, and the address of the first one.
  struct Operand {
    const char* name;
    Access access;
    AtenTensorHandle tensor;
    std::intptr_t start;
  };

  Operands& add(const char* name, Access access, const torch::stable::Tensor& tensor) {
    return add(name, access, tensor.get());
  }

  Operands& add(const char* name, Access access, const TakenTensor& tensor) {
    return add(name, access, tensor.get());
  }

  Operands& add(const char* name, Access access, AtenTensorHandle handle) {
    // An undefined tensor has no elements; a sparse one has no data.
    std::int64_t numel = 0;
    std::int32_t layout = 0;
    const void* data = nullptr;
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_numel(handle, &numel));
    if (numel == 0) {
      return *this;
    }
    if (!is_dense_) {
      TORCH_ERROR_CODE_CHECK(aoti_torch_get_layout(handle, &layout));
      if (layout != strided()) {
        return *this;
      }
    }
    TORCH_ERROR_CODE_CHECK(torch_get_const_data_ptr(handle, &data));
    const Operand operand{name, access, handle, reinterpret_cast<std::intptr_t>(data)};
    if (count_ < first_.size()) {
      first_[count_] = operand;
    } else {
      rest_.push_back(operand);
    }
    ++count_;
    return *this;
  }

  template <class Value>
  Operands& add(const char* name, Access access, const std::optional<Value>& value) {
    return value.has_value() ? add(name, access, *value) : *this;
  }

  template <class Item>
  Operands& add(const char* name, Access access, const std::vector<Item>& tensors) {
    for (const auto& tensor : tensors) {
      add(name, access, tensor);
    }
    return *this;
  }

  template <class Item>
  Operands& add(const char* name, Access access, torch::headeronly::HeaderOnlyArrayRef<Item> tensors) {
    for (const auto& tensor : tensors) {
      add(name, access, tensor);
    }
    return *this;
  }

  static std::int32_t strided() {
    static const std::int32_t layout = aoti_torch_layout_strided();
    return layout;
  }

  const Operand& operand(size_t place) const {
    return place < first_.size() ? first_[place] : rest_[place - first_.size()];
  }

  // Whether the address is one: tensors in a trace count from zero.
  static bool has_memory(const Operand& operand) {
    std::int64_t offset = 0;
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_storage_offset(operand.tensor, &offset));
    return operand.start != offset * item_size(operand);
  }

  static std::int64_t item_size(const Operand& operand) {
    std::int32_t dtype = 0;
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(operand.tensor, &dtype));
    return static_cast<std::int64_t>(aoti_torch_dtype_element_size(dtype));
  }

  static memory::Elements elements(const Operand& operand) {
    std::int64_t dims = 0;
    std::int64_t *sizes = nullptr, *strides = nullptr;
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_dim(operand.tensor, &dims));
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_sizes(operand.tensor, &sizes));
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_strides(operand.tensor, &strides));
    return {operand.start, item_size(operand), sizes, strides, static_cast<size_t>(dims)};
  }

  [[noreturn]] void refuse(const Operand& written, const std::string& reason) const {
    throw std::runtime_error(std::string(operator_name_) + " writes to `" + written.name + "`, " + reason);
  }

  // Whether the lower one ends before the other one begins. It may end some bytes earlier, if it has an offset.
  static bool are_apart(const Operand& first, const Operand& second) {
    const bool is_lower = first.start <= second.start;
    const Operand& lower = is_lower ? first : second;
    std::int64_t bytes = 0;
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_storage_size(lower.tensor, &bytes));
    return lower.start + bytes <= (is_lower ? second : first).start;
  }

  // The elements of the written tensor are asked for once.
  void check_pair(const Operand& written, std::optional<memory::Elements>& own, const Operand& other) const {
    if (are_apart(written, other)) {
      return;
    }
    own = own.has_value() ? own : elements(written);
    const memory::Elements others = elements(other);
    if (other.access == Access::reads_or_is_written && memory::is_same(*own, others)) {
      return;
    }
    if (memory::overlap(*own, others) && has_memory(written) && has_memory(other)) {
      refuse(written, std::string("which shares memory with `") + other.name + "`. Pass a clone() of one of them.");
    }
  }

  const char* operator_name_;
  bool is_dense_;
  std::array<Operand, 8> first_;
  std::vector<Operand> rest_;
  size_t count_ = 0;
};

} // namespace opwright
