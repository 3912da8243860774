// Checks of kernel launches, for builds with OPWRIGHT_CHECK_LAUNCHES. CUDA tells of a launch that fails only those who
// ask, so without the check of its author's, the error of one operator is raised by the next one that asks.
#pragma once

#ifdef OPWRIGHT_CHECK_LAUNCHES

#ifdef USE_ROCM
#include <hip/hip_runtime_api.h>
#define OPWRIGHT_RUNTIME(name) hip##name
#else
#include <cuda_runtime_api.h>
#define OPWRIGHT_RUNTIME(name) cuda##name
#endif

#include <exception>
#include <stdexcept>
#include <string>

namespace opwright {

// Raises what went wrong with a launch before or in a scope. Its destructor does, as it runs when the kernel is done,
// whatever this returns.
class LaunchScope {
 public:
  explicit LaunchScope(const char* op) : op_(op) {
    check("the launch of an earlier kernel failed");
  }

  LaunchScope(const LaunchScope&) = delete;
  LaunchScope& operator=(const LaunchScope&) = delete;

  ~LaunchScope() noexcept(false) {
    // Two errors at once would end the process.
    if (std::uncaught_exceptions() == exceptions_) {
      check("the launch of its kernel failed");
    }
  }

 private:
  void check(const char* what) const {
    const auto error = OPWRIGHT_RUNTIME(GetLastError)();
    if (error != OPWRIGHT_RUNTIME(Success)) {
      throw std::runtime_error(
          std::string(op_) + ": " + what + ": " + OPWRIGHT_RUNTIME(GetErrorString)(error) + " (" +
          OPWRIGHT_RUNTIME(GetErrorName)(error) + ")");
    }
  }

  const char* op_;
  int exceptions_ = std::uncaught_exceptions();
};

} // namespace opwright

#undef OPWRIGHT_RUNTIME
#define OPWRIGHT_LAUNCHES(op) const ::opwright::LaunchScope opwright_launches(op)

#else
#define OPWRIGHT_LAUNCHES(op) static_cast<void>(0)
#endif
