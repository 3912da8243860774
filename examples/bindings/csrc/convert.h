// From values of C to those of C++ and back, for the generated wrappers.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include "atc.h"

struct atc_tensor_value {
  at::Tensor tensor;
};

struct atc_generator_value {
  at::Generator generator;
};

namespace atc {

// Keeps the message of the exception that is being handled, and gives its code.
int32_t failure() noexcept;

inline at::Tensor& tensor(atc_tensor handle) {
  if (handle == nullptr) {
    throw std::invalid_argument("a tensor is missing");
  }
  return handle->tensor;
}

inline std::optional<at::Tensor> optional_tensor(atc_tensor handle) {
  return handle == nullptr ? std::nullopt : std::make_optional(handle->tensor);
}

inline std::optional<at::Generator> optional_generator(atc_generator handle) {
  return handle == nullptr ? std::nullopt : std::make_optional(handle->generator);
}

at::Scalar scalar(const atc_scalar& value);

inline at::Device device(const atc_device& value) {
  return at::Device(static_cast<at::DeviceType>(value.type), static_cast<at::DeviceIndex>(value.index));
}

std::vector<at::Tensor> tensors(const atc_tensor* handles, size_t length);
c10::List<std::optional<at::Tensor>> optional_tensors(const atc_tensor* handles, size_t length);
std::vector<at::Scalar> scalars(const atc_scalar* values, size_t length);

template <size_t N>
std::array<bool, N> bools(const bool* values) {
  std::array<bool, N> array;
  std::copy(values, values + N, array.begin());
  return array;
}

// Results, written where the caller wants them.
void give(at::Tensor value, atc_tensor* result);
void give(const std::vector<at::Tensor>& value, atc_tensor** result, size_t* length);
void give(const at::Scalar& value, atc_scalar* result);
void give(const std::vector<int64_t>& value, int64_t** result, size_t* length);

inline void give(int64_t value, int64_t* result) {
  *result = value;
}
inline void give(const c10::SymInt& value, int64_t* result) {
  *result = value.guard_int(__FILE__, __LINE__);
}
inline void give(double value, double* result) {
  *result = value;
}
inline void give(bool value, bool* result) {
  *result = value;
}
inline void give(const c10::SymBool& value, bool* result) {
  *result = value.guard_bool(__FILE__, __LINE__);
}
inline void give(at::ScalarType value, int32_t* result) {
  *result = static_cast<int32_t>(value);
}

} // namespace atc

// The body of a wrapper: a statement whose exceptions become an error code.
#define ATC_BODY(...)       \
  {                         \
    try {                   \
      __VA_ARGS__           \
      return ATC_OK;        \
    } catch (...) {         \
      return atc::failure(); \
    }                       \
  }
