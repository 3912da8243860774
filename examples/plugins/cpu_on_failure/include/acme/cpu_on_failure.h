#pragma once
// Kernels of the CPU in place of kernels that fail, for code that the plug-in cpu_on_failure makes.

#include <ATen/native/CPUFallback.h>

#include <cstdlib>

namespace acme {

inline void run_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  at::native::cpu_fallback(op, stack, /*error_on_views=*/true);
}

// Whether failures of kernels run the CPU's instead of reaching the user.
inline bool falls_back() {
  const char* value = std::getenv("ACME_FALL_BACK");
  return value != nullptr && value[0] == '1';
}

// The result of a kernel, or that of the operator on the CPU if the kernel fails.
template <class Operator, bool symint, class Kernel, class... Arguments>
decltype(auto) or_on_cpu(const char* name, const Kernel& kernel, Arguments&&... arguments) {
  if (!falls_back()) {
    return kernel();
  }
  try {
    return kernel();
  } catch (const std::exception& error) {
    TORCH_WARN("`", name, "` runs on the CPU, because its kernel failed: ", error.what());
  }
  if constexpr (symint) {
    return at::native::call_fallback_fn_symint<&run_on_cpu, Operator>::call(std::forward<Arguments>(arguments)...);
  } else {
    return at::native::call_fallback_fn<&run_on_cpu, Operator>::call(std::forward<Arguments>(arguments)...);
  }
}

} // namespace acme
