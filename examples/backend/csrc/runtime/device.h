#pragma once
// The devices: how many there are, and which one is current.

#include <c10/core/Device.h>

namespace acme {

constexpr c10::DeviceIndex DEVICE_COUNT = 2;

// Raises an error for an index that no device has.
void check_device(c10::DeviceIndex device);

// The current device of a thread, which gets memory and work that name no device.
c10::DeviceIndex current_device() noexcept;
void set_current_device(c10::DeviceIndex device);

// Makes a device current for a scope.
class DeviceScope {
 public:
  explicit DeviceScope(c10::DeviceIndex device) : previous_(current_device()) {
    set_current_device(device);
  }
  ~DeviceScope() {
    set_current_device(previous_);
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  c10::DeviceIndex previous_;
};

}  // namespace acme
