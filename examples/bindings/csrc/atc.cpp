// The part of the C library that is written by hand.
#include "convert.h"

#include <cstring>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>

namespace atc {

static thread_local std::string message;

int32_t failure() noexcept {
  try {
    throw;
  } catch (const c10::Error& error) {
    message = error.what_without_backtrace();
    return ATC_TORCH_ERROR;
  } catch (const std::exception& error) {
    message = error.what();
  } catch (...) {
    message = "an exception of an unknown type";
  }
  return ATC_OTHER_ERROR;
}

at::Scalar scalar(const atc_scalar& value) {
  switch (value.kind) {
    case ATC_INT:
      return value.integer;
    case ATC_FLOAT:
      return value.real;
    case ATC_BOOL:
      return value.integer != 0;
    case ATC_COMPLEX:
      return c10::complex<double>(value.real, value.imaginary);
  }
  throw std::invalid_argument("a scalar has no such kind");
}

template <class List, class Item, class Convert>
static List list(const Item* items, size_t length, Convert convert) {
  List values;
  values.reserve(length);
  for (size_t i = 0; i < length; ++i) {
    values.push_back(convert(items[i]));
  }
  return values;
}

std::vector<at::Tensor> tensors(const atc_tensor* handles, size_t length) {
  return list<std::vector<at::Tensor>>(handles, length, tensor);
}

c10::List<std::optional<at::Tensor>> optional_tensors(const atc_tensor* handles, size_t length) {
  return list<c10::List<std::optional<at::Tensor>>>(handles, length, optional_tensor);
}

std::vector<at::Scalar> scalars(const atc_scalar* values, size_t length) {
  return list<std::vector<at::Scalar>>(values, length, scalar);
}

template <class T>
static T* array(size_t length) {
  auto* items = static_cast<T*>(std::malloc(std::max<size_t>(1, length * sizeof(T))));
  if (items == nullptr) {
    throw std::bad_alloc();
  }
  return items;
}

void give(at::Tensor value, atc_tensor* result) {
  *result = new atc_tensor_value{std::move(value)};
}

void give(const std::vector<at::Tensor>& value, atc_tensor** result, size_t* length) {
  *result = array<atc_tensor>(value.size());
  *length = value.size();
  for (size_t i = 0; i < value.size(); ++i) {
    give(value[i], *result + i);
  }
}

void give(const std::vector<int64_t>& value, int64_t** result, size_t* length) {
  *result = array<int64_t>(value.size());
  *length = value.size();
  std::copy(value.begin(), value.end(), *result);
}

void give(const at::Scalar& value, atc_scalar* result) {
  *result = atc_scalar{};
  if (value.isComplex()) {
    const auto number = value.toComplexDouble();
    *result = {ATC_COMPLEX, 0, number.real(), number.imag()};
  } else if (value.isFloatingPoint()) {
    *result = {ATC_FLOAT, 0, value.toDouble(), 0};
  } else {
    *result = {value.isBoolean() ? ATC_BOOL : ATC_INT, value.toLong(), 0, 0};
  }
}

} // namespace atc

extern "C" {

const char* atc_last_error(void) {
  return atc::message.c_str();
}

void atc_free(atc_tensor tensor) {
  delete tensor;
}

void atc_free_list(void* list) {
  std::free(list);
}

int32_t atc_from_data(const void* data, const int64_t* sizes, size_t sizes_len, int32_t dtype, atc_tensor* result)
ATC_BODY(
  const auto options = at::TensorOptions(static_cast<at::ScalarType>(dtype));
  auto value = at::empty(at::IntArrayRef(sizes, sizes_len), options);
  if (value.nbytes() != 0) {
    std::memcpy(value.mutable_data_ptr(), data, value.nbytes());
  }
  atc::give(value, result);
)

int32_t atc_to_data(atc_tensor tensor, void* data, size_t bytes)
ATC_BODY(
  const auto value = atc::tensor(tensor).detach().to(at::kCPU).contiguous();
  TORCH_CHECK_VALUE(value.nbytes() == bytes, "the tensor has ", value.nbytes(), " bytes, not ", bytes);
  if (bytes != 0) {
    std::memcpy(data, value.const_data_ptr(), bytes);
  }
)

int32_t atc_dim(atc_tensor tensor, int64_t* result)
ATC_BODY(*result = atc::tensor(tensor).dim();)

int32_t atc_grad(atc_tensor tensor, atc_tensor* result)
ATC_BODY(atc::give(atc::tensor(tensor).grad(), result);)

bool atc_is_defined(atc_tensor tensor) {
  return tensor != nullptr && tensor->tensor.defined();
}

int32_t atc_generator_new(uint64_t seed, atc_generator* result)
ATC_BODY(*result = new atc_generator_value{at::detail::createCPUGenerator(seed)};)

void atc_generator_free(atc_generator generator) {
  delete generator;
}

} // extern "C"
