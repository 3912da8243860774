#pragma once
// Registers kernels whose C++ signatures are not those that follow from their schemas, such as functions that take
// tensors by value. PyTorch wants one C++ signature for all unboxed kernels of an operator, so these are boxed.

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/boxing/impl/make_boxed_from_unboxed_functor.h>
#include <opwright/number_conversion.h>
#include <torch/library.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace opwright {

// The type of a function without `noexcept`, which c10 knows no functions with.
template <class Function>
struct plain {
  using type = Function;
};
template <class Result, class... Arguments>
struct plain<Result(Arguments...) noexcept> {
  using type = Result(Arguments...);
};

// The type in which the dispatcher holds the value of a type: numbers are `int64_t` and `double`.
template <class Type>
struct held {
  using type = std::conditional_t<
      detail::is_integer<Type>,
      int64_t,
      std::conditional_t<std::is_same_v<Type, float>, double, Type>>;
};
template <class Type>
struct held<std::vector<Type>> {
  using type = std::vector<typename held<Type>::type>;
};
template <class Type>
struct held<std::optional<Type>> {
  using type = std::optional<typename held<Type>::type>;
};
template <class... Types>
struct held<std::tuple<Types...>> {
  using type = std::tuple<typename held<Types>::type...>;
};
template <class First, class Second>
struct held<std::pair<First, Second>> : held<std::tuple<First, Second>> {};
template <class Type>
using held_t = typename held<std::remove_cv_t<std::remove_reference_t<Type>>>::type;

// Whether the dispatcher can pass a type: numbers as it holds them, and references that are not const to tensors alone.
template <class Type>
constexpr bool is_held = std::is_same_v<held_t<Type>, std::remove_cv_t<std::remove_reference_t<Type>>> &&
    (!std::is_lvalue_reference_v<Type> || std::is_const_v<std::remove_reference_t<Type>> ||
     std::is_same_v<std::remove_reference_t<Type>, at::Tensor>);

// A parameter, or a result, of the function that the dispatcher calls.
template <class Type>
using passed = std::conditional_t<is_held<Type>, Type, held_t<Type>>;

// A value as another type.
template <class To, class From>
decltype(auto) as(From&& value, detail::place where) {
  using plain_to = std::remove_cv_t<std::remove_reference_t<To>>;
  using plain_from = std::remove_cv_t<std::remove_reference_t<From>>;
  if constexpr (std::is_same_v<plain_to, plain_from> && std::is_lvalue_reference_v<To>) {
    return static_cast<To>(value);
  } else if constexpr (std::is_same_v<plain_to, plain_from>) {
    return static_cast<To>(std::forward<From>(value));
  } else {
    return detail::conversion<plain_from, plain_to>::convert(std::forward<From>(value), where);
  }
}

template <class... To, class From, std::size_t... Numbers>
std::tuple<To...> results_as(std::tuple<To...>*, From&& values, std::index_sequence<Numbers...>) {
  return {as<To>(std::get<Numbers>(std::forward<From>(values)), {"result", Numbers})...};
}

template <class From>
constexpr bool is_several = false;
template <class... Types>
constexpr bool is_several<std::tuple<Types...>> = true;

// A kernel with the types in which the dispatcher holds values.
template <auto Kernel, class Function, class Numbers>
struct converted;
template <auto Kernel, class Result, class... Parameters, std::size_t... Numbers>
struct converted<Kernel, Result(Parameters...), std::index_sequence<Numbers...>> {
  static passed<Result> call(passed<Parameters>... arguments) {
    if constexpr (is_held<Result>) {
      return Kernel(as<Parameters>(std::forward<passed<Parameters>>(arguments), {"argument", Numbers})...);
    } else if constexpr (is_several<held_t<Result>>) {
      auto values = Kernel(as<Parameters>(std::forward<passed<Parameters>>(arguments), {"argument", Numbers})...);
      constexpr std::size_t count = std::tuple_size_v<held_t<Result>>;
      return results_as(static_cast<held_t<Result>*>(nullptr), std::move(values), std::make_index_sequence<count>{});
    } else {
      return as<held_t<Result>>(
          Kernel(as<Parameters>(std::forward<passed<Parameters>>(arguments), {"argument", Numbers})...), {"result", 0});
    }
  }
};

template <class Function>
constexpr bool is_converted = false;
template <class Result, class... Parameters>
constexpr bool is_converted<Result(Parameters...)> = !(is_held<Result> && (is_held<Parameters> && ...));
template <class Function>
struct count_of;
template <class Result, class... Parameters>
struct count_of<Result(Parameters...)> {
  using numbers = std::index_sequence_for<Parameters...>;
};

// The function that the dispatcher calls for a kernel: itself, or one that converts numbers.
template <auto Kernel>
constexpr auto called = [] {
  using function = typename plain<std::remove_pointer_t<decltype(Kernel)>>::type;
  if constexpr (is_converted<function>) {
    return &converted<Kernel, function, typename count_of<function>::numbers>::call;
  } else {
    return Kernel;
  }
}();

// Takes the arguments of a kernel from the stack, and leaves its results there.
template <auto Kernel>
void call_boxed(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  using function = typename plain<std::remove_pointer_t<decltype(called<Kernel>)>>::type;
  using pointer = c10::CompileTimeFunctionPointer<function, called<Kernel>>;
  using functor = typename c10::impl::WrapFunctionIntoFunctor<pointer>::type;
  functor kernel;
  c10::impl::make_boxed_from_unboxed_functor<functor, false>::call(&kernel, op, keys, stack);
}

// The same after a check of the arguments on the stack.
template <auto Kernel, void (*Check)(const torch::jit::Stack&)>
void check_and_call_boxed(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  Check(*stack);
  call_boxed<Kernel>(op, keys, stack);
}

// The kernel for `m.impl`.
template <auto Kernel>
torch::CppFunction own_signature() {
  return torch::CppFunction::makeFromBoxedFunction<&call_boxed<Kernel>>();
}

template <auto Kernel, void (*Check)(const torch::jit::Stack&)>
torch::CppFunction checked_own_signature() {
  return torch::CppFunction::makeFromBoxedFunction<&check_and_call_boxed<Kernel, Check>>();
}

// The comparison of such kernels with the signatures that follow from their schemas. The stack has no types, so a kernel
// with fewer parameters would get the last arguments.
namespace own {

template <class Type>
struct list {};
template <class Type>
struct same {
  using type = Type;
};

// What a type of C++ is in schemas; `void` for types of which nothing is known here, which c10 checks itself.
template <class Type>
struct in_schemas : same<void> {};
template <class Type>
using in_schemas_t = typename in_schemas<held_t<Type>>::type;

// clang-format off
template <> struct in_schemas<at::Tensor> : same<at::Tensor> {};
template <> struct in_schemas<c10::Scalar> : same<c10::Scalar> {};
template <> struct in_schemas<c10::Device> : same<c10::Device> {};
template <> struct in_schemas<at::Generator> : same<at::Generator> {};
template <> struct in_schemas<bool> : same<bool> {};
template <> struct in_schemas<double> : same<double> {};
template <> struct in_schemas<int64_t> : same<int64_t> {};
template <> struct in_schemas<c10::SymInt> : same<int64_t> {};
template <> struct in_schemas<c10::ScalarType> : same<int64_t> {};
template <> struct in_schemas<c10::Layout> : same<int64_t> {};
template <> struct in_schemas<c10::MemoryFormat> : same<int64_t> {};
template <> struct in_schemas<std::string> : same<std::string> {};
template <> struct in_schemas<std::string_view> : same<std::string> {};
// clang-format on
template <class Item>
using list_of = std::conditional_t<std::is_void_v<in_schemas_t<Item>>, void, list<in_schemas_t<Item>>>;
template <class Item>
using optional_of = std::conditional_t<std::is_void_v<Item>, void, std::optional<Item>>;
template <class Item>
struct in_schemas<c10::ArrayRef<Item>> : same<list_of<Item>> {};
template <class Item>
struct in_schemas<std::vector<Item>> : same<list_of<Item>> {};
template <class Item>
struct in_schemas<c10::List<Item>> : same<list_of<Item>> {};
template <class Item, std::size_t Count>
struct in_schemas<std::array<Item, Count>> : same<list_of<Item>> {};
template <class Item>
struct in_schemas<c10::IListRef<Item>> : same<list_of<Item>> {};
template <class Item>
struct in_schemas<c10::OptionalArrayRef<Item>> : same<optional_of<list_of<Item>>> {};
template <>
struct in_schemas<at::OptionalTensorRef> : same<std::optional<at::Tensor>> {};
template <class Item>
struct in_schemas<std::optional<Item>> : same<optional_of<in_schemas_t<Item>>> {};

template <class Type, class Wanted>
constexpr bool may_be = std::is_void_v<in_schemas_t<Type>> || std::is_void_v<in_schemas_t<Wanted>> ||
    std::is_same_v<in_schemas_t<Type>, in_schemas_t<Wanted>>;

template <class Function>
struct parts;
template <class Result, class... Parameters>
struct parts<Result(Parameters...)> {
  using result = Result;
  using parameters = std::tuple<same<Parameters>...>;
  static constexpr std::size_t count = sizeof...(Parameters);
};

// Whether a function has so many parameters.
template <class Function, std::size_t Count>
constexpr bool has_parameters = parts<typename plain<Function>::type>::count == Count;

// Whether a function takes what the wanted type is in schemas as its parameter with a number.
template <class Function, std::size_t Number, class Wanted>
constexpr bool takes = [] {
  using own = parts<typename plain<Function>::type>;
  if constexpr (Number < own::count) {
    return may_be<typename std::tuple_element_t<Number, typename own::parameters>::type, Wanted>;
  }
  return true;
}();

template <class Returned, class Wanted>
constexpr bool are_results = std::is_void_v<Returned> == std::is_void_v<Wanted> && may_be<Returned, Wanted>;
template <class... Returned, class... Wanted>
constexpr bool are_results<std::tuple<Returned...>, std::tuple<Wanted...>> = [] {
  if constexpr (sizeof...(Returned) == sizeof...(Wanted)) {
    return (may_be<Returned, Wanted> && ...);
  }
  return false;
}();
template <class... Returned, class Wanted>
constexpr bool are_results<std::tuple<Returned...>, Wanted> = false;
template <class Returned, class... Wanted>
constexpr bool are_results<Returned, std::tuple<Wanted...>> = false;

// Whether a function gives the wanted results.
template <class Function, class Wanted>
constexpr bool gives =
    are_results<held_t<typename parts<typename plain<Function>::type>::result>, std::decay_t<Wanted>>;

} // namespace own
} // namespace opwright
