// Sizes, dtypes and checks of results. Opwright's generated code calls these functions for declared outputs.
#pragma once

#include <ATen/ExpandUtils.h>
#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TypeProperties.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/OptionalRef.h>
#include <c10/core/Scalar.h>
#include <c10/core/SymInt.h>
#include <c10/core/WrapDimMinimal.h>
#include <c10/util/DimVector.h>
#include <c10/util/OptionalArrayRef.h>

#include <opwright/arithmetic.h>
#include <opwright/refusal.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

namespace opwright {

[[noreturn]] C10_NOINLINE inline void refuse(std::initializer_list<Part> parts) {
  TORCH_CHECK(false, joined(parts));
}

// Whether an optional argument has a value. An undefined tensor counts as none.
template <class Optional>
bool has(const Optional& argument) {
  if constexpr (std::is_same_v<std::decay_t<decltype(*argument)>, at::Tensor>) {
    return argument.has_value() && (*argument).defined();
  } else {
    return argument.has_value();
  }
}

// The value of an optional argument that has one.
template <class Optional>
decltype(auto) value(const Optional& argument) {
  return *argument;
}

template <class Value>
bool has(const c10::OptionalRef<Value>& argument) {
  return argument.has_value();
}

template <class Value>
const Value& value(const c10::OptionalRef<Value>& argument) {
  return argument.get();
}

template <class List>
int64_t length(const List& list) {
  return static_cast<int64_t>(list.size());
}

// An item of a list of tensors.
template <class Tensors>
const at::Tensor& tensor_at(const Tensors& tensors, int64_t index, const char* where) {
  auto item = tensors.begin();
  std::advance(item, checked_index(index, length(tensors), where));
  return *item;
}

// An item of a list that has it.
template <class Tensors>
const at::Tensor& tensor_at(const Tensors& tensors, int64_t index) {
  auto item = tensors.begin();
  std::advance(item, index);
  return *item;
}

// A number of an argument of type `Scalar`. A symbol of a trace becomes the number that it stands for.
inline Numeric number(const at::Scalar& scalar) {
  if (scalar.isComplex()) {
    const auto value = scalar.toComplexDouble();
    return Numeric(Numeric::Kind::complex, value.real(), value.imag());
  }
  if (scalar.isFloatingPoint()) {
    return Numeric(scalar.toDouble());
  }
  if (scalar.isBoolean()) {
    return Numeric(scalar.toBool());
  }
  if (scalar.type() == at::ScalarType::UInt64) {
    return Numeric(Numeric::Kind::wide, static_cast<double>(scalar.toUInt64()), 0);
  }
  return Numeric(scalar.toLong());
}

inline Numeric number(const Numeric& number) {
  return number;
}

inline std::optional<Numeric> number(const std::optional<at::Scalar>& scalar) {
  return scalar.has_value() ? std::optional<Numeric>(number(*scalar)) : std::nullopt;
}

// Dimensions as an operator takes them: one, several, or none.
template <class Dims>
at::DimVector dim_list(const Dims& dims) {
  if constexpr (std::is_same_v<Dims, std::nullopt_t>) {
    return {};
  } else if constexpr (std::is_integral_v<Dims>) {
    return {static_cast<int64_t>(dims)};
  } else if constexpr (std::is_convertible_v<const Dims&, c10::IntArrayRef>) {
    const c10::IntArrayRef values = dims;
    return at::DimVector(values.begin(), values.end());
  } else {
    return dims.has_value() ? dim_list(*dims) : at::DimVector();
  }
}

// What checks of a call ask of a tensor more than once: together, in less code than its functions have.
class TensorFacts {
 public:
  C10_NOINLINE C10_ATTR_VISIBILITY_HIDDEN TensorFacts(const at::Tensor& tensor)
      : tensor_(tensor), sizes_(tensor.sizes()), device_(tensor.device()), dtype_(tensor.scalar_type()) {}

  const at::Tensor& tensor() const {
    return tensor_;
  }

  operator const at::Tensor&() const {
    return tensor_;
  }

  int64_t dim() const {
    return static_cast<int64_t>(sizes_.size());
  }

  c10::IntArrayRef sizes() const {
    return sizes_;
  }

  at::Device device() const {
    return device_;
  }

  at::ScalarType scalar_type() const {
    return dtype_;
  }

 private:
  const at::Tensor& tensor_;
  c10::IntArrayRef sizes_;
  at::Device device_;
  at::ScalarType dtype_;
};

// Computes with sizes: with symbols where Int is c10::SymInt, with numbers where it is int64_t. Integers follow the
// rules of Python.
template <class Int>
struct Shapes {
  static constexpr bool is_symbolic = std::is_same_v<Int, c10::SymInt>;
  // Tensors in a trace have no values.
  static constexpr bool reads_values = !is_symbolic;
  using Number = Int;
  using Dtype = at::ScalarType;
  using Tensor = at::Tensor;
  using ScalarType = at::ScalarType;
  using Device = at::Device;
  using Scalar = Numeric;
  using List = c10::SmallVector<Int, at::kDimVectorStaticSize>;

  static at::ScalarType default_dtype() {
    return c10::get_default_dtype_as_scalartype();
  }

  static at::Device cpu() {
    return at::kCPU;
  }

  static Int size(const at::Tensor& tensor, int64_t dim, const char* where) {
    const int64_t place = checked_dimension(dim, tensor.dim(), where);
    if constexpr (is_symbolic) {
      return tensor.sym_size(place);
    } else {
      return tensor.size(place);
    }
  }

  C10_ALWAYS_INLINE static Int size(const TensorFacts& tensor, int64_t dim, const char* where) {
    return tensor.sizes().data()[checked_dimension(dim, tensor.dim(), where)];
  }

  static Int numel(const at::Tensor& tensor) {
    if constexpr (is_symbolic) {
      return tensor.sym_numel();
    } else {
      return tensor.numel();
    }
  }

  static List sizes(const List& list) {
    return list;
  }

  template <class Item>
  static List sizes(c10::ArrayRef<Item> list) {
    return List(list.begin(), list.end());
  }

  static List sizes(const at::Tensor& tensor) {
    if constexpr (is_symbolic) {
      return sizes(tensor.sym_sizes());
    } else {
      return sizes(tensor.sizes());
    }
  }

  // Integers of an argument, where sizes are symbolic.
  template <class Other, std::enable_if_t<is_symbolic && std::is_same_v<Other, int64_t>, int> = 0>
  static List sizes(const c10::SmallVector<Other, at::kDimVectorStaticSize>& list) {
    return List(list.begin(), list.end());
  }

  static List list(std::initializer_list<Int> items) {
    return List(items.begin(), items.end());
  }

  template <class Sizes>
  static Int item(const Sizes& values, int64_t index, const char* where) {
    const List list = sizes(values);
    return list[checked_index(index, length(list), where)];
  }

  // A slice as in Python: limits outside of the list are moved to its ends.
  template <class Sizes>
  static List slice(const Sizes& values, std::optional<int64_t> start, std::optional<int64_t> end) {
    const List list = sizes(values);
    const int64_t count = length(list);
    const auto position = [count](int64_t limit) {
      return std::clamp<int64_t>(limit < 0 ? limit + count : limit, 0, count);
    };
    const int64_t first = position(start.value_or(0));
    const int64_t last = std::max(first, position(end.value_or(count)));
    return List(list.begin() + first, list.begin() + last);
  }

  static List concatenate(std::initializer_list<List> parts) {
    List joined;
    for (const List& part : parts) {
      joined.append(part.begin(), part.end());
    }
    return joined;
  }

  static Int add(const Int& left, const Int& right, const char* where) {
    const auto numbers = as_numbers(left, right);
    return numbers ? Int(checked_add(numbers->first, numbers->second, where)) : left + right;
  }

  static Int subtract(const Int& left, const Int& right, const char* where) {
    const auto numbers = as_numbers(left, right);
    return numbers ? Int(checked_subtract(numbers->first, numbers->second, where)) : left - right;
  }

  static Int multiply(const Int& left, const Int& right, const char* where) {
    const auto numbers = as_numbers(left, right);
    return numbers ? Int(checked_multiply(numbers->first, numbers->second, where)) : left * right;
  }

  static Int floor_divide(const Int& dividend, const Int& divisor, const char* where) {
    const auto numbers = as_numbers(dividend, divisor);
    if (numbers) {
      return checked_floor_divide(numbers->first, numbers->second, where);
    }
    check_symbol(dividend, " // ", divisor, where);
    return dividend / divisor;
  }

  static Int modulo(const Int& dividend, const Int& divisor, const char* where) {
    const auto numbers = as_numbers(dividend, divisor);
    if (numbers) {
      return checked_modulo(numbers->first, numbers->second, where);
    }
    check_symbol(dividend, " % ", divisor, where);
    return dividend % divisor;
  }

  static Int negate(const Int& number, const char* where) {
    return subtract_from_zero(number, where);
  }

  template <class Value>
  static Numeric negate_number(const Value& value, const char* where) {
    return checked_negate(known_number(value), where);
  }

  static Int max(std::initializer_list<Int> values) {
    return fold(values, [](const Int& left, const Int& right) {
      if constexpr (is_symbolic) {
        return left.max(right);
      } else {
        return std::max(left, right);
      }
    });
  }

  static Int min(std::initializer_list<Int> values) {
    return fold(values, [](const Int& left, const Int& right) {
      if constexpr (is_symbolic) {
        return left.min(right);
      } else {
        return std::min(left, right);
      }
    });
  }

  // The sizes to which all shapes broadcast.
  static List broadcast(std::initializer_list<List> shapes, const char* where) {
    List common;
    for (const List& shape : shapes) {
      List joined = common.size() < shape.size() ? shape : common;
      const List& shorter = common.size() < shape.size() ? common : shape;
      for (size_t place = 1; place <= shorter.size(); ++place) {
        Int& size = joined[joined.size() - place];
        const Int& other = shorter[shorter.size() - place];
        if (is_one(size)) {
          size = other;
        } else if (!is_one(other) && !expect_equal(size, other)) {
          fail(where, {"sizes ", shown_list(common, text), " and ", shown_list(shape, text), " do not broadcast"});
        }
      }
      common = std::move(joined);
    }
    return common;
  }

  // What an operator requires: each gives whether it holds, or lets a trace expect it where a symbol stands for a size
  // that is unknown.
  static bool expect_equal(const Int& left, const Int& right) {
    return expected(left, right, [](const auto& a, const auto& b) { return a.sym_eq(b); }, std::equal_to<>());
  }

  static bool expect_unequal(const Int& left, const Int& right) {
    return expected(left, right, [](const auto& a, const auto& b) { return a.sym_ne(b); }, std::not_equal_to<>());
  }

  static bool expect_less(const Int& left, const Int& right) {
    return expected(left, right, [](const auto& a, const auto& b) { return a.sym_lt(b); }, std::less<>());
  }

  static bool expect_less_equal(const Int& left, const Int& right) {
    return expected(left, right, [](const auto& a, const auto& b) { return a.sym_le(b); }, std::less_equal<>());
  }

  static bool expect_greater(const Int& left, const Int& right) {
    return expected(left, right, [](const auto& a, const auto& b) { return a.sym_gt(b); }, std::greater<>());
  }

  static bool expect_greater_equal(const Int& left, const Int& right) {
    return expected(left, right, [](const auto& a, const auto& b) { return a.sym_ge(b); }, std::greater_equal<>());
  }

  // The same as a part of a condition, which a trace decides.
  static bool equal(const Int& left, const Int& right) {
    return decided(left, right, [](const auto& a, const auto& b) { return a.sym_eq(b); }, std::equal_to<>());
  }

  static bool unequal(const Int& left, const Int& right) {
    return decided(left, right, [](const auto& a, const auto& b) { return a.sym_ne(b); }, std::not_equal_to<>());
  }

  static bool less(const Int& left, const Int& right) {
    return decided(left, right, [](const auto& a, const auto& b) { return a.sym_lt(b); }, std::less<>());
  }

  static bool less_equal(const Int& left, const Int& right) {
    return decided(left, right, [](const auto& a, const auto& b) { return a.sym_le(b); }, std::less_equal<>());
  }

  static bool greater(const Int& left, const Int& right) {
    return decided(left, right, [](const auto& a, const auto& b) { return a.sym_gt(b); }, std::greater<>());
  }

  static bool greater_equal(const Int& left, const Int& right) {
    return decided(left, right, [](const auto& a, const auto& b) { return a.sym_ge(b); }, std::greater_equal<>());
  }

  // Comparisons with numbers that are no integers.
  template <class Left, class Right>
  static bool equal_numbers(const Left& left, const Right& right, const char* where) {
    return compared_numbers(left, right, where, std::equal_to<>(), is_equal);
  }

  template <class Left, class Right>
  static bool unequal_numbers(const Left& left, const Right& right, const char* where) {
    return compared_numbers(left, right, where, std::not_equal_to<>(), is_unequal);
  }

  template <class Left, class Right>
  static bool less_numbers(const Left& left, const Right& right, const char* where) {
    return compared_numbers(left, right, where, std::less<>(), is_less);
  }

  template <class Left, class Right>
  static bool less_equal_numbers(const Left& left, const Right& right, const char* where) {
    return compared_numbers(left, right, where, std::less_equal<>(), is_less_equal);
  }

  template <class Left, class Right>
  static bool greater_numbers(const Left& left, const Right& right, const char* where) {
    return compared_numbers(left, right, where, std::greater<>(), is_greater);
  }

  template <class Left, class Right>
  static bool greater_equal_numbers(const Left& left, const Right& right, const char* where) {
    return compared_numbers(left, right, where, std::greater_equal<>(), is_greater_equal);
  }

  // Whether the sizes between some first and some last dimensions of two tensors are equal.
  template <class First, class Other>
  static bool same_sizes(
      const First& tensor, int64_t before, int64_t after, const Other& other, int64_t other_before,
      int64_t other_after) {
    return same_list(inner_sizes(tensor, before, after), inner_sizes(other, other_before, other_after));
  }

  static bool same_list(c10::ArrayRef<Int> sizes, c10::ArrayRef<Int> others) {
    return std::equal(sizes.begin(), sizes.end(), others.begin(), others.end(), expect_equal);
  }

  // Whether such sizes of the first tensor broadcast to those of the second one.
  template <class First, class Other>
  static bool broadcasts(
      const First& tensor, int64_t before, int64_t after, const Other& other, int64_t other_before,
      int64_t other_after) {
    const auto sizes = inner_sizes(tensor, before, after);
    const auto others = inner_sizes(other, other_before, other_after);
    if (sizes.size() > others.size()) {
      return false;
    }
    const size_t missing = others.size() - sizes.size();
    for (size_t place = 0; place < sizes.size(); ++place) {
      if (!is_one(sizes[place]) && !expect_equal(sizes[place], others[missing + place])) {
        return false;
      }
    }
    return true;
  }

  // Whether such sizes of two tensors broadcast.
  template <class First, class Other>
  static bool broadcasts_together(
      const First& tensor, int64_t before, int64_t after, const Other& other, int64_t other_before,
      int64_t other_after) {
    const auto sizes = inner_sizes(tensor, before, after);
    const auto others = inner_sizes(other, other_before, other_after);
    for (size_t place = 1; place <= std::min(sizes.size(), others.size()); ++place) {
      const Int& size = sizes[sizes.size() - place];
      const Int& other_size = others[others.size() - place];
      if (!is_one(size) && !is_one(other_size) && !expect_equal(size, other_size)) {
        return false;
      }
    }
    return true;
  }

  static bool contiguous(const at::Tensor& tensor) {
    return tensor.is_contiguous();
  }

  // Traces know no addresses.
  static bool aligned(const at::Tensor& tensor) {
    if constexpr (is_symbolic) {
      return tensor.is_contiguous();
    } else {
      return tensor.is_contiguous() &&
          (tensor.is_meta() || reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) % 16 == 0);
    }
  }

  static bool channels_last(const at::Tensor& tensor) {
    return tensor.is_contiguous(tensor.dim() == 5 ? at::MemoryFormat::ChannelsLast3d : at::MemoryFormat::ChannelsLast);
  }

  static bool last_contiguous(const at::Tensor& tensor) {
    if constexpr (is_symbolic) {
      return tensor.dim() == 0 || tensor.sym_numel().maybe_as_int() == 0 || is_one(tensor.sym_stride(-1)) ||
          is_one(tensor.sym_size(-1));
    } else {
      return tensor.dim() == 0 || tensor.stride(-1) == 1 || tensor.size(-1) == 1 || tensor.numel() == 0;
    }
  }

  // The sizes without the dimensions `dims`, or with 1 in their place. No dimensions stand for all.
  template <class Shape>
  static List reduce(const Shape& shape, at::DimVector dims, bool keepdim, const char* where) {
    const List before = sizes(shape);
    const int64_t count = length(before);
    at::DimVector is_reduced(before.size(), dims.empty());
    for (const int64_t dim : dims) {
      // A tensor without dimensions can be reduced over dimension 0.
      const int64_t position = checked_dimension(dim, std::max<int64_t>(count, 1), where);
      if (count == 0) {
        continue;
      }
      if (is_reduced[position]) {
        fail(where, {"dimension ", std::to_string(position), " is named twice"});
      }
      is_reduced[position] = true;
    }
    List after;
    for (int64_t position = 0; position < count; ++position) {
      if (!is_reduced[position]) {
        after.push_back(before[position]);
      } else if (keepdim) {
        after.push_back(Int(1));
      }
    }
    return after;
  }

  // The sizes of tensors that are joined along a dimension. A tensor of size 0 alone has no say.
  template <class Tensors>
  static List cat(const Tensors& tensors, int64_t dim, const char* where) {
    if (length(tensors) == 0) {
      fail(where, {"there are no tensors to join"});
    }
    std::optional<List> joined;
    for (int64_t index = 0; index < length(tensors); ++index) {
      List next = sizes(tensor_at(tensors, index));
      if (next.size() == 1 && is_zero(next[0])) {
        continue;
      }
      if (!joined.has_value()) {
        joined = std::move(next);
        continue;
      }
      const int64_t position = checked_dimension(dim, length(*joined), where);
      bool fits = next.size() == joined->size();
      for (int64_t other = 0; fits && other < length(next); ++other) {
        fits = other == position || expect_equal((*joined)[other], next[other]);
      }
      if (!fits) {
        fail(where, {"sizes ", shown_list(*joined, text), " and ", shown_list(next, text), " do not join"});
      }
      (*joined)[position] = add((*joined)[position], next[position], where);
    }
    List result = joined.has_value() ? *joined : sizes(tensor_at(tensors, 0));
    checked_dimension(dim, length(result), where);
    return result;
  }

 private:
  template <class First>
  static c10::ArrayRef<Int> inner_sizes(const First& tensor, int64_t before, int64_t after) {
    if constexpr (is_symbolic) {
      return tensor.sym_sizes().slice(before, tensor.dim() - before - after);
    } else {
      const c10::IntArrayRef sizes = tensor.sizes();
      return sizes.slice(before, sizes.size() - before - after);
    }
  }

  // Whether a size is known to be 1.
  static bool is_one(const Int& size) {
    if constexpr (is_symbolic) {
      return TORCH_GUARD_OR_FALSE(size.sym_eq(1));
    } else {
      return size == 1;
    }
  }

  // Both values, where they are known.
  static std::optional<std::pair<int64_t, int64_t>> as_numbers(const Int& left, const Int& right) {
    if constexpr (is_symbolic) {
      const auto first = left.maybe_as_int();
      const auto second = right.maybe_as_int();
      if (!first.has_value() || !second.has_value()) {
        return std::nullopt;
      }
      return std::pair(*first, *second);
    } else {
      return std::pair(left, right);
    }
  }

  static bool is_zero(const Int& size) {
    if constexpr (is_symbolic) {
      return TORCH_GUARD_OR_FALSE(size.sym_eq(0));
    } else {
      return size == 0;
    }
  }

  static std::string text(const Int& size) {
    std::ostringstream text;
    text << size;
    return text.str();
  }

  // Refuses a divisor that is zero in a trace, where PyTorch's own error does not name the operator.
  static void check_symbol(const Int& dividend, const char* sign, const Int& divisor, const char* where) {
    if (is_zero(divisor)) {
      fail(where, {text(dividend), sign, "0 divides by zero"});
    }
  }

  static Int subtract_from_zero(const Int& number, const char* where) {
    if constexpr (is_symbolic) {
      const auto known = number.maybe_as_int();
      return known.has_value() ? Int(checked_negate(*known, where)) : Int(0) - number;
    } else {
      return checked_negate(number, where);
    }
  }

  // A comparison of integers, or of symbols.
  template <class Symbolic, class Compare>
  C10_ALWAYS_INLINE static bool expected(const Int& left, const Int& right, Symbolic symbolic, Compare compare) {
    if constexpr (is_symbolic) {
      const auto numbers = as_numbers(left, right);
      return numbers ? compare(numbers->first, numbers->second)
                     : symbolic(left, right).expect_true(__FILE__, __LINE__);
    } else {
      return compare(left, right);
    }
  }

  template <class Symbolic, class Compare>
  C10_ALWAYS_INLINE static bool decided(const Int& left, const Int& right, Symbolic symbolic, Compare compare) {
    if constexpr (is_symbolic) {
      const auto numbers = as_numbers(left, right);
      return numbers ? compare(numbers->first, numbers->second)
                     : symbolic(left, right).guard_bool(__FILE__, __LINE__);
    } else {
      return compare(left, right);
    }
  }

  template <class Value>
  static bool is_symbol(const Value& value) {
    if constexpr (std::is_same_v<Value, c10::SymInt>) {
      return !value.maybe_as_int().has_value();
    } else {
      return false;
    }
  }

  template <class Value>
  static Numeric known_number(const Value& value) {
    if constexpr (std::is_same_v<Value, c10::SymInt>) {
      return Numeric(value.maybe_as_int().value());
    } else if constexpr (std::is_arithmetic_v<Value>) {
      return Numeric(value);
    } else {
      return number(value);
    }
  }

  template <class Value>
  static c10::SymFloat symbol_of(const Value& value, const char* where) {
    if constexpr (std::is_same_v<Value, c10::SymInt>) {
      return static_cast<c10::SymFloat>(value);
    } else {
      const Numeric known = comparable(known_number(value), where);
      return known.is_integer() ? static_cast<double>(known.integer) : known.real;
    }
  }

  static bool is_nan(const c10::SymFloat& number) {
    return !number.is_symbolic() && number.as_float_unchecked() != number.as_float_unchecked();
  }

  template <class Left, class Right, class Compare>
  static bool compared_numbers(
      const Left& left, const Right& right, const char* where, Compare compare, bool (*holds)(int order)) {
    if (is_symbol(left) || is_symbol(right)) {
      const c10::SymFloat first = symbol_of(left, where);
      const c10::SymFloat second = symbol_of(right, where);
      // PyTorch does not compare symbols with NaN.
      return is_nan(first) || is_nan(second) ? holds(2) : compare(first, second);
    }
    return holds(compared(known_number(left), known_number(right), where));
  }

  template <class Combine>
  static Int fold(std::initializer_list<Int> values, Combine combine) {
    Int result = *values.begin();
    for (const Int* next = values.begin() + 1; next != values.end(); ++next) {
      result = combine(result, *next);
    }
    return result;
  }
};

using Symbolic = Shapes<c10::SymInt>;
using Concrete = Shapes<int64_t>;

using PromotedTypes = at::native::ResultTypeState;

inline PromotedTypes with_type(const PromotedTypes& types, const at::Tensor& tensor) {
  return at::native::update_result_type_state(tensor, types);
}

inline PromotedTypes with_type(const PromotedTypes& types, const at::Scalar& number) {
  return at::native::update_result_type_state(number, types);
}

template <class Value, std::enable_if_t<std::is_arithmetic_v<Value>, int> = 0>
PromotedTypes with_type(const PromotedTypes& types, Value number) {
  return with_type(types, at::Scalar(number));
}

inline PromotedTypes with_type(const PromotedTypes& types, const Numeric& number) {
  switch (number.kind) {
    case Numeric::Kind::boolean:
      return with_type(types, at::Scalar(number.integer != 0));
    case Numeric::Kind::integer:
      return with_type(types, at::Scalar(number.integer));
    case Numeric::Kind::complex:
      return with_type(types, at::Scalar(c10::complex<double>(number.real, number.imaginary)));
    case Numeric::Kind::wide:
      return with_type(types, at::Scalar(UINT64_MAX));
    default:
      return with_type(types, at::Scalar(number.real));
  }
}

// A dtype counts as that of a tensor with dimensions.
inline PromotedTypes with_type(PromotedTypes types, at::ScalarType dtype) {
  types.dimResult = types.dimResult == at::ScalarType::Undefined ? dtype : c10::promoteTypes(types.dimResult, dtype);
  return types;
}

inline PromotedTypes with_type(PromotedTypes types, at::ITensorListRef tensors) {
  for (const at::Tensor& tensor : tensors) {
    types = with_type(types, tensor);
  }
  return types;
}

// The dtype to which tensors, lists of tensors, dtypes and numbers promote.
template <class... Values>
at::ScalarType promote(const char* where, const Values&... values) {
  PromotedTypes types;
  ((types = with_type(types, values)), ...);
  const at::ScalarType result = at::native::result_type(types);
  if (result == at::ScalarType::Undefined) {
    fail(where, {"there are no values to promote"});
  }
  return result;
}

inline at::Tensor empty(c10::SymIntArrayRef size, at::ScalarType dtype, at::Device device) {
  return at::empty_symint(size, at::TensorOptions().dtype(dtype).device(device));
}

inline at::Tensor empty(c10::IntArrayRef size, at::ScalarType dtype, at::Device device) {
  return at::empty(size, at::TensorOptions().dtype(dtype).device(device));
}

inline at::Tensor empty_like(const at::Tensor& tensor, at::ScalarType dtype, at::Device device) {
  return at::empty_like(tensor, at::TensorOptions().dtype(dtype).device(device));
}

// The strides of a dense tensor with the sizes and the memory format of another one.
inline at::DimVector strides_like(const at::Tensor& tensor) {
  if (tensor.is_non_overlapping_and_dense()) {
    return at::DimVector(tensor.strides().begin(), tensor.strides().end());
  }
  const auto strides = at::infer_dense_strides(tensor.sizes(), tensor.strides());
  return at::DimVector(strides.begin(), strides.end());
}

// Checks that a tensor can hold a result. The stable interface checks the same, with the same messages.
inline void check_written(const char* kind, const at::Tensor& tensor, at::ScalarType dtype, at::Device device) {
  TORCH_CHECK(
      tensor.scalar_type() == dtype, "Expected ", kind, " to have dtype torch.", dtype_name(static_cast<int>(dtype)),
      ", but got torch.", dtype_name(static_cast<int>(tensor.scalar_type())), " instead");
  TORCH_CHECK(
      tensor.device() == device, "Expected ", kind, " to have device ", device, ", but got ", tensor.device(),
      " instead");
}

// Checks an out tensor, and resizes it if it has other sizes.
inline void resize_out(const at::Tensor& out, c10::IntArrayRef size, at::ScalarType dtype, at::Device device) {
  check_written("out tensor", out, dtype, device);
  at::native::resize_output(out, size);
}

inline void resize_out(const at::Tensor& out, c10::SymIntArrayRef size, at::ScalarType dtype, at::Device device) {
  check_written("out tensor", out, dtype, device);
  at::native::resize_output_symint(out, size);
}

// Checks an argument that an operator overwrites with a result.
template <class Int>
void check_inplace(const at::Tensor& self, c10::ArrayRef<Int> size, at::ScalarType dtype, at::Device device) {
  check_written("in-place operand", self, dtype, device);
  const auto sizes = Shapes<Int>::sizes(self);
  TORCH_CHECK(
      c10::ArrayRef<Int>(sizes) == size,
      "Bad in-place call: input tensor size ", c10::ArrayRef<Int>(sizes), " and output tensor size ", size,
      " should match");
}

} // namespace opwright
