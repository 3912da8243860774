// Requirements of operators. Opwright's generated code calls these functions before a kernel runs.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <opwright/outputs.h>
#include <opwright/refusal.h>

#include <initializer_list>
#include <optional>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

namespace opwright {

inline constexpr bool is_one_of(at::ScalarType dtype, std::uint64_t codes) {
  return is_one_of(static_cast<int>(dtype), codes);
}

inline bool is_on_cpu(const at::Tensor& tensor) {
  return tensor.is_cpu();
}

inline std::string shown(at::ScalarType dtype) {
  return dtype_name(static_cast<int>(dtype));
}

inline std::string shown(const at::Device& device) {
  return device.str();
}

inline std::string shown(const c10::SymInt& size) {
  std::ostringstream text;
  text << size;
  return text.str();
}

template <class Item>
std::string shown(c10::ArrayRef<Item> list) {
  return shown_list(list, [](const auto& item) { return shown(item); });
}

template <class Item, unsigned Count>
std::string shown(const c10::SmallVector<Item, Count>& list) {
  return shown_list(list, [](const auto& item) { return shown(item); });
}

inline TensorFacts facts(const at::Tensor& tensor) {
  return tensor;
}

template <class Tensors>
const Tensors& facts(const Tensors& tensors) {
  return tensors;
}

// Integers that may be symbols in a trace, outside of traces.
inline int64_t known(const c10::SymInt& size) {
  return size.guard_int(__FILE__, __LINE__);
}

inline std::optional<int64_t> known(const std::optional<c10::SymInt>& size) {
  return size.has_value() ? std::optional<int64_t>(known(*size)) : std::nullopt;
}

inline c10::IntArrayRef known(c10::SymIntArrayRef sizes) {
  return C10_AS_INTARRAYREF_SLOW(sizes);
}

inline c10::OptionalArrayRef<int64_t> known(const c10::OptionalArrayRef<c10::SymInt>& sizes) {
  return sizes.has_value() ? c10::OptionalArrayRef<int64_t>(known(*sizes)) : std::nullopt;
}

// An argument in a layout: itself, if it has it, else a copy. The result lives as long as the call that it is passed to.
class InLayout {
 public:
  C10_ALWAYS_INLINE InLayout(const at::Tensor& tensor, bool has_layout, at::MemoryFormat format) : tensor_(&tensor) {
    if (C10_UNLIKELY(!has_layout)) {
      copy(format);
    }
  }

  operator const at::Tensor&() const {
    return *tensor_;
  }

 private:
  C10_NOINLINE void copy(at::MemoryFormat format) {
    copy_ = tensor_->clone(format);
    tensor_ = &copy_;
  }

  const at::Tensor* tensor_;
  at::Tensor copy_;
};

inline InLayout contiguous(const at::Tensor& tensor) {
  return {tensor, tensor.is_contiguous(), at::MemoryFormat::Contiguous};
}

inline InLayout channels_last(const at::Tensor& tensor) {
  const auto format = tensor.dim() == 5 ? at::MemoryFormat::ChannelsLast3d : at::MemoryFormat::ChannelsLast;
  return {tensor, tensor.is_contiguous(format), format};
}

inline InLayout last_contiguous(const at::Tensor& tensor) {
  return {tensor, Concrete::last_contiguous(tensor), at::MemoryFormat::Contiguous};
}

inline InLayout aligned(const at::Tensor& tensor) {
  const bool is_traced = tensor.key_set().has(c10::DispatchKey::Python);
  const bool has_layout = is_traced ? tensor.is_contiguous() : Concrete::aligned(tensor);
  return {tensor, has_layout, at::MemoryFormat::Contiguous};
}

// The same for an optional tensor, and for each tensor of a list.
#define OPWRIGHT_LAYOUTS(layout) \
  inline std::optional<at::Tensor> layout(const std::optional<at::Tensor>& tensor) { \
    const bool is_given = has(tensor); \
    return is_given ? std::optional<at::Tensor>(::opwright::layout(*tensor)) : std::optional<at::Tensor>(); \
  } \
  inline std::vector<at::Tensor> layout(at::TensorList tensors) { \
    std::vector<at::Tensor> copies; \
    for (const at::Tensor& tensor : tensors) { \
      copies.push_back(static_cast<const at::Tensor&>(::opwright::layout(tensor))); \
    } \
    return copies; \
  }
OPWRIGHT_LAYOUTS(contiguous)
OPWRIGHT_LAYOUTS(channels_last)
OPWRIGHT_LAYOUTS(last_contiguous)
OPWRIGHT_LAYOUTS(aligned)
#undef OPWRIGHT_LAYOUTS

} // namespace opwright
