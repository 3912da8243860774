// Kernels for the Autocast keys. PyTorch's header for them includes all operators, so the two functions of it that
// PyTorch exports are declared here.
#pragma once

#include <ATen/core/IListRef.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace at::autocast {
TORCH_API at::ScalarType get_autocast_dtype(at::DeviceType device_type);
TORCH_API at::Tensor cached_cast(at::ScalarType to_type, const at::Tensor& arg, c10::DeviceType device_type);
} // namespace at::autocast

namespace opwright::autocast {

// What an operator does under autocast, or what happens to an argument.
enum class Policy { none, lower_precision_fp, fp32, fp32_set_opt_dtype, fp32_append_dtype, promote, fp32_cast_back };

// Whether autocast casts a tensor: it is on the device, and it has real numbers of less than 64 bits.
inline bool is_cast(c10::DeviceType device, const at::Tensor& tensor) {
  return tensor.defined() && tensor.device().type() == device && tensor.is_floating_point() &&
      tensor.scalar_type() != at::kDouble;
}

template <class Argument>
constexpr bool is_tensor_list = std::is_same_v<Argument, at::TensorList> || std::is_same_v<Argument, at::ITensorListRef>;

// An argument in the dtype of autocast; only tensors are cast.
template <class Argument>
decltype(auto) cast(at::ScalarType dtype, c10::DeviceType device, const Argument& argument) {
  if constexpr (std::is_same_v<Argument, at::Tensor>) {
    return at::autocast::cached_cast(dtype, argument, device);
  } else if constexpr (std::is_same_v<Argument, std::optional<at::Tensor>>) {
    return argument.has_value() ? std::optional<at::Tensor>(cast(dtype, device, *argument)) : argument;
  } else if constexpr (is_tensor_list<Argument>) {
    std::vector<at::Tensor> tensors;
    tensors.reserve(argument.size());
    for (const at::Tensor& tensor : argument) {
      tensors.push_back(cast(dtype, device, tensor));
    }
    return tensors;
  } else if constexpr (std::is_same_v<Argument, c10::List<std::optional<at::Tensor>>>) {
    c10::List<std::optional<at::Tensor>> tensors;
    tensors.reserve(argument.size());
    for (const std::optional<at::Tensor> tensor : argument) {
      tensors.push_back(cast(dtype, device, tensor));
    }
    return tensors;
  } else {
    return (argument);
  }
}

// The wider of a dtype and those of the tensors in an argument.
template <class Argument>
at::ScalarType widest(at::ScalarType dtype, c10::DeviceType device, const Argument& argument) {
  if constexpr (std::is_same_v<Argument, at::Tensor>) {
    return is_cast(device, argument) ? c10::promoteTypes(dtype, argument.scalar_type()) : dtype;
  } else if constexpr (std::is_same_v<Argument, std::optional<at::Tensor>>) {
    return argument.has_value() ? widest(dtype, device, *argument) : dtype;
  } else if constexpr (is_tensor_list<Argument>) {
    for (const at::Tensor& tensor : argument) {
      dtype = widest(dtype, device, tensor);
    }
    return dtype;
  } else {
    return dtype;
  }
}

// An argument, where one that chooses the dtype of the result and has no value is float32.
template <class Argument>
decltype(auto) with_dtype(const Argument& argument) {
  if constexpr (std::is_same_v<Argument, std::optional<at::ScalarType>>) {
    return std::optional<at::ScalarType>(argument.value_or(at::kFloat));
  } else {
    return (argument);
  }
}

template <class First, class... Rest>
const First& first_of(const First& first, const Rest&...) {
  return first;
}

// A result in another dtype, if it has real numbers.
template <class Result>
Result cast_back(at::ScalarType dtype, Result result) {
  if constexpr (std::is_same_v<Result, at::Tensor>) {
    return result.defined() && result.is_floating_point() ? result.to(dtype) : result;
  } else if constexpr (std::is_same_v<Result, std::vector<at::Tensor>>) {
    for (at::Tensor& tensor : result) {
      tensor = cast_back(dtype, tensor);
    }
    return result;
  } else {
    return result;
  }
}

template <class... Results>
std::tuple<Results...> cast_back(at::ScalarType dtype, std::tuple<Results...> results) {
  return std::apply([&](auto&... result) { return std::tuple<Results...>(cast_back(dtype, result)...); }, results);
}

// The kernel of an operator with parameters Args, under the Autocast key of a device. It calls `function`, which is the
// operator itself, or for fp32_append_dtype the overload with a further dtype.
template <Policy policy, c10::DeviceType device, c10::DispatchKey key, auto function, class Signature>
struct Kernel;

template <Policy policy, c10::DeviceType device, c10::DispatchKey key, auto function, class Result, class... Args>
struct Kernel<policy, device, key, function, Result(Args...)> {
  static Result call(Args... args) {
    const c10::impl::ExcludeDispatchKeyGuard guard(key);
    if constexpr (policy == Policy::lower_precision_fp) {
      return function(cast(at::autocast::get_autocast_dtype(device), device, args)...);
    } else if constexpr (policy == Policy::fp32) {
      return function(cast(at::kFloat, device, args)...);
    } else if constexpr (policy == Policy::promote) {
      at::ScalarType dtype = at::autocast::get_autocast_dtype(device);
      ((dtype = widest(dtype, device, args)), ...);
      return function(cast(dtype, device, args)...);
    } else if constexpr (policy == Policy::fp32_cast_back) {
      const at::Tensor& first = first_of(args...);
      Result result = function(cast(at::kFloat, device, args)...);
      return is_cast(device, first) ? cast_back(first.scalar_type(), std::move(result)) : result;
    } else if constexpr (policy == Policy::fp32_set_opt_dtype) {
      return is_cast(device, first_of(args...)) ? function(with_dtype(args)...) : function(args...);
    } else {
      const at::Tensor& first = first_of(args...);
      return function(args..., is_cast(device, first) ? at::kFloat : first.scalar_type());
    }
  }
};

// An argument as its own policy says. One without a policy may be written to.
template <Policy policy, class Argument>
decltype(auto) cast_by(c10::DeviceType device, Argument& argument) {
  if constexpr (policy == Policy::none) {
    return (argument);
  } else if constexpr (policy == Policy::lower_precision_fp) {
    return cast(at::autocast::get_autocast_dtype(device), device, argument);
  } else {
    return cast(at::kFloat, device, argument);
  }
}

// The argument whose dtype results get.
template <Policy policy, Policy... policies, class Argument, class... Args>
const at::Tensor& cast_back_to(const Argument& argument, const Args&... args) {
  if constexpr (policy == Policy::fp32_cast_back) {
    return argument;
  } else {
    return cast_back_to<policies...>(args...);
  }
}

// The kernel of an operator whose arguments have a policy each.
template <c10::DeviceType device, c10::DispatchKey key, auto function, class Signature, Policy... policies>
struct ArgumentsKernel;

template <c10::DeviceType device, c10::DispatchKey key, auto function, class Result, class... Args, Policy... policies>
struct ArgumentsKernel<device, key, function, Result(Args...), policies...> {
  static Result call(Args... args) {
    const c10::impl::ExcludeDispatchKeyGuard guard(key);
    if constexpr (((policies == Policy::fp32_cast_back) || ...)) {
      const at::Tensor& tensor = cast_back_to<policies...>(args...);
      Result result = function(cast_by<policies>(device, args)...);
      return is_cast(device, tensor) ? cast_back(tensor.scalar_type(), std::move(result)) : result;
    } else {
      return function(cast_by<policies>(device, args)...);
    }
  }
};

} // namespace opwright::autocast
