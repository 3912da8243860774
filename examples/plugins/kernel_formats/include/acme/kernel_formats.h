#pragma once
// What decides which library of kernels serves an operator, for code that the plug-in kernel_formats makes.

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>

#include <optional>
#include <set>
#include <string>

namespace acme {

struct KernelFormats {
  inline static bool jit_mode = true;
  // The operators that run without JIT mode whatever the mode is.
  inline static std::set<std::string> forced;
  inline static bool (*has_internal_format)(const at::Tensor&) = nullptr;
};

inline bool runs_without_jit(const char* name) {
  return !KernelFormats::jit_mode || KernelFormats::forced.count(name) > 0;
}

inline bool is_base_format(const at::Tensor& tensor) {
  const auto test = KernelFormats::has_internal_format;
  return !tensor.defined() || test == nullptr || !test(tensor);
}

inline bool is_base_format(const std::optional<at::Tensor>& tensor) {
  return !tensor.has_value() || is_base_format(*tensor);
}

// Of a list of tensors or of optional tensors.
template <class List>
bool is_base_format(const List& tensors) {
  for (const auto& tensor : tensors) {
    if (!is_base_format(static_cast<std::optional<at::Tensor>>(tensor))) {
      return false;
    }
  }
  return true;
}

} // namespace acme
