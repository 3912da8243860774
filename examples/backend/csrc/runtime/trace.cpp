// Times of the device, for `torch.autograd.profiler.profile(use_device="acme")`.

#include <torch/csrc/profiler/stubs/base.h>

#include <chrono>

#include "device.h"

namespace acme {
namespace {

using Clock = std::chrono::steady_clock;
using torch::profiler::impl::ProfilerVoidEventStub;

class Stubs final : public torch::profiler::impl::ProfilerStubs {
 public:
  void record(c10::DeviceIndex* device, ProfilerVoidEventStub* event, int64_t* time) const override {
    if (device != nullptr) {
      *device = current_device();
    }
    const auto now = Clock::now();
    *event = std::make_shared<Clock::time_point>(now);
    if (time != nullptr) {
      *time = std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count();
    }
  }

  float elapsed(const ProfilerVoidEventStub* start, const ProfilerVoidEventStub* end) const override {
    const auto time = *static_cast<Clock::time_point*>(end->get()) - *static_cast<Clock::time_point*>(start->get());
    return std::chrono::duration<float, std::micro>(time).count();
  }

  bool enabled() const override {
    return true;
  }
  void onEachDevice(std::function<void(int)> function) const override {
    for (int device = 0; device < DEVICE_COUNT; ++device) {
      function(device);
    }
  }
  void mark(const char* /*name*/) const override {}
  void rangePush(const char* /*name*/) const override {}
  void rangePop() const override {}
  void synchronize() const override {}
};

[[maybe_unused]] const bool is_registered = [] {
  torch::profiler::impl::registerPrivateUse1Methods(new Stubs());
  return true;
}();

}  // namespace
}  // namespace acme
