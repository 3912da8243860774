// Requirements of operators with nothing but PyTorch's stable C++ API. Opwright's generated code calls these functions
// before a kernel runs.
#pragma once

#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/macros/Macros.h>

#include <opwright/arithmetic.h>
#include <opwright/refusal.h>
#include <opwright/values.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
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
  C10_NOINLINE C10_ATTR_VISIBILITY_HIDDEN TensorFacts(const torch::stable::Tensor& tensor) : handle_(tensor.get()) {
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_dim(handle_, &dim_));
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_sizes(handle_, &sizes_));
  }

  // Another reference to the tensor.
  torch::stable::Tensor tensor() const {
    AtenTensorHandle handle = nullptr;
    TORCH_ERROR_CODE_CHECK(aoti_torch_new_tensor_handle(handle_, &handle));
    return torch::stable::Tensor(handle);
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
  // The CPU has no index.
  C10_NOINLINE C10_ATTR_VISIBILITY_HIDDEN void ask_device() const {
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(handle_, &device_.type));
    if (device_.type != 0) {
      TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_index(handle_, &device_.index));
    }
  }

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

// Dimensions as an operator takes them: one, several, or none.
template <class Dims>
std::vector<std::int64_t> dim_list(const Dims& dims) {
  if constexpr (std::is_same_v<Dims, std::nullopt_t>) {
    return {};
  } else if constexpr (std::is_integral_v<Dims>) {
    return {static_cast<std::int64_t>(dims)};
  } else {
    return {dims.begin(), dims.end()};
  }
}

template <class Dims>
std::vector<std::int64_t> dim_list(const std::optional<Dims>& dims) {
  return dims.has_value() ? dim_list(*dims) : std::vector<std::int64_t>();
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

inline const TensorFacts& tensor_at(const std::vector<TensorFacts>& tensors, std::int64_t index, const char* where) {
  return tensors[static_cast<size_t>(checked_index(index, length(tensors), where))];
}

// An item of a list that has it.
inline const TensorFacts& tensor_at(const std::vector<TensorFacts>& tensors, std::int64_t index) {
  return tensors[static_cast<size_t>(index)];
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

inline std::string shown(const torch::headeronly::HeaderOnlyArrayRef<std::int64_t>& list) {
  return shown_list(list, [](const auto& item) { return shown(item); });
}

// Computes with sizes. Integers follow the rules of Python.
struct Concrete {
  static constexpr bool reads_values = true;
  using Number = std::int64_t;
  using Dtype = torch::headeronly::ScalarType;
  using Tensor = TensorFacts;
  using ScalarType = DtypeFacts;
  using Device = DeviceFacts;
  using Scalar = Numeric;
  using List = std::vector<std::int64_t>;

  static DtypeFacts default_dtype() {
    return torch::stable::full({}, 0).scalar_type();
  }

  static DeviceFacts cpu() {
    return {aoti_torch_device_type_cpu(), -1};
  }

  C10_ALWAYS_INLINE static std::int64_t size(const TensorFacts& tensor, std::int64_t dim, const char* where) {
    return tensor.begin()[checked_dimension(dim, tensor.dim(), where)];
  }

  static std::int64_t numel(const TensorFacts& tensor) {
    // A tensor without elements may have sizes whose product has more than 64 bits.
    std::uint64_t count = 1;
    for (const std::int64_t size : tensor) {
      count *= static_cast<std::uint64_t>(size);
    }
    return static_cast<std::int64_t>(count);
  }

  template <class Sizes>
  static List sizes(const Sizes& sizes) {
    return List(sizes.begin(), sizes.end());
  }

  static List list(std::initializer_list<std::int64_t> items) {
    return List(items);
  }

  template <class Sizes>
  static std::int64_t item(const Sizes& sizes, std::int64_t index, const char* where) {
    const auto count = static_cast<std::int64_t>(sizes.end() - sizes.begin());
    return sizes.begin()[checked_index(index, count, where)];
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

  static std::int64_t add(std::int64_t left, std::int64_t right, const char* where) {
    return checked_add(left, right, where);
  }

  static std::int64_t subtract(std::int64_t left, std::int64_t right, const char* where) {
    return checked_subtract(left, right, where);
  }

  static std::int64_t multiply(std::int64_t left, std::int64_t right, const char* where) {
    return checked_multiply(left, right, where);
  }

  static std::int64_t floor_divide(std::int64_t left, std::int64_t right, const char* where) {
    return checked_floor_divide(left, right, where);
  }

  static std::int64_t modulo(std::int64_t left, std::int64_t right, const char* where) {
    return checked_modulo(left, right, where);
  }

  static std::int64_t negate(std::int64_t number, const char* where) {
    return checked_negate(number, where);
  }

  static Numeric negate_number(const Numeric& number, const char* where) {
    return checked_negate(number, where);
  }

  static std::int64_t max(std::initializer_list<std::int64_t> values) {
    return std::max(values);
  }

  static std::int64_t min(std::initializer_list<std::int64_t> values) {
    return std::min(values);
  }

  // The sizes to which all shapes broadcast.
  static List broadcast(std::initializer_list<List> shapes, const char* where) {
    List common;
    for (const List& shape : shapes) {
      List joined = common.size() < shape.size() ? shape : common;
      const List& shorter = common.size() < shape.size() ? common : shape;
      for (size_t place = 1; place <= shorter.size(); ++place) {
        std::int64_t& size = joined[joined.size() - place];
        const std::int64_t other = shorter[shorter.size() - place];
        if (size == 1) {
          size = other;
        } else if (other != 1 && size != other) {
          fail(where, {"sizes ", shown(common), " and ", shown(shape), " do not broadcast"});
        }
      }
      common = std::move(joined);
    }
    return common;
  }

  // The sizes without the dimensions `dims`, or with 1 in their place. No dimensions stand for all.
  template <class Shape>
  static List reduce(const Shape& shape, const List& dims, bool keepdim, const char* where) {
    const List before = sizes(shape);
    const std::int64_t count = length(before);
    std::vector<bool> is_reduced(before.size(), dims.empty());
    for (const std::int64_t dim : dims) {
      // A tensor without dimensions can be reduced over dimension 0.
      const std::int64_t position = checked_dimension(dim, std::max<std::int64_t>(count, 1), where);
      if (count == 0) {
        continue;
      }
      if (is_reduced[position]) {
        fail(where, {"dimension ", std::to_string(position), " is named twice"});
      }
      is_reduced[position] = true;
    }
    List after;
    for (size_t place = 0; place < before.size(); ++place) {
      if (!is_reduced[place] || keepdim) {
        after.push_back(is_reduced[place] ? 1 : before[place]);
      }
    }
    return after;
  }

  // The sizes of tensors that are joined along a dimension. A tensor of size 0 alone has no say.
  static List cat(const std::vector<TensorFacts>& tensors, std::int64_t dim, const char* where) {
    if (tensors.empty()) {
      fail(where, {"there are no tensors to join"});
    }
    std::optional<List> joined;
    for (const TensorFacts& tensor : tensors) {
      const List next = sizes(tensor);
      if (next == List{0}) {
        continue;
      }
      if (!joined.has_value()) {
        joined = next;
        continue;
      }
      const std::int64_t position = checked_dimension(dim, length(*joined), where);
      bool fits = next.size() == joined->size();
      for (std::int64_t other = 0; fits && other < length(next); ++other) {
        fits = other == position || (*joined)[other] == next[other];
      }
      if (!fits) {
        fail(where, {"sizes ", shown(*joined), " and ", shown(next), " do not join"});
      }
      (*joined)[position] = checked_add((*joined)[position], next[position], where);
    }
    const List result = joined.has_value() ? *joined : sizes(tensors[0]);
    checked_dimension(dim, length(result), where);
    return result;
  }

  // Comparisons: of a whole condition, of a part of one, and of numbers that are no integers.
  static bool expect_equal(std::int64_t left, std::int64_t right) {
    return left == right;
  }

  static bool equal(std::int64_t left, std::int64_t right) {
    return left == right;
  }

  static bool equal_numbers(const Numeric& left, const Numeric& right, const char* where) {
    return is_equal(compared(left, right, where));
  }

  static bool expect_unequal(std::int64_t left, std::int64_t right) {
    return left != right;
  }

  static bool unequal(std::int64_t left, std::int64_t right) {
    return left != right;
  }

  static bool unequal_numbers(const Numeric& left, const Numeric& right, const char* where) {
    return is_unequal(compared(left, right, where));
  }

  static bool expect_less(std::int64_t left, std::int64_t right) {
    return left < right;
  }

  static bool less(std::int64_t left, std::int64_t right) {
    return left < right;
  }

  static bool less_numbers(const Numeric& left, const Numeric& right, const char* where) {
    return is_less(compared(left, right, where));
  }

  static bool expect_less_equal(std::int64_t left, std::int64_t right) {
    return left <= right;
  }

  static bool less_equal(std::int64_t left, std::int64_t right) {
    return left <= right;
  }

  static bool less_equal_numbers(const Numeric& left, const Numeric& right, const char* where) {
    return is_less_equal(compared(left, right, where));
  }

  static bool expect_greater(std::int64_t left, std::int64_t right) {
    return left > right;
  }

  static bool greater(std::int64_t left, std::int64_t right) {
    return left > right;
  }

  static bool greater_numbers(const Numeric& left, const Numeric& right, const char* where) {
    return is_greater(compared(left, right, where));
  }

  static bool expect_greater_equal(std::int64_t left, std::int64_t right) {
    return left >= right;
  }

  static bool greater_equal(std::int64_t left, std::int64_t right) {
    return left >= right;
  }

  static bool greater_equal_numbers(const Numeric& left, const Numeric& right, const char* where) {
    return is_greater_equal(compared(left, right, where));
  }

  // Whether the sizes between some first and some last dimensions of two tensors are equal.
  static bool same_sizes(
      const TensorFacts& tensor, std::int64_t before, std::int64_t after, const TensorFacts& other,
      std::int64_t other_before, std::int64_t other_after) {
    const std::int64_t* const size = tensor.begin() + before;
    const std::int64_t* const other_size = other.begin() + other_before;
    const std::int64_t count = tensor.dim() - before - after;
    bool is_same = count == other.dim() - other_before - other_after;
    for (std::int64_t place = 0; is_same && place < count; ++place) {
      is_same = size[place] == other_size[place];
    }
    return is_same;
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

// The dtype to which values promote: tensors with dimensions first, then those without, then numbers.
class PromotedTypes {
 public:
  void add(const TensorFacts& tensor) {
    add(tensor.scalar_type(), tensor.dim() == 0 ? 1 : 0);
  }

  void add(const std::vector<TensorFacts>& tensors) {
    for (const TensorFacts& tensor : tensors) {
      add(tensor);
    }
  }

  void add(const DtypeFacts& dtype) {
    add(dtype, 0);
  }

  void add(const Numeric& number) {
    using torch::headeronly::ScalarType;
    add(number.kind == Numeric::Kind::boolean ? DtypeFacts(ScalarType::Bool)
            : number.is_integer()            ? DtypeFacts(ScalarType::Long)
                                             : Concrete::default_dtype(),
        2);
  }

  // Values of a lower rank have a say where theirs is of a higher category: complex, floating, integral, bool.
  DtypeFacts result() const {
    DtypeFacts result = ranks_[2];
    for (const DtypeFacts& next : {ranks_[1], ranks_[0]}) {
      result = next.code < 0 ? result : category(result) > category(next) ? promoted(next, result) : next;
    }
    return result;
  }

 private:
  void add(const DtypeFacts& dtype, size_t rank) {
    ranks_[rank] = ranks_[rank].code < 0 ? dtype : promoted(ranks_[rank], dtype);
  }

  static int category(const DtypeFacts& dtype) {
    using torch::headeronly::ScalarType;
    return dtype.code < 0                                                                                    ? -1
        : dtype == ScalarType::Bool                                                                          ? 0
        : dtype == ScalarType::ComplexHalf || dtype == ScalarType::ComplexFloat || dtype == ScalarType::ComplexDouble ? 3
        : std::string(dtype_name(dtype.code)).find("float") != std::string::npos                            ? 2
                                                                                                             : 1;
  }

  static DtypeFacts promoted(const DtypeFacts& left, const DtypeFacts& right) {
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

  std::array<DtypeFacts, 3> ranks_{DtypeFacts(-1), DtypeFacts(-1), DtypeFacts(-1)};
};

template <class... Values>
DtypeFacts promote(const char* where, const Values&... values) {
  PromotedTypes types;
  (types.add(values), ...);
  const DtypeFacts result = types.result();
  if (result.code < 0) {
    fail(where, {"there are no values to promote"});
  }
  return result;
}

// Checks that a tensor can hold a result. Traces check the same, with the same messages.
inline void check_written(const char* kind, const TensorFacts& tensor, const DtypeFacts& dtype, const DeviceFacts& device) {
  const std::string operand = std::string("Expected ") + kind + " to have ";
  OPWRIGHT_REQUIRE(
      tensor.scalar_type() == dtype, operand, "dtype torch.", shown(dtype), ", but got torch.",
      shown(tensor.scalar_type()), " instead");
  OPWRIGHT_REQUIRE(
      tensor.device() == device, operand, "device ", shown(device), ", but got ", shown(tensor.device()), " instead");
}

// Checks an out tensor, and resizes it if it has other sizes.
inline void resize_out(
    const TensorFacts& out, const std::vector<std::int64_t>& size, const DtypeFacts& dtype, const DeviceFacts& device) {
  check_written("out tensor", out, dtype, device);
  if (Concrete::sizes(out) != size) {
    std::array<StableIValue, 3> stack{
        torch::stable::detail::from(out.tensor()), torch::stable::detail::from(size),
        torch::stable::detail::from(std::nullopt)};
    TORCH_ERROR_CODE_CHECK(torch_call_dispatcher("aten::resize_", "", stack.data(), TORCH_ABI_VERSION));
    torch::stable::detail::to<torch::stable::Tensor>(stack[0]);
  }
}

// Checks an argument that an operator overwrites with a result.
inline void check_inplace(
    const TensorFacts& self, const std::vector<std::int64_t>& size, const DtypeFacts& dtype, const DeviceFacts& device) {
  check_written("in-place operand", self, dtype, device);
  OPWRIGHT_REQUIRE(
      Concrete::sizes(self) == size, "Bad in-place call: input tensor size ", shown(Concrete::sizes(self)),
      " and output tensor size ", shown(size), " should match");
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

// An argument in one of some layouts: a copy in the first one if it has none of them.
template <bool (*... has)(const TensorFacts&)>
InLayout<torch::stable::Tensor> any_layout(const torch::stable::Tensor& tensor, bool channels_last) {
  using torch::headeronly::MemoryFormat;
  const TensorFacts facts = tensor;
  const auto format = facts.dim() == 5 ? MemoryFormat::ChannelsLast3d : MemoryFormat::ChannelsLast;
  return in_layout(tensor, (has(facts) || ...), channels_last ? format : MemoryFormat::Contiguous);
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
