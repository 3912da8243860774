// The arithmetic of conditions and sizes: integers as in Python, of which those with more than 64 bits are refused. The
// functions get what is computed, for the message: the operator, and the condition or the size.
#pragma once

#include <opwright/refusal.h>

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <type_traits>

namespace opwright {

// Raises with a message.
[[noreturn]] void refuse(std::initializer_list<Part> parts);

[[noreturn]] OPWRIGHT_COLD inline void fail(const char* where, std::initializer_list<Part> parts) {
  refuse({where, " cannot be computed: ", joined(parts)});
}

[[noreturn]] OPWRIGHT_COLD inline void fail_range(
    const char* where, std::int64_t left, const char* sign, std::int64_t right) {
  fail(where, {shown(left), sign, shown(right), " has more than 64 bits"});
}

[[noreturn]] OPWRIGHT_COLD inline void fail_index(const char* where, std::int64_t index, std::int64_t count) {
  fail(where, {"index ", shown(index), " is out of range for a list of ", shown(count)});
}

[[noreturn]] OPWRIGHT_COLD inline void fail_dimension(const char* where, std::int64_t dim, std::int64_t rank) {
  fail(where, {"dimension ", shown(dim), " is out of range for a tensor of rank ", shown(rank)});
}

// The place of an item of a list, or of a dimension of a tensor, which may be counted from the end.
inline std::int64_t checked_index(std::int64_t index, std::int64_t count, const char* where) {
  const std::int64_t place = index < 0 ? index + count : index;
  if (place < 0 || place >= count) {
    fail_index(where, index, count);
  }
  return place;
}

inline std::int64_t checked_dimension(std::int64_t dim, std::int64_t rank, const char* where) {
  const std::int64_t place = dim < 0 ? dim + rank : dim;
  if (place < 0 || place >= rank) {
    fail_dimension(where, dim, rank);
  }
  return place;
}

inline std::int64_t checked_add(std::int64_t left, std::int64_t right, const char* where) {
  if (right < 0 ? left < INT64_MIN - right : left > INT64_MAX - right) {
    fail_range(where, left, " + ", right);
  }
  return left + right;
}

inline std::int64_t checked_subtract(std::int64_t left, std::int64_t right, const char* where) {
  if (right < 0 ? left > INT64_MAX + right : left < INT64_MIN + right) {
    fail_range(where, left, " - ", right);
  }
  return left - right;
}

inline bool product_overflows(std::int64_t left, std::int64_t right) {
  if (left == 0 || right == 0 || left == 1 || right == 1) {
    return false;
  }
  if (left == -1 || right == -1) {
    return left == INT64_MIN || right == INT64_MIN;
  }
  return left > 0 ? (right > 0 ? left > INT64_MAX / right : right < INT64_MIN / left)
                  : (right > 0 ? left < INT64_MIN / right : left < INT64_MAX / right);
}

inline std::int64_t checked_multiply(std::int64_t left, std::int64_t right, const char* where) {
#if defined(__GNUC__) || defined(__clang__)
  std::int64_t product = 0;
  if (__builtin_mul_overflow(left, right, &product)) {
    fail_range(where, left, " * ", right);
  }
  return product;
#else
  if (product_overflows(left, right)) {
    fail_range(where, left, " * ", right);
  }
  return left * right;
#endif
}

inline std::int64_t checked_negate(std::int64_t number, const char* where) {
  if (number == INT64_MIN) {
    fail(where, {"-(", shown(number), ") has more than 64 bits"});
  }
  return -number;
}

inline void check_divisor(std::int64_t number, const char* sign, std::int64_t by, const char* where) {
  if (by == 0) {
    fail(where, {shown(number), sign, "0 divides by zero"});
  }
}

inline std::int64_t checked_floor_divide(std::int64_t number, std::int64_t by, const char* where) {
  check_divisor(number, " // ", by, where);
  if (by == -1) {
    if (number == INT64_MIN) {
      fail_range(where, number, " // ", by);
    }
    return -number;
  }
  return number / by - (number % by != 0 && (number < 0) != (by < 0) ? 1 : 0);
}

inline std::int64_t checked_modulo(std::int64_t number, std::int64_t by, const char* where) {
  check_divisor(number, " % ", by, where);
  if (by == -1) {
    return 0;
  }
  const std::int64_t rest = number % by;
  return rest != 0 && (rest < 0) != (by < 0) ? rest + by : rest;
}

// How two numbers compare: -1, 0 or 1, and 2 if one is NaN. An integer is not rounded.
inline int compared(std::int64_t left, std::int64_t right) {
  return left < right ? -1 : left > right ? 1 : 0;
}

inline int compared(double left, double right) {
  return left < right ? -1 : left > right ? 1 : left == right ? 0 : 2;
}

inline int compared(std::int64_t left, double right) {
  if (right != right) {
    return 2;
  }
  // The limits are powers of two, which are exact.
  if (right >= 9223372036854775808.0) {
    return -1;
  }
  if (right < -9223372036854775808.0) {
    return 1;
  }
  const auto whole = static_cast<std::int64_t>(right);
  return left != whole ? compared(left, whole) : compared(static_cast<double>(whole), right);
}

// A number of an argument, which is an integer, a floating-point number, or what no condition compares.
struct Numeric {
  enum class Kind { boolean, integer, real, complex, wide };

  Kind kind;
  std::int64_t integer = 0;
  double real = 0;
  double imaginary = 0;

  template <class Integer, std::enable_if_t<std::is_integral_v<Integer>, int> = 0>
  Numeric(Integer number)
      : kind(std::is_same_v<Integer, bool> ? Kind::boolean : Kind::integer), integer(number) {}
  Numeric(double number) : kind(Kind::real), real(number) {}
  Numeric(Kind kind, double real, double imaginary) : kind(kind), real(real), imaginary(imaginary) {}

  bool is_integer() const {
    return kind == Kind::boolean || kind == Kind::integer;
  }
};

inline std::string shown(const Numeric& number) {
  char text[64];
  switch (number.kind) {
    case Numeric::Kind::boolean:
      return number.integer != 0 ? "True" : "False";
    case Numeric::Kind::integer:
      return std::string(shown(number.integer).text());
    case Numeric::Kind::complex:
      std::snprintf(text, sizeof(text), "(%g%+gj)", number.real, number.imaginary);
      return text;
    default:
      return std::string(shown(number.real).text());
  }
}

inline const Numeric& comparable(const Numeric& number, const char* where) {
  if (number.kind == Numeric::Kind::complex) {
    fail(where, {shown(number), " is complex"});
  }
  if (number.kind == Numeric::Kind::wide) {
    fail(where, {"a number has more than 64 bits"});
  }
  return number;
}

inline int compared(const Numeric& left, const Numeric& right, const char* where) {
  comparable(left, where);
  comparable(right, where);
  if (left.is_integer()) {
    return right.is_integer() ? compared(left.integer, right.integer) : compared(left.integer, right.real);
  }
  if (right.is_integer()) {
    const int reversed = compared(right.integer, left.real);
    return reversed == 2 ? 2 : -reversed;
  }
  return compared(left.real, right.real);
}

inline Numeric checked_negate(const Numeric& number, const char* where) {
  comparable(number, where);
  return number.is_integer() ? Numeric(checked_negate(number.integer, where)) : Numeric(-number.real);
}

// What comparisons say of such an order.
inline bool is_equal(int order) {
  return order == 0;
}

inline bool is_unequal(int order) {
  return order != 0;
}

inline bool is_less(int order) {
  return order == -1;
}

inline bool is_less_equal(int order) {
  return order == -1 || order == 0;
}

inline bool is_greater(int order) {
  return order == 1;
}

inline bool is_greater_equal(int order) {
  return order == 1 || order == 0;
}

} // namespace opwright
