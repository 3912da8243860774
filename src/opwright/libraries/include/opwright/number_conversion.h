#pragma once
// Numbers that the dispatcher passes, as kernels take them: `int64_t` as `int`, `double` as `float`, also in lists,
// tuples and optionals. A number that the type cannot hold is an error of the call.

#include <cmath>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace opwright::detail {

template <class Type>
constexpr bool is_integer = std::is_integral_v<Type> && !std::is_same_v<Type, bool>;

// An argument or a result in messages, counted from zero.
struct place {
  const char* what;
  std::size_t number;
};

// The conversion of a value from one type to another: of numbers, also in lists, tuples and optionals.
template <class From, class To>
struct conversion {
  static constexpr bool exists = std::is_same_v<From, To> || (is_integer<From> && is_integer<To>) ||
      (std::is_floating_point_v<From> && std::is_floating_point_v<To>);

  static To convert(From value, place where) {
    if constexpr (std::is_same_v<From, To>) {
      return value;
    } else {
      const To converted = static_cast<To>(value);
      bool is_held = false;
      if constexpr (is_integer<To>) {
        is_held = static_cast<From>(converted) == value && (converted < To{}) == (value < From{});
      } else {
        is_held = std::isinf(value) || !std::isinf(converted);
      }
      if (!is_held) {
        throw std::runtime_error(
            std::string(where.what) + " " + std::to_string(where.number + 1) + " is " + std::to_string(value) +
            ", out of the range of the kernel's type");
      }
      return converted;
    }
  }
};
template <class From, class To>
struct conversion<std::optional<From>, std::optional<To>> {
  static constexpr bool exists = conversion<From, To>::exists;

  static std::optional<To> convert(std::optional<From> value, place where) {
    return value.has_value() ? std::optional<To>(conversion<From, To>::convert(std::move(*value), where)) : std::nullopt;
  }
};
template <class From, class To>
struct conversion<std::vector<From>, std::vector<To>> {
  static constexpr bool exists = conversion<From, To>::exists;

  static std::vector<To> convert(std::vector<From> values, place where) {
    if constexpr (std::is_same_v<From, To>) {
      return values;
    } else {
      std::vector<To> converted;
      converted.reserve(values.size());
      for (auto& value : values) {
        converted.push_back(conversion<From, To>::convert(std::move(value), where));
      }
      return converted;
    }
  }
};
template <class... From, class... To>
struct conversion<std::tuple<From...>, std::tuple<To...>> {
  static constexpr bool exists = (conversion<From, To>::exists && ...);

  static std::tuple<To...> convert(std::tuple<From...> values, place where) {
    return std::apply(
        [&](auto&... value) { return std::tuple<To...>(conversion<From, To>::convert(std::move(value), where)...); },
        values);
  }
};

} // namespace opwright::detail
