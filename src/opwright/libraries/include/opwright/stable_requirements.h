// Requirements of operators with nothing but PyTorch's stable C++ API. Opwright's generated code calls these functions
// before a kernel runs.
#pragma once

#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/macros/Macros.h>

#include <opwright/taken_tensor.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace opwright {

struct DeviceFacts {
  std::int32_t type;
  std::int32_t index;

  DeviceFacts(std::int32_t type, std::int32_t index) : type(type), index(index) {}
  DeviceFacts(const torch::stable::Device& device)
      : DeviceFacts(static_cast<std::int32_t>(device.type()), device.is_cpu() ? -1 : device.index()) {}

  bool operator==(const DeviceFacts& other) const {
    return type == other.type && index == other.index;
  }
};

struct DtypeFacts {
  std::int32_t code;

  explicit DtypeFacts(std::int32_t code) : code(code) {}
  DtypeFacts(torch::headeronly::ScalarType dtype) : code(static_cast<std::int32_t>(dtype)) {}

  bool operator==(const DtypeFacts& other) const {
    return code == other.code;
  }

  bool operator!=(const DtypeFacts& other) const {
    return code != other.code;
  }
};

// What checks of a call ask of a tensor more than once, so that the interface is called once for each.
class TensorFacts {
 public:
  C10_NOINLINE C10_ATTR_VISIBILITY_HIDDEN explicit TensorFacts(AtenTensorHandle handle) : handle_(handle) {
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_dim(handle_, &dim_));
  }
  TensorFacts(const torch::stable::Tensor& tensor) : TensorFacts(tensor.get()) {}
  TensorFacts(const TakenTensor& tensor) : TensorFacts(tensor.get()) {}

  // Another reference to the tensor.
  torch::stable::Tensor tensor() const {
    AtenTensorHandle handle = nullptr;
    TORCH_ERROR_CODE_CHECK(aoti_torch_new_tensor_handle(handle_, &handle));
    return torch::stable::Tensor(handle);
  }

  std::int64_t dim() const {
    return dim_;
  }

  // A trace holds for the sizes that it is asked for.
  const std::int64_t* begin() const {
    if (sizes_ == nullptr) {
      ask_sizes();
    }
    return sizes_;
  }

  const std::int64_t* end() const {
    return begin() + dim_;
  }

  DtypeFacts scalar_type() const {
    if (dtype_.code < 0) {
      TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(handle_, &dtype_.code));
    }
    return dtype_;
  }

  DeviceFacts device() const {
    if (device_.type < 0) {
      ask_device();
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
  C10_NOINLINE C10_ATTR_VISIBILITY_HIDDEN void ask_sizes() const {
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_sizes(handle_, &sizes_));
  }

  // The CPU has no index.
  C10_NOINLINE C10_ATTR_VISIBILITY_HIDDEN void ask_device() const {
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(handle_, &device_.type));
    if (device_.type != 0) {
      TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_index(handle_, &device_.index));
    }
  }

  AtenTensorHandle handle_;
  std::int64_t dim_ = 0;
  mutable std::int64_t* sizes_ = nullptr;
  mutable DtypeFacts dtype_{-1};
  mutable DeviceFacts device_{-1, -1};
};

inline TensorFacts facts(const torch::stable::Tensor& tensor) {
  return tensor;
}

inline TensorFacts facts(const TakenTensor& tensor) {
  return tensor;
}

template <class Tensor>
std::optional<TensorFacts> facts(const std::optional<Tensor>& tensor) {
  return tensor.has_value() && tensor->defined() ? std::optional<TensorFacts>(*tensor) : std::nullopt;
}

template <class Tensors>
std::vector<TensorFacts> facts(const Tensors& tensors) {
  return std::vector<TensorFacts>(tensors.begin(), tensors.end());
}

// The dtype of floating-point numbers without one.
inline DtypeFacts default_dtype() {
  return torch::stable::full({}, 0).scalar_type();
}

// The dtype that PyTorch promotes two others to.
inline DtypeFacts promoted_dtype(const DtypeFacts& left, const DtypeFacts& right) {
  using torch::headeronly::ScalarType;
  if (left == right) {
    return left;
  }
  std::array<StableIValue, 2> stack{
      torch::stable::detail::from(static_cast<ScalarType>(left.code)),
      torch::stable::detail::from(static_cast<ScalarType>(right.code))};
  TORCH_ERROR_CODE_CHECK(torch_call_dispatcher("aten::promote_types", "", stack.data(), TORCH_ABI_VERSION));
  return torch::stable::detail::to<ScalarType>(stack[0]);
}

} // namespace opwright

#include <opwright/known_sizes.h>

namespace opwright {

inline bool is_on_cpu(const TensorFacts& tensor) {
  return tensor.device().type == aoti_torch_device_type_cpu();
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

inline std::string shown(const torch::headeronly::HeaderOnlyArrayRef<std::int64_t>& list) {
  return shown_list(list, [](const auto& item) { return shown(item); });
}

// Computes with sizes.
struct Concrete : KnownSizes {
  static constexpr bool reads_values = true;
  using Dtype = torch::headeronly::ScalarType;

  static DtypeFacts default_dtype() {
    return opwright::default_dtype();
  }

  static DeviceFacts cpu() {
    return {aoti_torch_device_type_cpu(), -1};
  }
};

// The same for tensors that may be those of a trace, which have no values.
struct Traced : Concrete {
  static constexpr bool reads_values = false;
};

// The elements of a tensor as integers, or as numbers.
template <class Value>
Elements<Value> elements(const TensorFacts& tensor) {
  using torch::headeronly::ScalarType;
  std::vector<std::int64_t> strides(static_cast<std::size_t>(tensor.dim()));
  std::int64_t count = 1;
  for (std::size_t dim = strides.size(); dim-- > 0;) {
    strides[dim] = count;
    count *= tensor.begin()[dim];
  }
  AtenTensorHandle copy = nullptr;
  const auto dtype = static_cast<std::int32_t>(std::is_same_v<Value, std::int64_t> ? ScalarType::Long : ScalarType::Double);
  TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(
      tensor.dim(), tensor.begin(), strides.data(), dtype, aoti_torch_device_type_cpu(), 0, &copy));
  const torch::stable::Tensor values(copy);
  TORCH_ERROR_CODE_CHECK(aoti_torch_copy_(copy, tensor.tensor().get(), 0));
  void* address = nullptr;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_data_ptr(copy, &address));
  const Value* const first = static_cast<const Value*>(address);
  const std::int64_t row = tensor.dim() == 0 ? 1 : tensor.end()[-1];
  return {std::vector<Value>(first, first + count), std::max<std::int64_t>(row, 1)};
}

// Checks an out tensor, and resizes it if it has other sizes.
inline void resize_out(
    const TensorFacts& out, const SizeList& size, const DtypeFacts& dtype, const DeviceFacts& device) {
  check_written("out tensor", out, dtype, device);
  if (!(Concrete::sizes(out) == size)) {
    std::array<StableIValue, 3> stack{
        torch::stable::detail::from(out.tensor()),
        torch::stable::detail::from(std::vector<std::int64_t>(size.begin(), size.end())),
        torch::stable::detail::from(std::nullopt)};
    TORCH_ERROR_CODE_CHECK(torch_call_dispatcher("aten::resize_", "", stack.data(), TORCH_ABI_VERSION));
    torch::stable::detail::to<torch::stable::Tensor>(stack[0]);
  }
}

// An argument in a layout: itself, if it has it, else a copy. Another reference to the tensor would take longer than the
// question whether it has the layout.
template <class Value>
class InLayout {
 public:
  C10_ALWAYS_INLINE explicit InLayout(const Value& value) : value_(&value) {}
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
  if (has_layout) {
    return Layout(tensor);
  }
  // What has the strides, but not the address, would come back as it is.
  const bool has_strides = format == torch::headeronly::MemoryFormat::Contiguous && tensor.is_contiguous();
  return Layout(tensor, has_strides ? torch::stable::clone(tensor) : torch::stable::contiguous(tensor, format));
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
  return in_layout(tensor, Concrete::aligned(tensor));
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

// An argument in one of some layouts: a copy in the first one if it has none of them.
template <bool (*... has)(const TensorFacts&)>
InLayout<torch::stable::Tensor> any_layout(const torch::stable::Tensor& tensor, bool channels_last) {
  using torch::headeronly::MemoryFormat;
  const TensorFacts facts = tensor;
  const auto format = facts.dim() == 5 ? MemoryFormat::ChannelsLast3d : MemoryFormat::ChannelsLast;
  return in_layout(tensor, (has(facts) || ...), channels_last ? format : MemoryFormat::Contiguous);
}

// The same for a tensor that another call takes over, in its place.
template <bool (*... has)(const TensorFacts&)>
void put_in_layout(TakenTensor& tensor, bool channels_last) {
  const TensorFacts facts = tensor;
  if (!(has(facts) || ...)) {
    const torch::stable::Tensor copy = any_layout<has...>(facts.tensor(), channels_last);
    AtenTensorHandle handle = nullptr;
    TORCH_ERROR_CODE_CHECK(aoti_torch_new_tensor_handle(copy.get(), &handle));
    tensor = TakenTensor(handle);
  }
}

template <bool (*... has)(const TensorFacts&)>
void put_in_layout(std::optional<TakenTensor>& tensor, bool channels_last) {
  if (tensor.has_value() && tensor->defined()) {
    put_in_layout<has...>(*tensor, channels_last);
  }
}

template <bool (*... has)(const TensorFacts&)>
InLayout<std::optional<torch::stable::Tensor>> any_layout(
    const std::optional<torch::stable::Tensor>& tensor, bool channels_last) {
  using Layout = InLayout<std::optional<torch::stable::Tensor>>;
  const bool is_given = tensor.has_value() && tensor->defined();
  return is_given ? Layout(tensor, any_layout<has...>(*tensor, channels_last)) : Layout(tensor, std::nullopt);
}

template <bool (*... has)(const TensorFacts&)>
std::vector<torch::stable::Tensor> any_layout(
    torch::headeronly::HeaderOnlyArrayRef<torch::stable::Tensor> tensors, bool channels_last) {
  std::vector<torch::stable::Tensor> copies;
  for (const torch::stable::Tensor& tensor : tensors) {
    copies.push_back(static_cast<const torch::stable::Tensor&>(any_layout<has...>(tensor, channels_last)));
  }
  return copies;
}

} // namespace opwright
