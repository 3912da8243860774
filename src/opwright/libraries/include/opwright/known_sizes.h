#pragma once
// Requirements of operators with sizes that are known, for tensors of any interface: a header of each defines
// `DtypeFacts`, `DeviceFacts`, `TensorFacts`, `default_dtype` and `promoted_dtype` before it includes this one.

#include <opwright/arithmetic.h>
#include <opwright/refusal.h>
#include <opwright/size_list.h>
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

#if defined(__GNUC__) || defined(__clang__)
#define OPWRIGHT_INLINE __attribute__((always_inline)) inline
#else
#define OPWRIGHT_INLINE inline
#endif

namespace opwright {

// Raises with a message.
[[noreturn]] inline void refuse(std::initializer_list<Part> parts) {
  throw std::runtime_error(joined(parts));
}

std::string shown(const DeviceFacts& device);

// Dimensions as an operator takes them: one, several, or none.
template <class Dims>
SizeList dim_list(const Dims& dims) {
  if constexpr (std::is_same_v<Dims, std::nullopt_t>) {
    return {};
  } else if constexpr (std::is_integral_v<Dims>) {
    return {static_cast<std::int64_t>(dims)};
  } else {
    return {dims.begin(), dims.end()};
  }
}

template <class Dims>
SizeList dim_list(const std::optional<Dims>& dims) {
  return dims.has_value() ? dim_list(*dims) : SizeList();
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

inline const char* shown(const DtypeFacts& dtype) {
  return dtype_name(dtype.code);
}

inline std::string shown(const SizeList& list) {
  return shown_list(list, [](const auto& item) { return shown(item); });
}

// Computes with sizes. Integers follow the rules of Python.
struct KnownSizes {
  using Number = std::int64_t;
  using Tensor = TensorFacts;
  using ScalarType = DtypeFacts;
  using Device = DeviceFacts;
  using Scalar = Numeric;
  using List = SizeList;

  OPWRIGHT_INLINE static std::int64_t size(const TensorFacts& tensor, std::int64_t dim, const char* where) {
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
      joined.append(part.begin(), part.end());
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
      common = joined;
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
        fail(where, {"dimension ", shown(position), " is named twice"});
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
    return dims == 0 || tensor.begin()[dims - 1] == 1 || tensor.strides()[dims - 1] == 1 || numel(tensor) == 0;
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
    add(number.kind == Numeric::Kind::boolean ? DtypeFacts(11)
            : number.is_integer()            ? DtypeFacts(4)
                                             : opwright::default_dtype(),
        2);
  }

  // Values of a lower rank have a say where theirs is of a higher category: complex, floating, integral, bool.
  DtypeFacts result() const {
    DtypeFacts result = ranks_[2];
    for (const DtypeFacts& next : {ranks_[1], ranks_[0]}) {
      result = next.code < 0 ? result : category(result) > category(next) ? promoted_dtype(next, result) : next;
    }
    return result;
  }

 private:
  void add(const DtypeFacts& dtype, size_t rank) {
    ranks_[rank] = ranks_[rank].code < 0 ? dtype : promoted_dtype(ranks_[rank], dtype);
  }

  static int category(const DtypeFacts& dtype) {
    return dtype.code < 0                                                        ? -1
        : dtype.code == 11                                                       ? 0
        : dtype.code >= 8 && dtype.code <= 10                                    ? 3
        : std::string(dtype_name(dtype.code)).find("float") != std::string::npos ? 2
                                                                                 : 1;
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

// Checks an argument that an operator overwrites with a result.
inline void check_inplace(
    const TensorFacts& self, const SizeList& size, const DtypeFacts& dtype, const DeviceFacts& device) {
  check_written("in-place operand", self, dtype, device);
  OPWRIGHT_REQUIRE(
      KnownSizes::sizes(self) == size, "Bad in-place call: input tensor size ", shown(KnownSizes::sizes(self)),
      " and output tensor size ", shown(size), " should match");
}

} // namespace opwright
