#pragma once
// Registers kernels through PyTorch's stable API whose C++ signatures are not those that follow from their schemas.
//
// The dispatcher passes a value of the type that the schema says, such as a `double`. `TORCH_BOX` reads it as the type
// of the parameter, so a `float` gets four bytes of it. Kernels that are registered here get the value, converted. A
// parameter without a conversion is an error of the compiler; a number that it cannot hold is an error of the call.

#include <opwright/number_conversion.h>
#include <torch/csrc/stable/library.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace opwright {

// Stands for a type of the schema that the stable API lacks: the value is read as the kernel declares it.
struct as_declared {};

// The results that follow from a schema.
template <class... Types>
struct results {};

namespace detail {

// The type that keeps an argument during a call: what owns a list or a text, for types that only refer to them.
template <class Type>
struct kept {
  using type = Type;
};
template <>
struct kept<std::string_view> {
  using type = std::string;
};
template <class Type>
struct kept<std::vector<Type>> {
  using type = std::vector<typename kept<Type>::type>;
};
template <class Type>
struct kept<torch::headeronly::HeaderOnlyArrayRef<Type>> : kept<std::vector<Type>> {};
// A list of `bool` keeps bits, which no reference to an array refers to.
template <>
struct kept<torch::headeronly::HeaderOnlyArrayRef<bool>> {
  using type = torch::headeronly::HeaderOnlyArrayRef<bool>;
};
template <class Type>
struct kept<std::optional<Type>> {
  using type = std::optional<typename kept<Type>::type>;
};
template <class Type>
using kept_t = typename kept<std::remove_cv_t<std::remove_reference_t<Type>>>::type;

template <class To>
struct conversion<as_declared, To> {
  static constexpr bool exists = true;
};
template <class From>
struct conversion<From, as_declared> {
  static constexpr bool exists = true;
};

template <class Type>
struct type_is {
  using type = Type;
};

// The parts of the type of a function.
template <class Function>
struct parts;
template <class Result, class... Parameters>
struct parts<Result(Parameters...)> {
  using result = Result;
  template <std::size_t Number>
  using parameter = typename std::tuple_element_t<Number, std::tuple<type_is<Parameters>...>>::type;
  static constexpr std::size_t count = sizeof...(Parameters);
};
template <class Result, class... Parameters>
struct parts<Result(Parameters...) noexcept> : parts<Result(Parameters...)> {};

// The results of a function.
template <class Result>
struct returned {
  using type = results<Result>;
};
template <>
struct returned<void> {
  using type = results<>;
};
template <class... Types>
struct returned<std::tuple<Types...>> {
  using type = results<Types...>;
};

template <class Returned, class Wanted>
constexpr bool gives = false;
template <class Type>
constexpr bool gives<results<Type>, results<Type>> = true;
template <class... Types, class... Wanted>
constexpr bool gives<results<Types...>, results<Wanted...>> = [] {
  if constexpr (sizeof...(Types) == sizeof...(Wanted)) {
    return (conversion<kept_t<Types>, kept_t<Wanted>>::exists && ...);
  }
  return false;
}();

} // namespace detail

// Whether a function has so many parameters.
template <class Function, std::size_t Count>
constexpr bool has_parameters = detail::parts<Function>::count == Count;

// Whether a function takes a value of the wanted type as its parameter with a number.
template <class Function, std::size_t Number, class Wanted>
constexpr bool takes = [] {
  if constexpr (Number < detail::parts<Function>::count) {
    using parameter = typename detail::parts<Function>::template parameter<Number>;
    return detail::conversion<detail::kept_t<Wanted>, detail::kept_t<parameter>>::exists &&
        std::is_constructible_v<parameter, detail::kept_t<parameter>&>;
  }
  return true;
}();

// Whether a function gives the wanted results.
template <class Function, class Wanted>
constexpr bool gives = detail::gives<typename detail::returned<typename detail::parts<Function>::result>::type, Wanted>;

// A kernel as `m.impl` takes it, with the results and the types of the arguments that follow from the schema.
template <auto Kernel, class Results, class... Wanted>
struct declared_kernel {
  static void boxed(StableIValue* stack, uint64_t, uint64_t) {
    if constexpr (has_parameters<function, sizeof...(Wanted)>) {
      call(stack, std::index_sequence_for<Wanted...>{}, typename detail::returned<result>::type{}, Results{});
    }
  }

 private:
  using function = std::remove_pointer_t<decltype(Kernel)>;
  using result = typename detail::parts<function>::result;
  template <std::size_t Number>
  using parameter = typename detail::parts<function>::template parameter<Number>;

  // All arguments are taken from the stack before one is converted: an error then releases them.
  template <std::size_t... Numbers, class... Returned, class... Given>
  static void call(
      [[maybe_unused]] StableIValue* stack, std::index_sequence<Numbers...>, results<Returned...>, results<Given...>) {
    if constexpr ((takes<function, Numbers, Wanted> && ...) && gives<function, Results>) {
      using torch::stable::detail::to;
      std::tuple<source<Wanted, Numbers>...> sources{to<source<Wanted, Numbers>>(stack[Numbers])...};
      std::tuple<detail::kept_t<parameter<Numbers>>...> values{
          detail::conversion<source<Wanted, Numbers>, detail::kept_t<parameter<Numbers>>>::convert(
              std::move(std::get<Numbers>(sources)), {"argument", Numbers})...};
      if constexpr (sizeof...(Given) == 0) {
        Kernel(static_cast<parameter<Numbers>>(std::get<Numbers>(values))...);
      } else {
        put(stack,
            std::tuple<Returned...>{Kernel(static_cast<parameter<Numbers>>(std::get<Numbers>(values))...)},
            std::index_sequence_for<Given...>{},
            Results{});
      }
    }
  }

  template <class Type, std::size_t Number>
  using source =
      std::conditional_t<std::is_same_v<Type, as_declared>, detail::kept_t<parameter<Number>>, detail::kept_t<Type>>;

  template <class... Returned, std::size_t... Numbers, class... Given>
  static void put(
      StableIValue* stack, std::tuple<Returned...> values, std::index_sequence<Numbers...>, results<Given...>) {
    ((stack[Numbers] = from<Given>(std::get<Numbers>(values), Numbers)), ...);
  }

  template <class Given, class Returned>
  static StableIValue from(Returned& value, std::size_t number) {
    using kept = detail::kept_t<Returned>;
    if constexpr (std::is_same_v<Given, as_declared> || std::is_same_v<kept, detail::kept_t<Given>>) {
      return torch::stable::detail::from<std::remove_cv_t<std::remove_reference_t<Returned>>>(value);
    } else {
      using conversion = detail::conversion<kept, detail::kept_t<Given>>;
      return torch::stable::detail::from(conversion::convert(value, {"result", number}));
    }
  }
};

} // namespace opwright
