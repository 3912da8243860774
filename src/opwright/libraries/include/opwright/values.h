#pragma once
// Values of tensors: what generated code checks of them where a program asks for it, since that reads memory.

#include <opwright/refusal.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace opwright {

// Whether the environment asks for checks of values: OPWRIGHT_CHECK_VALUES=1, when the first call is checked.
inline bool checks_values() {
  static const bool is_asked = [] {
    const char* const value = std::getenv("OPWRIGHT_CHECK_VALUES");
    return value != nullptr && *value != '\0' && std::string_view(value) != "0";
  }();
  return is_asked;
}

// The elements of a tensor in the order of its dimensions, and how many a row of the last one has.
template <class Value>
struct Elements {
  std::vector<Value> values;
  std::int64_t row = 1;

  // The element at a place, which is counted from the end if it is negative.
  Value at(std::int64_t place, const char* where) const {
    const auto count = static_cast<std::int64_t>(values.size());
    const std::int64_t index = place < 0 ? place + count : place;
    if (index < 0 || index >= count) {
      refuse({where, " cannot be computed: there is no element ", shown(place), " of ", shown(count)});
    }
    return values[static_cast<std::size_t>(index)];
  }

  // Whether no element of a row is smaller than the one before, or each is larger.
  bool is_ascending(bool is_strict) const {
    for (std::size_t index = 0; index + 1 < values.size(); ++index) {
      const bool begins_row = static_cast<std::int64_t>(index + 1) % row == 0;
      const Value& first = values[index];
      const Value& second = values[index + 1];
      if (!begins_row && !(is_strict ? first < second : first <= second)) {
        return false;
      }
    }
    return true;
  }

  // Whether a row has no value twice.
  bool is_distinct() const {
    for (std::size_t start = 0; start < values.size(); start += static_cast<std::size_t>(row)) {
      std::vector<Value> sorted(values.begin() + start, values.begin() + start + row);
      std::sort(sorted.begin(), sorted.end());
      if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
        return false;
      }
    }
    return true;
  }

  bool is_finite() const {
    return std::all_of(values.begin(), values.end(), [](Value value) { return std::isfinite(static_cast<double>(value)); });
  }
};

} // namespace opwright
