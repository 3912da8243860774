#pragma once
// What hooks of a backend's wrappers get in place of values that an operator does not have.

namespace opwright {

// The type of the result of an operator that returns nothing.
struct NoResult {};

inline constexpr NoResult no_result{};

} // namespace opwright
