#include "device.h"

#include <c10/core/Stream.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <array>
#include <atomic>
#include <chrono>

namespace acme {
namespace {

using Clock = std::chrono::steady_clock;

// Work on a stream is done when the call that starts it returns, so that streams need no queue: they are numbers, and
// an event is the time at which it was recorded.
using Event = Clock::time_point;

thread_local c10::DeviceIndex device_of_thread = 0;
thread_local std::array<c10::StreamId, DEVICE_COUNT> stream_of_thread{};
std::atomic<c10::StreamId> stream_count{0};

c10::StreamId& stream_id(c10::Device device) {
  check_device(device.index());
  return stream_of_thread[static_cast<size_t>(device.index())];
}

// What PyTorch calls to change the device and the stream, and to wait for them.
class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override {
    return c10::DeviceType::PrivateUse1;
  }

  c10::DeviceIndex deviceCount() const noexcept override {
    return DEVICE_COUNT;
  }

  // Tensors can have every type, which is what PyTorch assumes.
  c10::DeviceCapability getDeviceCapability(c10::Device device) const override {
    check_device(device.index());
    return {};
  }

  c10::Device getDevice() const override {
    return {type(), current_device()};
  }

  void setDevice(c10::Device device) const override {
    set_current_device(device.index());
  }

  void uncheckedSetDevice(c10::Device device) const noexcept override {
    device_of_thread = device.index();
  }

  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device previous = getDevice();
    setDevice(device);
    return previous;
  }

  c10::Stream getStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::UNSAFE, resolved(device), stream_id(resolved(device)));
  }

  c10::Stream getDefaultStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::DEFAULT, resolved(device));
  }

  c10::Stream getNewStream(c10::Device device, int /*priority*/) const override {
    return c10::Stream(c10::Stream::UNSAFE, resolved(device), ++stream_count);
  }

  c10::Stream getStreamFromGlobalPool(c10::Device device, bool /*high_priority*/) const override {
    return getNewStream(device, 0);
  }

  c10::Stream exchangeStream(c10::Stream stream) const override {
    const c10::Stream previous = getStream(stream.device());
    stream_id(stream.device()) = stream.id();
    return previous;
  }

  bool queryStream(const c10::Stream& /*stream*/) const override {
    return true;
  }
  void synchronizeStream(const c10::Stream& /*stream*/) const override {}
  void synchronizeDevice(c10::DeviceIndex device) const override {
    check_device(device);
  }

  void record(
      void** event,
      const c10::Stream& /*stream*/,
      const c10::DeviceIndex /*device*/,
      const c10::EventFlag /*flag*/) const override {
    if (*event == nullptr) {
      *event = new Event();
    }
    *static_cast<Event*>(*event) = Clock::now();
  }

  void block(void* /*event*/, const c10::Stream& /*stream*/) const override {}
  bool queryEvent(void* /*event*/) const override {
    return true;
  }
  void synchronizeEvent(void* /*event*/) const override {}
  void destroyEvent(void* event, const c10::DeviceIndex /*device*/) const noexcept override {
    delete static_cast<Event*>(event);
  }

  double elapsedTime(void* start, void* end, const c10::DeviceIndex /*device*/) const override {
    TORCH_CHECK(start != nullptr && end != nullptr, "Both events must be recorded before the time between them");
    const auto time = *static_cast<Event*>(end) - *static_cast<Event*>(start);
    return std::chrono::duration<double, std::milli>(time).count();
  }

 private:
  // A device without an index is the current one.
  c10::Device resolved(c10::Device device) const {
    return device.has_index() ? device : getDevice();
  }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

}  // namespace

void check_device(c10::DeviceIndex device) {
  TORCH_CHECK(
      device >= 0 && device < DEVICE_COUNT, "acme has no device ", int{device}, ", but devices 0 to ",
      int{DEVICE_COUNT} - 1);
}

c10::DeviceIndex current_device() noexcept {
  return device_of_thread;
}

void set_current_device(c10::DeviceIndex device) {
  check_device(device);
  device_of_thread = device;
}

}  // namespace acme
