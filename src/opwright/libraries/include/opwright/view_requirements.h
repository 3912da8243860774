// Requirements of operators whose kernels get borrowed tensors: the same checks for each framework, with the same texts.
#pragma once

#include <opwright/arithmetic.h>
#include <opwright/memory.h>
#include <opwright/refusal.h>
#include <opwright/values.h>
#include <opwright/view_call.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace opwright {

struct DeviceFacts {
  std::int32_t type;
  std::int32_t index;

  // The CPU has no index.
  DeviceFacts(std::int32_t type, std::int32_t index) : type(type), index(type == 1 ? 0 : index) {}

  bool operator==(const DeviceFacts& other) const {
    return type == other.type && index == other.index;
  }
};

struct DtypeFacts {
  std::int32_t code;

  explicit DtypeFacts(std::int32_t code) : code(code) {}
  DtypeFacts(Dtype dtype) : code(static_cast<std::int32_t>(dtype)) {}

  bool operator==(const DtypeFacts& other) const {
    return code == other.code;
  }

  bool operator!=(const DtypeFacts& other) const {
    return code != other.code;
  }
};

// What checks of a call ask of a tensor.
class TensorFacts {
 public:
  TensorFacts(const TensorView& tensor) : tensor_(&tensor) {}

  std::int64_t dim() const {
    return tensor_->dim();
  }

  const std::int64_t* begin() const {
    return tensor_->sizes().begin();
  }

  const std::int64_t* end() const {
    return tensor_->sizes().end();
  }

  DtypeFacts scalar_type() const {
    return tensor_->dtype();
  }

  DeviceFacts device() const {
    return {tensor_->device().type, tensor_->device().index};
  }

  bool is_contiguous() const {
    return tensor_->is_contiguous();
  }

  const void* address() const {
    return tensor_->address();
  }

  const std::int64_t* strides() const {
    return tensor_->strides().begin();
  }

  const TensorView& view() const {
    return *tensor_;
  }

 private:
  const TensorView* tensor_;
};

inline DtypeFacts default_dtype() {
  return Dtype::Float;
}

// The dtype to which two others promote, as PyTorch has it.
inline DtypeFacts promoted_dtype(const DtypeFacts& left, const DtypeFacts& right) {
  if (left == right) {
    return left;
  }
  const auto is_complex = [](std::int32_t code) { return code >= 8 && code <= 10; };
  const auto is_wide_unsigned = [](std::int32_t code) { return code >= 27 && code <= 29; };
  const std::int32_t low = left.code < right.code ? left.code : right.code;
  const std::int32_t high = left.code < right.code ? right.code : left.code;
  if (low == 11 || high == 11) {
    return DtypeFacts(low == 11 ? high : low);
  }
  if (is_wide_unsigned(low) || is_wide_unsigned(high)) {
    // PyTorch promotes these with no other integers of several sizes.
    const std::int32_t other = is_wide_unsigned(high) ? low : high;
    if (other <= 4 || is_wide_unsigned(low)) {
      refuse({"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote ",
              dtype_name(left.code), " and ", dtype_name(right.code)});
    }
    return DtypeFacts(other);
  }
  if (is_complex(low) || is_complex(high)) {
    const auto rank = [&](std::int32_t code) {
      return code == 10 || code == 7 ? 2 : code == 9 || code == 6 || code == 15 ? 1 : 0;
    };
    const std::int32_t most = rank(low) > rank(high) ? rank(low) : rank(high);
    return DtypeFacts(most == 2 ? 10 : most == 1 ? 9 : 8);
  }
  const bool low_is_real = low >= 5 && low <= 7, high_is_real = (high >= 5 && high <= 7) || high == 15;
  if (high >= 23 || low >= 23) {
    if (high >= 23 && low < 5) {
      return DtypeFacts(high);
    }
    refuse({"Promotion for Float8 Types is not supported, attempted to promote ", dtype_name(left.code), " and ",
            dtype_name(right.code)});
  }
  if (low_is_real && high_is_real) {
    // A half and a bfloat16 meet in float32.
    return DtypeFacts(high == 15 ? (low == 5 ? 6 : low) : high);
  }
  if (high_is_real) {
    return DtypeFacts(high);
  }
  // Integers: uint8 and int8 meet in int16.
  return DtypeFacts(low == 0 && high == 1 ? 2 : high);
}

} // namespace opwright

#include <opwright/known_sizes.h>

namespace opwright {

// Computes with sizes.
struct Concrete : KnownSizes {
  static constexpr bool reads_values = true;
  using Dtype = opwright::Dtype;

  static DtypeFacts default_dtype() {
    return opwright::default_dtype();
  }

  static DeviceFacts cpu() {
    return {1, 0};
  }
};

// The same for tensors that may have no values, as while JAX traces.
struct Traced : Concrete {
  static constexpr bool reads_values = false;
};

inline bool is_on_cpu(const TensorFacts& tensor) {
  return tensor.device().type == 1;
}

// A number with `fraction` bits behind those of the exponent, which are at most 15 bits together, as float16 has it.
inline double small_float(unsigned bits, int exponent_bits, int fraction_bits) {
  const unsigned fraction = bits & ((1u << fraction_bits) - 1);
  const unsigned most = (1u << exponent_bits) - 1, exponent = (bits >> fraction_bits) & most;
  const int bias = static_cast<int>(most >> 1);
  double value = std::ldexp(static_cast<double>(fraction), 1 - bias - fraction_bits);
  if (exponent == most) {
    value = fraction == 0 ? HUGE_VAL : std::nan("");
  } else if (exponent != 0) {
    value = std::ldexp(static_cast<double>(fraction + (1u << fraction_bits)), static_cast<int>(exponent) - bias - fraction_bits);
  }
  return (bits >> (exponent_bits + fraction_bits)) & 1 ? -value : value;
}

// An element in memory, of a complex one its real part.
template <class Value>
Value element_at(const char* address, std::int32_t dtype) {
  const auto read = [address](auto item) {
    std::memcpy(&item, address, sizeof(item));
    return item;
  };
  switch (dtype) {
    case 0: return static_cast<Value>(read(std::uint8_t()));
    case 1: return static_cast<Value>(read(std::int8_t()));
    case 2: return static_cast<Value>(read(std::int16_t()));
    case 3: return static_cast<Value>(read(std::int32_t()));
    case 4: return static_cast<Value>(read(std::int64_t()));
    case 5: return static_cast<Value>(small_float(read(std::uint16_t()), 5, 10));
    case 6: case 9: return static_cast<Value>(read(float()));
    case 7: case 10: return static_cast<Value>(read(double()));
    case 11: return static_cast<Value>(read(std::uint8_t()) != 0);
    case 15: return static_cast<Value>(small_float(read(std::uint16_t()), 8, 7));
    case 23: return static_cast<Value>(small_float(read(std::uint8_t()), 5, 2));
    case 27: return static_cast<Value>(read(std::uint16_t()));
    case 28: return static_cast<Value>(read(std::uint32_t()));
    case 29: return static_cast<Value>(read(std::uint64_t()));
    default: refuse({"values of the dtype ", dtype_name(dtype), " cannot be checked"});
  }
}

inline std::string shown(const DeviceFacts& device) {
  const char* const name = device.type == 1 ? "cpu" : device.type == 2 || device.type == 10 ? "cuda" : "another device";
  return device.type == 1 ? name : std::string(name) + ":" + std::to_string(device.index);
}

// The arguments of a call, as checks and kernels name them.
inline const TensorView& tensor_in(const Value& value) {
  return *static_cast<const TensorView*>(value.items);
}

inline std::optional<TensorView> optional_tensor_in(const Value& value) {
  return value.count < 0 ? std::nullopt : std::optional<TensorView>(tensor_in(value));
}

inline TensorFacts facts_in(const Value& value) {
  return tensor_in(value);
}

inline std::optional<TensorFacts> optional_facts_in(const Value& value) {
  return value.count < 0 ? std::nullopt : std::optional<TensorFacts>(tensor_in(value));
}

inline std::vector<TensorFacts> list_facts_in(const Value& value) {
  const auto* const tensors = static_cast<const TensorView*>(value.items);
  return value.count < 0 ? std::vector<TensorFacts>() : std::vector<TensorFacts>(tensors, tensors + value.count);
}

template <class Item>
Span<Item> list_in(const Value& value) {
  return {static_cast<const Item*>(value.items), static_cast<std::size_t>(value.count < 0 ? 0 : value.count)};
}

template <class Item>
std::optional<Span<Item>> optional_list_in(const Value& value) {
  return value.count < 0 ? std::nullopt : std::optional<Span<Item>>(list_in<Item>(value));
}

inline std::string_view text_in(const Value& value) {
  return {static_cast<const char*>(value.items), static_cast<std::size_t>(value.count < 0 ? 0 : value.count)};
}

template <class Item>
std::optional<Item> optional_in(const Value& value, Item item) {
  return value.count < 0 ? std::nullopt : std::optional<Item>(item);
}

inline std::string shown(const Span<std::int64_t>& list) {
  return shown_list(list, [](const auto& item) { return shown(item); });
}

// Says what a result is. The device is that of the call for expressions that name another one's tensor.
inline void set_result(
    Result& result, const SizeList& sizes, const DtypeFacts& dtype, const DeviceFacts& device,
    const char* where) {
  if (sizes.size() > static_cast<std::size_t>(kMostDimensions)) {
    fail(where, {"a tensor has at most 64 dimensions"});
  }
  result.dtype = dtype.code;
  result.device_type = device.type;
  result.device_index = device.index;
  result.rank = static_cast<std::int32_t>(sizes.size());
  std::size_t place = 0;
  double count = 1;
  for (const std::int64_t size : sizes) {
    if (size < 0) {
      fail(where, {"dimension ", shown(static_cast<std::int64_t>(place)), " would have size ", shown(size)});
    }
    count *= size > 1 ? static_cast<double>(size) : 1;
    result.sizes[place++] = size;
  }
  // Strides and bytes, up to 16 for an element, have to fit in 63 bits, also those of a result without elements.
  if (count >= 0x1p59) {
    fail(where, {"no memory has room for so many elements"});
  }
}

// Whether tensors of a call are where its first tensor is. Raises if one is not.
inline void check_devices(const Operator& op, const Value* values) {
  const TensorView* first = nullptr;
  const char* name = "";
  for (std::int32_t place = 0; place < op.argument_count; ++place) {
    const Argument& argument = op.arguments[place];
    for (std::int64_t item = 0; argument.holds_tensors() && item < values[place].count; ++item) {
      const TensorView& tensor = static_cast<const TensorView*>(values[place].items)[item];
      if (first == nullptr) {
        first = &tensor;
        name = argument.name;
      } else if (!(TensorFacts(tensor).device() == TensorFacts(*first).device())) {
        refuse(
            {op.name, ": `", argument.name, "` is on ", shown(TensorFacts(tensor).device()), ", and has to be on ",
             shown(TensorFacts(*first).device()), " (the device of `", name, "`)"});
      }
    }
  }
}

// Whether a program asks for checks of the values of a call, and all of its tensors are in the memory of the CPU.
inline bool checks_values(const Operator& op, const Value* values) {
  bool are_readable = checks_values();
  for (std::int32_t place = 0; are_readable && place < op.argument_count; ++place) {
    for (std::int64_t item = 0; op.arguments[place].holds_tensors() && item < values[place].count; ++item) {
      are_readable &= static_cast<const TensorView*>(values[place].items)[item].device().is_cpu();
    }
  }
  return are_readable;
}

// A copy of a tensor on the CPU in a layout, in the memory of the arena.
inline TensorView copied(const TensorView& tensor, Layout layout, Arena& arena) {
  ForeignTensor copy = tensor.foreign();
  set_dense_strides(copy, arena, layout);
  const std::int64_t dims = tensor.dim(), item = tensor.element_size(), count = tensor.numel();
  // A tensor that is expanded may have more elements than memory has room for.
  if (static_cast<double>(count) * static_cast<double>(item) >= 0x1p62) {
    throw ViewError("there is no memory for a call");
  }
  copy.data = arena.bytes(static_cast<std::size_t>(count * item));
  copy.byte_offset = 0;
  std::int64_t* const index = arena.items<std::int64_t>(static_cast<std::size_t>(dims));
  std::memset(index, 0, sizeof(*index) * static_cast<std::size_t>(dims));
  const char* from = static_cast<const char*>(tensor.address());
  char* to = static_cast<char*>(copy.data);
  for (std::int64_t done = 0; done < count; ++done) {
    std::memcpy(to, from, static_cast<std::size_t>(item));
    for (std::int64_t dim = dims; dim-- > 0;) {
      from += tensor.stride(dim) * item;
      to += copy.strides[dim] * item;
      if (++index[dim] < copy.sizes[dim]) {
        break;
      }
      from -= copy.sizes[dim] * tensor.stride(dim) * item;
      to -= copy.sizes[dim] * copy.strides[dim] * item;
      index[dim] = 0;
    }
  }
  return TensorView(copy, tensor.stream());
}

// The elements of a tensor on the CPU, as integers or as numbers.
template <class Value>
Elements<Value> elements(const TensorFacts& facts) {
  Arena arena;
  const TensorView dense = copied(facts.view(), Layout::contiguous, arena);
  std::vector<Value> values;
  values.reserve(static_cast<std::size_t>(dense.numel()));
  for (std::int64_t place = 0; place < dense.numel(); ++place) {
    const char* const address = static_cast<const char*>(dense.address()) + place * dense.element_size();
    values.push_back(element_at<Value>(address, facts.scalar_type().code));
  }
  const std::int64_t row = dense.dim() == 0 ? 1 : dense.size(-1);
  return {std::move(values), std::max<std::int64_t>(row, 1)};
}

// Refuses a call of an operator.
[[noreturn]] inline void refuse_call(const Operator& op, std::initializer_list<const char*> texts) {
  std::string message = op.name;
  for (const char* const text : texts) {
    message += text;
  }
  throw std::runtime_error(message);
}

// A copy of a tensor in the layout of an argument. Copies on other devices are up to the framework.
inline TensorView copied_argument(
    const Operator& op, const Argument& argument, const TensorView& tensor, Arena& arena) {
  if (!tensor.device().is_cpu()) {
    const char* const words[] = {
        "", "contiguous", "contiguous at an address that is a multiple of 16",
        "contiguous in the memory format channels_last", "contiguous in its last dimension"};
    const char* const layout = words[static_cast<int>(argument.layout)];
    refuse_call(op, {": `", argument.name, "` is not ", layout, ", and has to be"});
  }
  return copied(tensor, argument.layout, arena);
}

// The elements of a tensor, with strides that are not negative: in the other direction, the elements are the same.
inline memory::Elements elements_of(const TensorView& tensor, Arena& arena) {
  const auto dims = static_cast<std::size_t>(tensor.dim());
  auto start = reinterpret_cast<std::intptr_t>(tensor.address());
  const std::int64_t* strides = tensor.strides().data();
  for (std::size_t dim = 0; dim < dims; ++dim) {
    if (strides[dim] < 0) {
      std::int64_t* const turned = arena.items<std::int64_t>(dims);
      std::copy(strides, strides + dims, turned);
      start += (tensor.sizes()[dim] - 1) * strides[dim] * tensor.element_size();
      turned[dim] = -strides[dim];
      strides = turned;
    }
  }
  return {start, tensor.element_size(), tensor.sizes().data(), strides, dims};
}

// Whether the first and the last bytes of tensors say that no written one shares memory. It is so in most calls, and
// takes a fraction of the time of a look at all elements; other calls, and those of many tensors, may be right as well.
inline bool are_apart(const Operator& op, const Value* values) {
  struct Operand {
    std::intptr_t start;
    std::intptr_t end;
    bool is_written;
  };
  Operand operands[16];
  std::size_t count = 0;
  for (std::int32_t place = 0; place < op.argument_count; ++place) {
    for (std::int64_t item = 0; op.arguments[place].holds_tensors() && item < values[place].count; ++item) {
      const TensorView& tensor = static_cast<const TensorView*>(values[place].items)[item];
      const std::size_t dims = tensor.sizes().size();
      const auto start = reinterpret_cast<std::intptr_t>(tensor.address());
      const memory::Elements elements{start, tensor.element_size(), tensor.sizes().data(), tensor.strides().data(), dims};
      const bool is_written = op.arguments[place].is_written;
      if (start == 0 || memory::is_empty(elements)) {
        continue;
      }
      const std::int64_t* const strides = elements.strides;
      if (count == 16 || std::any_of(strides, strides + dims, [](std::int64_t stride) { return stride < 0; }) ||
          (is_written && !memory::is_nested(elements))) {
        return false;
      }
      operands[count++] = {start, start + memory::extent(elements), is_written};
    }
  }
  for (std::size_t one = 0; one < count; ++one) {
    for (std::size_t other = 0; operands[one].is_written && other < count; ++other) {
      if (other != one && operands[other].start < operands[one].end && operands[one].start < operands[other].end) {
        return false;
      }
    }
  }
  return true;
}

// Raises if two elements of a written tensor share memory, or one with an element of another tensor. The argument at the
// place `also_written` may be exactly what is written, as in a call of an in-place overload.
inline void check_overlap(const Operator& op, const Value* values, std::int32_t also_written = -1) {
  if (are_apart(op, values)) {
    return;
  }
  struct Operand {
    std::int32_t place;
    memory::Elements elements;
    std::intptr_t end;
  };
  std::size_t count = 0;
  for (std::int32_t place = 0; place < op.argument_count; ++place) {
    count += op.arguments[place].holds_tensors() && values[place].count > 0 ? static_cast<std::size_t>(values[place].count) : 0;
  }
  Arena arena;
  Operand* const operands = arena.items<Operand>(count);
  Operand* end = operands;
  for (std::int32_t place = 0; place < op.argument_count; ++place) {
    for (std::int64_t item = 0; op.arguments[place].holds_tensors() && item < values[place].count; ++item) {
      const TensorView& tensor = static_cast<const TensorView*>(values[place].items)[item];
      if (tensor.numel() != 0 && tensor.address() != nullptr) {
        const memory::Elements elements = elements_of(tensor, arena);
        *end++ = {place, elements, elements.start + memory::extent(elements)};
      }
    }
  }
  for (const Operand* written = operands; written != end; ++written) {
    const Argument& argument = op.arguments[written->place];
    if (!argument.is_written) {
      continue;
    }
    if (memory::overlaps_itself(written->elements)) {
      refuse_call(
          op, {" writes to `", argument.name, "`, elements of which share memory. Pass a tensor whose elements are apart, "
               "such as a clone()."});
    }
    for (const Operand* other = operands; other != end; ++other) {
      const Argument& second = op.arguments[other->place];
      const bool are_apart = other->end <= written->elements.start || written->end <= other->elements.start;
      if (are_apart || other == written || (other < written && second.is_written)) {
        continue;
      }
      if (other->place == also_written && memory::is_same(written->elements, other->elements)) {
        continue;
      }
      if (memory::overlap(written->elements, other->elements)) {
        refuse_call(
            op, {" writes to `", argument.name, "`, which shares memory with `", second.name,
                 "`. Pass a clone() of one of them."});
      }
    }
  }
}

} // namespace opwright
