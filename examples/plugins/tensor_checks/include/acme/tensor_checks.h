#pragma once
// The check of tensors, for code that the plug-in tensor_checks makes.

#include <ATen/core/IListRef.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>

#include <optional>

namespace acme {

// Refuses tensors that `is_unsafe` finds, such as those whose memory a failed kernel left undefined.
struct TensorChecks {
  inline static bool enabled = false;
  inline static bool (*is_unsafe)(const at::Tensor&) = nullptr;

  template <class... Tensors>
  static void check(const char* name, const Tensors&... tensors) {
    (check_argument(name, tensors), ...);
  }

 private:
  static void check_argument(const char* name, const at::Tensor& tensor) {
    TORCH_CHECK(!tensor.defined() || !is_unsafe || !is_unsafe(tensor), name, " got an unsafe tensor");
  }

  static void check_argument(const char* name, const std::optional<at::Tensor>& tensor) {
    if (tensor.has_value()) {
      check_argument(name, *tensor);
    }
  }

  // A list of tensors or of optional tensors.
  template <class List>
  static void check_argument(const char* name, const List& tensors) {
    for (const auto& tensor : tensors) {
      check_argument(name, static_cast<std::optional<at::Tensor>>(tensor));
    }
  }
};

} // namespace acme
