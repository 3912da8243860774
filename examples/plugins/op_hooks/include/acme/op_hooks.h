#pragma once
// The functions around operators, and the guard of the profiler, for code that the plug-in op_hooks makes.

#include <ATen/record_function.h>

#include <functional>
#include <string>

namespace acme {

// The functions that run around every operator while hooks are enabled.
struct OpHooks {
  inline static bool enabled = false;
  inline static std::function<void(const char* name, size_t arguments)> on_entry;
  inline static std::function<void(size_t results)> on_exit;

  template <class... Arguments>
  static void before(const char* name, const Arguments&...) {
    if (on_entry) {
      on_entry(name, sizeof...(Arguments));
    }
  }

  template <class... Results>
  static void after(const Results&...) {
    if (on_exit) {
      on_exit(sizeof...(Results));
    }
  }
};

// Shows a kernel in the profiler.
class ProfilerGuard {
 public:
  explicit ProfilerGuard(const char* name) : range_(at::RecordScope::BACKWARD_FUNCTION) {
    if (range_.isActive()) {
      range_.before(std::string("acme ") + name);
    }
  }

 private:
  at::RecordFunction range_;
};

} // namespace acme
