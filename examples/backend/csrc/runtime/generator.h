#pragma once
// Random numbers: each device has a generator, and programs can make more of them.

#include <ATen/core/Generator.h>

#include <optional>

namespace acme {

// The generator that a device uses if a program names none. -1 is the current device.
const at::Generator& default_generator(c10::DeviceIndex device);

at::Generator new_generator(c10::DeviceIndex device);

// The host's generator from which the numbers of a device's generator come.
at::Generator host_generator(const std::optional<at::Generator>& generator);

}  // namespace acme
