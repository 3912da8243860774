#pragma once
// Loops over elements. Where all tensors have one of the usual types, the device computes as PyTorch's CPU does: in that
// type, or in 32 bits where it has fewer. It computes others in three types of 64 bits for a number.

#include <ATen/OpMathType.h>
#include <ATen/TensorIterator.h>
#include <c10/core/DynamicCast.h>
#include <c10/util/complex.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "runtime/memory.h"

namespace acme::native {

// Calls `function` with a value of the type in which the device computes elements of a dtype.
template <typename Function>
void with_value_type(at::ScalarType dtype, Function function) {
  if (at::isComplexType(dtype)) {
    function(c10::complex<double>());
  } else if (at::isFloatingType(dtype)) {
    function(double());
  } else {
    function(int64_t());
  }
}

// A value in the type in which the device computes, rounded to a dtype.
template <typename Value>
Value rounded(at::ScalarType dtype, Value value) {
  alignas(c10::complex<double>) char bytes[sizeof(c10::complex<double>)];
  c10::cast_and_store(dtype, bytes, value);
  return c10::fetch_and_cast<Value>(dtype, bytes);
}

// An element in the type in which the device computes, rounded to the type of the operation first, as PyTorch does.
template <typename Value>
Value loaded(at::ScalarType from, at::ScalarType to, const void* data) {
  const auto value = c10::fetch_and_cast<Value>(from, data);
  return from == to ? value : rounded(to, value);
}

// A number for loops, converted once to each type in which the device computes.
class Number {
 public:
  explicit Number(const at::Scalar& number)
      : complex_(number.to<c10::complex<double>>()),
        real_(number.isComplex() ? complex_.real() : number.to<double>()),
        integer_(number.isIntegral(/*includeBool=*/true) ? number.to<int64_t>() : 0) {}

  template <typename Value>
  Value in() const {
    if constexpr (c10::is_complex<Value>::value) {
      return Value(complex_);
    } else if constexpr (std::is_integral_v<Value>) {
      return static_cast<Value>(integer_);
    } else {
      return static_cast<Value>(real_);
    }
  }

 private:
  c10::complex<double> complex_;
  double real_;
  int64_t integer_;
};

// Elements of any types, each converted by itself: for iterators whose tensors have several.
template <typename Value, size_t... Inputs, typename Function>
void map_converted(at::TensorIteratorBase& iterator, Function function, std::index_sequence<Inputs...>) {
  const auto dtype = iterator.common_dtype();
  const auto loop = [&](char** data, const int64_t* strides, int64_t size) {
    for (int64_t index = 0; index < size; ++index) {
      auto result = function(
          loaded<Value>(iterator.input_dtype(Inputs), dtype, data[Inputs + 1] + index * strides[Inputs + 1])...);
      // So are results, where an output has another type.
      if constexpr (std::is_same_v<decltype(result), Value>) {
        result = iterator.dtype(0) == dtype ? result : rounded(dtype, result);
      }
      c10::cast_and_store(iterator.dtype(0), data[0] + index * strides[0], result);
    }
  };
  iterator.for_each(loop);
}

// Elements of one type, in a loop that compilers turn into vectors where they lie side by side. A number that goes with
// all elements may have another type: it is converted once.
template <typename Stored, typename Value, size_t... Inputs, typename Function>
void map_stored(at::TensorIteratorBase& iterator, Function function, std::index_sequence<Inputs...>) {
  using Computed = at::opmath_type<Stored>;
  constexpr int64_t SIZE = sizeof(Stored);
  const auto dtype = iterator.common_dtype();
  const auto loop = [&](char** data, const int64_t* strides, int64_t size) {
    const Stored numbers[] = {(
        strides[Inputs + 1] == 0
            ? static_cast<Stored>(loaded<Value>(iterator.input_dtype(Inputs), dtype, data[Inputs + 1]))
            : Stored())...};
    const char* const inputs[] = {
        (strides[Inputs + 1] == 0 ? reinterpret_cast<const char*>(&numbers[Inputs]) : data[Inputs + 1])...};
    if (strides[0] == SIZE && ((strides[Inputs + 1] == SIZE) && ...)) {
      auto* const out = reinterpret_cast<Stored*>(data[0]);
      for (int64_t index = 0; index < size; ++index) {
        out[index] = static_cast<Stored>(
            function(static_cast<Computed>(reinterpret_cast<const Stored*>(inputs[Inputs])[index])...));
      }
      return;
    }
    for (int64_t index = 0; index < size; ++index) {
      *reinterpret_cast<Stored*>(data[0] + index * strides[0]) = static_cast<Stored>(function(static_cast<Computed>(
          *reinterpret_cast<const Stored*>(inputs[Inputs] + index * strides[Inputs + 1]))...));
    }
  };
  iterator.for_each(loop);
}

// Whether all tensors have the type of the operation, but for numbers, which go with all elements.
inline bool has_one_type(const at::TensorIteratorBase& iterator) {
  const auto dtype = iterator.common_dtype();
  bool has = iterator.noutputs() == 1 && iterator.dtype(0) == dtype;
  for (int input = 1; input < iterator.ntensors(); ++input) {
    const auto strides = iterator.strides(input);
    const bool is_number = std::all_of(strides.begin(), strides.end(), [](int64_t stride) { return stride == 0; });
    has = has && (iterator.dtype(input) == dtype || is_number);
  }
  return has;
}

template <typename Value, size_t... Inputs, typename Function>
void map_values(at::TensorIteratorBase& iterator, Function function, std::index_sequence<Inputs...> inputs) {
  const auto is_mapped = [&](auto... types) {
    const auto dtype = iterator.common_dtype();
    return has_one_type(iterator) &&
        ((dtype == c10::CppTypeToScalarType<decltype(types)>::value &&
          (map_stored<decltype(types), Value>(iterator, function, inputs), true)) ||
         ...);
  };
  if constexpr (std::is_same_v<Value, double>) {
    if (is_mapped(float(), double(), at::BFloat16(), at::Half())) {
      return;
    }
  } else if constexpr (std::is_same_v<Value, int64_t>) {
    if (is_mapped(int64_t(), int32_t())) {
      return;
    }
  }
  map_converted<Value>(iterator, function, inputs);
}

// Writes to each element of the output of an iterator what `function` returns for the elements of `count` inputs.
template <size_t count, typename Function>
void map_elements(at::TensorIteratorBase& iterator, Function function) {
  with_value_type(iterator.common_dtype(), [&](auto value) {
    map_values<decltype(value)>(iterator, function, std::make_index_sequence<count>());
  });
}

// The same for numbers that have an order.
template <size_t count, typename Function>
void map_real_elements(at::TensorIteratorBase& iterator, Function function) {
  if (at::isFloatingType(iterator.common_dtype())) {
    map_values<double>(iterator, function, std::make_index_sequence<count>());
  } else {
    map_values<int64_t>(iterator, function, std::make_index_sequence<count>());
  }
}

// The elements of a tensor by position, in the type in which the device computes.
template <typename Value>
class Elements {
 public:
  explicit Elements(const at::Tensor& tensor)
      : data_(static_cast<char*>(const_cast<void*>(tensor.const_data_ptr()))),
        dtype_(tensor.scalar_type()),
        size_(static_cast<int64_t>(tensor.itemsize())) {}

  Value get(int64_t position) const {
    return c10::fetch_and_cast<Value>(dtype_, data_ + position * size_);
  }
  void set(int64_t position, Value value) const {
    c10::cast_and_store(dtype_, data_ + position * size_, value);
  }

 private:
  char* data_;
  at::ScalarType dtype_;
  int64_t size_;
};

}  // namespace acme::native
