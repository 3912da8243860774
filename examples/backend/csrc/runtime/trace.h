#pragma once
// What profilers show of the device.

#include <ATen/record_function.h>

namespace acme {

// Shows a scope in the traces of profilers. It costs nothing while no profiler runs.
class TraceRange {
 public:
  explicit TraceRange(const char* name) : range_(at::RecordScope::USER_SCOPE) {
    if (range_.isActive()) {
      range_.before(name);
    }
  }

 private:
  at::RecordFunction range_;
};

}  // namespace acme
