#pragma once
// What profilers show of the device.

#include <ATen/record_function.h>

#include <chrono>

namespace acme {

// Shows a scope in the traces of profilers: on the thread that runs it, and as work of the device if they are asked for
// that. It costs next to nothing while no profiler runs.
class TraceRange {
 public:
  explicit TraceRange(const char* name);
  ~TraceRange();
  TraceRange(const TraceRange&) = delete;
  TraceRange& operator=(const TraceRange&) = delete;

 private:
  at::RecordFunction range_;
  const char* name_;
  std::chrono::system_clock::time_point start_;
};

}  // namespace acme
