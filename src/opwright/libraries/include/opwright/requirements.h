// Requirements of operators. Opwright's generated code calls these functions before a kernel runs.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <opwright/outputs.h>
#include <opwright/refusal.h>
#include <opwright/values.h>

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

inline const char* shown(at::ScalarType dtype) {
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

// A trace that asks this of a symbol holds for its size alone.
inline bool is_power_of_two(const c10::SymInt& size) {
  return is_power_of_two(size.guard_int(__FILE__, __LINE__));
}

// The elements of a tensor as integers, or as numbers.
template <class Value>
Elements<Value> elements(const at::Tensor& tensor) {
  const auto dtype = std::is_same_v<Value, int64_t> ? at::kLong : at::kDouble;
  const at::Tensor values = tensor.detach().to(at::kCPU, dtype).contiguous();
  const Value* const first = static_cast<const Value*>(values.const_data_ptr());
  const int64_t row = values.dim() == 0 ? 1 : values.size(-1);
  return {std::vector<Value>(first, first + values.numel()), std::max<int64_t>(row, 1)};
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

// An argument in one of some layouts: a copy in the first one if it has none of them.
template <bool (*... has)(const at::Tensor&)>
InLayout any_layout(const at::Tensor& tensor, bool channels_last) {
  const auto format = tensor.dim() == 5 ? at::MemoryFormat::ChannelsLast3d : at::MemoryFormat::ChannelsLast;
  return {tensor, (has(tensor) || ...), channels_last ? format : at::MemoryFormat::Contiguous};
}

template <bool (*... has)(const at::Tensor&)>
std::optional<at::Tensor> any_layout(const std::optional<at::Tensor>& tensor, bool channels_last) {
  const bool is_given = ::opwright::has(tensor);
  return is_given ? std::optional<at::Tensor>(any_layout<has...>(*tensor, channels_last)) : std::optional<at::Tensor>();
}

template <bool (*... has)(const at::Tensor&)>
std::vector<at::Tensor> any_layout(at::TensorList tensors, bool channels_last) {
  std::vector<at::Tensor> copies;
  for (const at::Tensor& tensor : tensors) {
    copies.push_back(static_cast<const at::Tensor&>(any_layout<has...>(tensor, channels_last)));
  }
  return copies;
}

} // namespace opwright
