#pragma once
// Registration of kernels whose calls are traced, for code that the plug-in register_macro makes.

#include <torch/library.h>

#include <algorithm>

namespace acme {

// What sees every call of a kernel, such as a dump of arguments for the comparison with another device.
inline void (*trace)(const char* name) = nullptr;

template <size_t size>
struct OperatorName {
  char text[size];

  constexpr OperatorName(const char (&name)[size]) {
    std::copy_n(name, size, text);
  }
};

template <class Kernel>
struct Traced;

template <class Result, class... Arguments>
struct Traced<Result (*)(Arguments...)> {
  template <OperatorName name, Result (*kernel)(Arguments...)>
  static Result call(Arguments... arguments) {
    if (trace != nullptr) {
      trace(name.text);
    }
    return kernel(std::forward<Arguments>(arguments)...);
  }
};

} // namespace acme

#define ACME_REGISTER(library, name, kernel) \
  library.impl(name, &acme::Traced<decltype(&kernel)>::call<name, &kernel>)
