// What refused calls are told, without anything of PyTorch.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>

// Refuses a call that does not fulfil a condition, with the parts of a message. What makes the message is a function of
// its own: in the way of calls that are taken, its code costs as much as half of the check.
#if defined(__GNUC__) || defined(__clang__)
#define OPWRIGHT_COLD __attribute__((noinline, cold))
#define OPWRIGHT_REQUIRE(condition, ...)                          \
  if (__builtin_expect(!(condition), 0)) [&]() OPWRIGHT_COLD {    \
    ::opwright::refuse({__VA_ARGS__});                            \
  }()
#else
#define OPWRIGHT_COLD
#define OPWRIGHT_REQUIRE(condition, ...) \
  if (!(condition)) ::opwright::refuse({__VA_ARGS__})
#endif

namespace opwright {

// A part of a message: a text that somebody keeps until the message is made, or a short one of its own. It owns no memory,
// since the code that gives up what parts own takes longer to compile than all else of a check.
class Part {
 public:
  OPWRIGHT_COLD Part(const char* text) : text_(text), size_(std::strlen(text)) {}
  OPWRIGHT_COLD Part(const std::string& text) : text_(text.data()), size_(text.size()) {}

  template <class Number>
  OPWRIGHT_COLD Part(const char* format, Number number)
      : size_(static_cast<std::size_t>(std::snprintf(own_, sizeof(own_), format, number))) {}

  std::string_view text() const {
    return {text_ == nullptr ? own_ : text_, size_};
  }

 private:
  const char* text_ = nullptr;
  std::size_t size_;
  char own_[32];
};

inline std::string joined(std::initializer_list<Part> parts) {
  std::string message;
  for (const Part& part : parts) {
    message += part.text();
  }
  return message;
}

// Whether the dtype with this code is one of those whose bits are set.
inline constexpr bool is_one_of(int code, std::uint64_t codes) {
  return code >= 0 && code < 64 && ((codes >> code) & 1) != 0;
}

// The name of a dtype in `torch`, by its code.
inline const char* dtype_name(int code) {
  static const char* const names[] = {
      "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32", "complex64",
      "complex128", "bool", "qint8", "quint8", "qint32", "bfloat16", "quint4x2", "quint2x4", "bits1x8", "bits2x4",
      "bits4x2", "bits8", "bits16", "float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz", "uint16",
      "uint32", "uint64", "uint1", "uint2", "uint3", "uint4", "uint5", "uint6", "uint7", "int1", "int2", "int3",
      "int4", "int5", "int6", "int7", "float8_e8m0fnu", "float4_e2m1fn_x2"};
  return code >= 0 && code < static_cast<int>(sizeof(names) / sizeof(*names)) ? names[code] : "unknown";
}

inline const char* shown(const char* text) {
  return text;
}

inline std::string shown(std::string_view text) {
  return std::string(text);
}

inline bool is_text_of(std::string_view text, std::initializer_list<std::string_view> texts) {
  for (const std::string_view other : texts) {
    if (text == other) {
      return true;
    }
  }
  return false;
}

inline bool is_power_of_two(std::int64_t number) {
  return number > 0 && (number & (number - 1)) == 0;
}

inline Part shown(std::int64_t number) {
  return {"%lld", static_cast<long long>(number)};
}

inline Part shown(int number) {
  return {"%d", number};
}

inline Part shown(double number) {
  if (number != number) {
    return "nan"; // Whatever its sign is.
  }
  return {"%g", number};
}

// A list as Python shows it, with a function for its items.
template <class List, class Show>
std::string shown_list(const List& list, Show show) {
  std::string text = "[";
  for (const auto& item : list) {
    text += text.size() > 1 ? ", " : "";
    text += Part(show(item)).text();
  }
  return text + "]";
}

} // namespace opwright
