#pragma once
// Calls operators through PyTorch's dispatcher, with nothing but its stable C++ API.

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/tensor.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace opwright {

namespace stable_call {

// The types that schemas have: integers are `int64_t`, numbers `double`, texts strings.
template <typename T>
auto value(const T& argument) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return static_cast<int64_t>(argument);
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<double>(argument);
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return std::string(std::string_view(argument));
  } else {
    return argument;
  }
}

template <typename T>
auto value(const std::optional<T>& argument) {
  return argument.has_value() ? std::optional(value(*argument)) : std::nullopt;
}

template <typename T>
struct Results {
  static constexpr size_t count = 1;
  static T read(const StableIValue* stack) {
    return torch::stable::detail::to<T>(stack[0]);
  }
};

template <>
struct Results<void> {
  static constexpr size_t count = 0;
  static void read(const StableIValue*) {}
};

template <typename... Ts>
struct Results<std::tuple<Ts...>> {
  static constexpr size_t count = sizeof...(Ts);
  static std::tuple<Ts...> read(const StableIValue* stack) {
    return read(stack, std::index_sequence_for<Ts...>());
  }
  template <size_t... I>
  static std::tuple<Ts...> read(const StableIValue* stack, std::index_sequence<I...>) {
    return {torch::stable::detail::to<Ts>(stack[I])...};
  }
};

} // namespace stable_call

// Calls the overload of an operator with all its arguments, also those that have defaults:
// `call("aten::flip", "", x, std::vector<int64_t>{1})`. `Result` is a tuple for several results.
template <typename Result = torch::stable::Tensor, typename... Arguments>
Result call(const char* name, const char* overload, const Arguments&... arguments) {
  constexpr size_t size = std::max({sizeof...(Arguments), stable_call::Results<Result>::count, size_t(1)});
  std::array<StableIValue, size> stack{torch::stable::detail::from(stable_call::value(arguments))...};
  TORCH_ERROR_CODE_CHECK(torch_call_dispatcher(name, overload, stack.data(), TORCH_ABI_VERSION));
  return stable_call::Results<Result>::read(stack.data());
}

} // namespace opwright
