#pragma once
// Loops over elements. The device computes in three types, all of 64 bits for a number, whatever a tensor stores.

#include <ATen/TensorIterator.h>
#include <c10/core/DynamicCast.h>
#include <c10/util/complex.h>

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

// An element in the type in which the device computes, rounded to the type of the operation first, as PyTorch does.
template <typename Value>
Value rounded(at::ScalarType from, at::ScalarType to, const void* data) {
  const auto value = c10::fetch_and_cast<Value>(from, data);
  if (from == to) {
    return value;
  }
  alignas(c10::complex<double>) char bytes[sizeof(c10::complex<double>)];
  c10::cast_and_store(to, bytes, value);
  return c10::fetch_and_cast<Value>(to, bytes);
}

template <typename Value, size_t... Inputs, typename Function>
void map_values(at::TensorIteratorBase& iterator, Function function, std::index_sequence<Inputs...>) {
  const auto dtype = iterator.common_dtype();
  const auto loop = [&](char** data, const int64_t* strides, int64_t size) {
    for (int64_t index = 0; index < size; ++index) {
      auto result = function(rounded<Value>(
          iterator.input_dtype(Inputs), dtype, data[Inputs + 1] + index * strides[Inputs + 1])...);
      c10::cast_and_store(iterator.dtype(0), data[0] + index * strides[0], result);
    }
  };
  iterator.for_each(loop);
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
