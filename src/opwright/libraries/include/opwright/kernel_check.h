#pragma once
// Compares the kernels of an operator library with the schemas of their operators.
//
// A kernel that is missing or has another type is one error of the compiler: the use of a deleted constructor, whose
// parameters are the operator, the type that its schema expects, and what is found. All other code refers to the kernel
// by an object of the expected type, so nothing else fails.

#include <type_traits>

namespace opwright {

// A function that has the name of a kernel.
template <class Type>
struct found_kernel {
  Type* pointer;
};

// What is found in place of a kernel that no included header declares.
struct no_kernel {};

// What is found in place of a kernel if overloads have its name, none of the type that is needed.
struct overloads_of_other_types {};

// The kernel of an operator.
template <class Operator, class Expected>
struct kernel_of {
  Expected* pointer;

  constexpr kernel_of(found_kernel<Expected> found) : pointer(found.pointer) {}

  template <class Found>
  constexpr kernel_of(Found) = delete; // `Found` is not what the schema of the operator expects.

  constexpr operator Expected*() const {
    return pointer;
  }
};

namespace detail {

// What the name of a kernel means if it is not a function of the needed type. The first parameter of each template
// delays the choice until the other one is known.
template <class, class Type>
found_kernel<Type> other_kernel(Type*);

template <class>
no_kernel other_kernel(const no_kernel*);

} // namespace detail
} // namespace opwright

// Defines NAME as the kernel of an operator, a function of the type that follows. Other overloads of it may exist.
#define OPWRIGHT_KERNEL(NAME, KERNEL, OPERATOR, ...)                                                      \
  struct NAME##_lookup {                                                                                  \
    template <class Type>                                                                                 \
    static constexpr auto find(int)                                                                       \
        -> ::opwright::found_kernel<std::remove_pointer_t<decltype(static_cast<Type*>(&KERNEL))>> {       \
      return {&KERNEL};                                                                                   \
    }                                                                                                     \
    template <class Type>                                                                                 \
    static constexpr auto find(long) -> decltype(::opwright::detail::other_kernel<Type>(&KERNEL)) {       \
      return {};                                                                                          \
    }                                                                                                     \
    template <class Type>                                                                                 \
    static constexpr ::opwright::overloads_of_other_types find(...) {                                     \
      return {};                                                                                          \
    }                                                                                                     \
  };                                                                                                      \
  [[maybe_unused]] constexpr ::opwright::kernel_of<OPERATOR, __VA_ARGS__> NAME(NAME##_lookup::find<__VA_ARGS__>(0))
