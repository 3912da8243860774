#pragma once
// Calls operators through PyTorch's dispatcher, with nothing but its stable C++ API.

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/tensor.h>

#include <opwright/taken_tensor.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#if defined(__ELF__)
#include <dlfcn.h>
#endif

namespace opwright {

namespace stable_call {

#if defined(__ELF__)
// A function of the process by its name, null if it has none: a binary needs neither Python nor the newest PyTorch.
template <typename Function>
Function* function_named(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// Takes the error of Python that a kernel in Python left to the thread, and gives its text; empty without any.
inline std::string python_error() {
  auto* const ensure = function_named<int()>("PyGILState_Ensure");
  auto* const release = function_named<void(int)>("PyGILState_Release");
  auto* const is_initialized = function_named<int()>("Py_IsInitialized");
  auto* const fetch = function_named<void(void**, void**, void**)>("PyErr_Fetch");
  auto* const clear = function_named<void()>("PyErr_Clear");
  auto* const shown = function_named<void*(void*)>("PyObject_Str");
  auto* const utf8 = function_named<const char*(void*)>("PyUnicode_AsUTF8");
  auto* const forget = function_named<void(void*)>("Py_DecRef");
  if (!ensure || !release || !is_initialized || !fetch || !clear || !shown || !utf8 || !forget || !is_initialized()) {
    return "";
  }
  const int state = ensure();
  std::array<void*, 3> error{};
  fetch(&error[0], &error[1], &error[2]);
  void* const text = error[1] ? shown(error[1]) : nullptr;
  const char* const letters = text ? utf8(text) : nullptr;
  const std::string result = letters ? letters : "";
  clear();
  for (void* const object : {text, error[0], error[1], error[2]}) {
    forget(object);  // It takes null.
  }
  release(state);
  return result;
}
#endif

// Raises with the text of the error of an operator, of which PyTorch's C interface gives a code alone.
[[noreturn]] inline void fail(const char* name) {
  std::string text;
#if defined(__ELF__)
  // PyTorch has it since 2.13.
  if (auto* const get_what = function_named<const char*()>("torch_exception_get_what_without_backtrace")) {
    text = get_what();
  }
  text = text.empty() ? python_error() : text;
#endif
  // An error in Python has its type before the text, and where it was raised after it.
  const std::string_view type = "RuntimeError: ";
  text.erase(0, text.compare(0, type.size(), type) == 0 ? type.size() : 0);
  text.erase(std::min(text.find("\n\nAt:\n"), text.size()));
  throw std::runtime_error(text.empty() ? std::string(name) + " failed" : text);
}

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

// An argument of a call, taken from its stack. Lists and texts own what they have.
template <typename T>
auto taken(StableIValue value) {
  using Owner = torch::stable::detail::unbox_type_t<T>;
  using torch::stable::detail::to;
  if constexpr (std::is_same_v<Owner, torch::stable::Tensor>) {
    return TakenTensor(to<AtenTensorHandle>(value));
  } else if constexpr (std::is_same_v<Owner, std::optional<torch::stable::Tensor>>) {
    const auto handle = to<std::optional<AtenTensorHandle>>(value);
    return handle.has_value() ? std::optional<TakenTensor>(std::in_place, *handle) : std::nullopt;
  } else {
    return to<Owner>(value);
  }
}

template <typename T>
StableIValue given(const T& argument) {
  return torch::stable::detail::from(value(argument));
}

inline StableIValue given(TakenTensor& tensor) {
  return torch::stable::detail::from(tensor.release());
}

inline StableIValue given(std::optional<TakenTensor>& tensor) {
  using Handle = std::optional<AtenTensorHandle>;
  return torch::stable::detail::from(tensor.has_value() ? Handle(tensor->release()) : std::nullopt);
}

} // namespace stable_call

// Calls the overload of an operator with all its arguments, also those that have defaults:
// `call("aten::flip", "", x, std::vector<int64_t>{1})`. `Result` is a tuple for several results.
template <typename Result = torch::stable::Tensor, typename... Arguments>
Result call(const char* name, const char* overload, const Arguments&... arguments) {
  constexpr size_t size = std::max({sizeof...(Arguments), stable_call::Results<Result>::count, size_t(1)});
  std::array<StableIValue, size> stack{torch::stable::detail::from(stable_call::value(arguments))...};
  if (torch_call_dispatcher(name, overload, stack.data(), TORCH_ABI_VERSION) != 0) {
    stable_call::fail(name);
  }
  return stable_call::Results<Result>::read(stack.data());
}

// Lets an operator answer the call whose stack it is, and take over the tensors of that call.
template <typename... Arguments>
void call_instead(const char* name, StableIValue* stack, Arguments&&... arguments) {
  size_t place = 0;
  ((stack[place++] = stable_call::given(arguments)), ...);
  if (torch_call_dispatcher(name, "", stack, TORCH_ABI_VERSION) != 0) {
    stable_call::fail(name);
  }
}

} // namespace opwright
