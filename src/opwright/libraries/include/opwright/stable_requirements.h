// Requirements of operators with nothing but PyTorch's stable C++ API. Opwright's generated code calls these functions
// before a kernel runs.
#pragma once

#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <opwright/refusal.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace opwright {

// Raises with a message.
[[noreturn]] inline void refuse(std::initializer_list<std::string> parts) {
  std::string message;
  for (const std::string& part : parts) {
    message += part;
  }
  throw std::runtime_error(message);
}

struct DeviceFacts {
  std::int32_t type;
  std::int32_t index;

  bool operator==(const DeviceFacts& other) const {
    return type == other.type && index == other.index;
  }
};

struct DtypeFacts {
  std::int32_t code;

  bool operator==(const DtypeFacts& other) const {
    return code == other.code;
  }

  bool operator!=(const DtypeFacts& other) const {
    return code != other.code;
  }

  bool operator==(torch::headeronly::ScalarType other) const {
    return code == static_cast<std::int32_t>(other);
  }

  bool operator!=(torch::headeronly::ScalarType other) const {
    return !(*this == other);
  }
};

// What is asked of a tensor more than once, so that the interface is called once for each.
class TensorFacts {
 public:
  TensorFacts(const torch::stable::Tensor& tensor) : handle_(tensor.get()) {
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_dim(handle_, &dim_));
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_sizes(handle_, &sizes_));
  }

  std::int64_t dim() const {
    return dim_;
  }

  const std::int64_t* begin() const {
    return sizes_;
  }

  const std::int64_t* end() const {
    return sizes_ + dim_;
  }

  DtypeFacts scalar_type() const {
    if (dtype_.code < 0) {
      TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(handle_, &dtype_.code));
    }
    return dtype_;
  }

  // The CPU has no index.
  DeviceFacts device() const {
    if (device_.type < 0) {
      TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(handle_, &device_.type));
      if (device_.type != 0) {
        TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_index(handle_, &device_.index));
      }
    }
    return device_;
  }

  bool is_contiguous() const {
    bool is_contiguous = false;
    TORCH_ERROR_CODE_CHECK(aoti_torch_is_contiguous(handle_, &is_contiguous));
    return is_contiguous;
  }

  const void* address() const {
    void* address = nullptr;
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_data_ptr(handle_, &address));
    return address;
  }

  const std::int64_t* strides() const {
    std::int64_t* strides = nullptr;
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_strides(handle_, &strides));
    return strides;
  }

 private:
  AtenTensorHandle handle_;
  std::int64_t dim_ = 0;
  std::int64_t* sizes_ = nullptr;
  mutable DtypeFacts dtype_{-1};
  mutable DeviceFacts device_{-1, -1};
};

inline TensorFacts facts(const torch::stable::Tensor& tensor) {
  return tensor;
}

inline std::optional<TensorFacts> facts(const std::optional<torch::stable::Tensor>& tensor) {
  return tensor.has_value() && tensor->defined() ? std::optional<TensorFacts>(*tensor) : std::nullopt;
}

template <class Tensors>
std::vector<TensorFacts> facts(const Tensors& tensors) {
  return std::vector<TensorFacts>(tensors.begin(), tensors.end());
}

template <class Value>
bool has(const std::optional<Value>& argument) {
  return argument.has_value();
}

template <class Value>
const Value& value(const std::optional<Value>& argument) {
  return *argument;
}

template <class List>
std::int64_t length(const List& list) {
  return static_cast<std::int64_t>(list.size());
}

inline const TensorFacts& tensor_at(const std::vector<TensorFacts>& tensors, std::int64_t index) {
  return tensors.at(static_cast<size_t>(index < 0 ? index + length(tensors) : index));
}

inline bool is_one_of(const DtypeFacts& dtype, std::uint64_t codes) {
  return is_one_of(dtype.code, codes);
}

inline bool is_on_cpu(const TensorFacts& tensor) {
  return tensor.device().type == aoti_torch_device_type_cpu();
}

inline std::string shown(const DtypeFacts& dtype) {
  return dtype_name(dtype.code);
}

inline std::string shown(const DeviceFacts& device) {
  const char* name = device.type == aoti_torch_device_type_cpu() ? "cpu"
      : device.type == aoti_torch_device_type_cuda()             ? "cuda"
      : device.type == aoti_torch_device_type_meta()             ? "meta"
      : device.type == aoti_torch_device_type_xpu()              ? "xpu"
      : device.type == aoti_torch_device_type_mps()              ? "mps"
                                                                 : "another device";
  return device.index < 0 ? name : std::string(name) + ":" + std::to_string(device.index);
}

inline std::string shown(const std::vector<std::int64_t>& list) {
  return shown_list(list, [](const auto& item) { return shown(item); });
}

// Computes with sizes. Integers follow the rules of Python.
struct Concrete {
  using Number = std::int64_t;
  using Dtype = torch::headeronly::ScalarType;
  using List = std::vector<std::int64_t>;

  static std::int64_t size(const TensorFacts& tensor, std::int64_t dim) {
    return item(tensor, dim);
  }

  static std::int64_t numel(const TensorFacts& tensor) {
    std::int64_t count = 1;
    for (const std::int64_t size : tensor) {
      count *= size;
    }
    return count;
  }

  template <class Sizes>
  static List sizes(const Sizes& sizes) {
    return List(sizes.begin(), sizes.end());
  }

  static List list(std::initializer_list<std::int64_t> items) {
    return List(items);
  }

  template <class Sizes>
  static std::int64_t item(const Sizes& sizes, std::int64_t index) {
    const auto count = static_cast<std::int64_t>(sizes.end() - sizes.begin());
    if (index < -count || index >= count) {
      throw std::out_of_range("index " + std::to_string(index) + " is out of range for a list of " + std::to_string(count));
    }
    return sizes.begin()[index < 0 ? index + count : index];
  }

  template <class Sizes>
  static List slice(const Sizes& sizes, std::optional<std::int64_t> start, std::optional<std::int64_t> end) {
    const auto count = static_cast<std::int64_t>(sizes.end() - sizes.begin());
    const auto position = [count](std::int64_t limit) {
      return std::min(std::max<std::int64_t>(limit < 0 ? limit + count : limit, 0), count);
    };
    const std::int64_t first = position(start.value_or(0));
    return List(sizes.begin() + first, sizes.begin() + std::max(first, position(end.value_or(count))));
  }

  static List concatenate(std::initializer_list<List> parts) {
    List joined;
    for (const List& part : parts) {
      joined.insert(joined.end(), part.begin(), part.end());
    }
    return joined;
  }

  static std::int64_t floor_divide(std::int64_t number, std::int64_t by) {
    check_divisor(by);
    return number / by - (number % by != 0 && (number < 0) != (by < 0) ? 1 : 0);
  }

  static std::int64_t modulo(std::int64_t number, std::int64_t by) {
    check_divisor(by);
    const std::int64_t rest = number % by;
    return rest != 0 && (rest < 0) != (by < 0) ? rest + by : rest;
  }

  static std::int64_t max(std::initializer_list<std::int64_t> values) {
    return std::max(values);
  }

  static std::int64_t min(std::initializer_list<std::int64_t> values) {
    return std::min(values);
  }

  template <class Left, class Right>
  static bool expect_equal(const Left& left, const Right& right) {
    return left == right;
  }

  template <class Left, class Right>
  static bool expect_unequal(const Left& left, const Right& right) {
    return left != right;
  }

  template <class Left, class Right>
  static bool expect_less(const Left& left, const Right& right) {
    return left < right;
  }

  template <class Left, class Right>
  static bool expect_less_equal(const Left& left, const Right& right) {
    return left <= right;
  }

  // Whether the sizes between some first and some last dimensions of two tensors are equal.
  static bool same_sizes(
      const TensorFacts& tensor, std::int64_t before, std::int64_t after, const TensorFacts& other,
      std::int64_t other_before, std::int64_t other_after) {
    return tensor.dim() - before - after == other.dim() - other_before - other_after &&
        std::equal(tensor.begin() + before, tensor.end() - after, other.begin() + other_before);
  }

  static bool same_list(const List& sizes, const List& others) {
    return sizes == others;
  }

  // Whether such sizes of the first tensor broadcast to those of the second one.
  static bool broadcasts(
      const TensorFacts& tensor, std::int64_t before, std::int64_t after, const TensorFacts& other,
      std::int64_t other_before, std::int64_t other_after) {
    return tensor.dim() - before - after <= other.dim() - other_before - other_after &&
        ends_fit(tensor, before, after, other, other_before, other_after, false);
  }

  // Whether such sizes of two tensors broadcast.
  static bool broadcasts_together(
      const TensorFacts& tensor, std::int64_t before, std::int64_t after, const TensorFacts& other,
      std::int64_t other_before, std::int64_t other_after) {
    return ends_fit(tensor, before, after, other, other_before, other_after, true);
  }

  static bool contiguous(const TensorFacts& tensor) {
    return tensor.is_contiguous();
  }

  static bool aligned(const TensorFacts& tensor) {
    return tensor.is_contiguous() && reinterpret_cast<std::uintptr_t>(tensor.address()) % 16 == 0;
  }

  static bool channels_last(const TensorFacts& tensor) {
    const std::int64_t* const strides = tensor.strides();
    const std::int64_t dims = tensor.dim();
    if (dims != 4 && dims != 5) {
      return false;
    }
    // The channels first, then the other dimensions from the last one to that of the batch.
    std::int64_t expected = 1;
    for (std::int64_t step = 0; step < dims; ++step) {
      const std::int64_t dim = step == 0 ? 1 : step == dims - 1 ? 0 : dims - step;
      const std::int64_t size = tensor.begin()[dim];
      if (size != 1 && strides[dim] != expected) {
        return numel(tensor) == 0;
      }
      expected *= size;
    }
    return true;
  }

  static bool last_contiguous(const TensorFacts& tensor) {
    const std::int64_t dims = tensor.dim();
    return dims == 0 || tensor.begin()[dims - 1] == 1 || tensor.strides()[dims - 1] == 1;
  }

 private:
  static void check_divisor(std::int64_t by) {
    if (by == 0) {
      throw std::runtime_error("division of a size by zero");
    }
  }

  static bool ends_fit(
      const TensorFacts& tensor, std::int64_t before, std::int64_t after, const TensorFacts& other,
      std::int64_t other_before, std::int64_t other_after, bool both_broadcast) {
    const std::int64_t* size = tensor.end() - after;
    const std::int64_t* other_size = other.end() - other_after;
    while (size != tensor.begin() + before && other_size != other.begin() + other_before) {
      --size;
      --other_size;
      if (*size != *other_size && *size != 1 && !(both_broadcast && *other_size == 1)) {
        return false;
      }
    }
    return true;
  }
};

// An argument in a layout: itself, if it has it, else a copy. Another reference to the tensor would take longer than the
// question whether it has the layout.
template <class Value>
class InLayout {
 public:
  explicit InLayout(const Value& value) : value_(&value) {}
  InLayout(const Value& value, Value copy) : value_(&value), copy_(std::move(copy)) {}

  operator const Value&() const {
    return copy_.has_value() ? *copy_ : *value_;
  }

 private:
  const Value* value_;
  std::optional<Value> copy_;
};

inline InLayout<torch::stable::Tensor> in_layout(
    const torch::stable::Tensor& tensor, bool has_layout,
    torch::headeronly::MemoryFormat format = torch::headeronly::MemoryFormat::Contiguous) {
  using Layout = InLayout<torch::stable::Tensor>;
  return has_layout ? Layout(tensor) : Layout(tensor, torch::stable::contiguous(tensor, format));
}

inline InLayout<torch::stable::Tensor> contiguous(const torch::stable::Tensor& tensor) {
  return in_layout(tensor, tensor.is_contiguous());
}

inline InLayout<torch::stable::Tensor> last_contiguous(const torch::stable::Tensor& tensor) {
  return in_layout(tensor, Concrete::last_contiguous(tensor));
}

inline InLayout<torch::stable::Tensor> channels_last(const torch::stable::Tensor& tensor) {
  using torch::headeronly::MemoryFormat;
  const auto format = tensor.dim() == 5 ? MemoryFormat::ChannelsLast3d : MemoryFormat::ChannelsLast;
  return in_layout(tensor, Concrete::channels_last(tensor), format);
}

inline InLayout<torch::stable::Tensor> aligned(const torch::stable::Tensor& tensor) {
  using Layout = InLayout<torch::stable::Tensor>;
  if (!tensor.is_contiguous()) {
    return Layout(tensor, torch::stable::contiguous(tensor));
  }
  return Concrete::aligned(tensor) ? Layout(tensor) : Layout(tensor, torch::stable::clone(tensor));
}

// The same for an optional tensor, and for each tensor of a list.
#define OPWRIGHT_LAYOUTS(layout) \
  inline InLayout<std::optional<torch::stable::Tensor>> layout(const std::optional<torch::stable::Tensor>& tensor) { \
    using Layout = InLayout<std::optional<torch::stable::Tensor>>; \
    const bool is_given = tensor.has_value() && tensor->defined(); \
    return is_given ? Layout(tensor, ::opwright::layout(*tensor)) : Layout(tensor, std::nullopt); \
  } \
  inline std::vector<torch::stable::Tensor> layout(torch::headeronly::HeaderOnlyArrayRef<torch::stable::Tensor> tensors) { \
    std::vector<torch::stable::Tensor> copies; \
    for (const torch::stable::Tensor& tensor : tensors) { \
      copies.push_back(static_cast<const torch::stable::Tensor&>(::opwright::layout(tensor))); \
    } \
    return copies; \
  }
OPWRIGHT_LAYOUTS(contiguous)
OPWRIGHT_LAYOUTS(channels_last)
OPWRIGHT_LAYOUTS(last_contiguous)
OPWRIGHT_LAYOUTS(aligned)
#undef OPWRIGHT_LAYOUTS

} // namespace opwright
