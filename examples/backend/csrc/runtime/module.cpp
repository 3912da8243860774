// What the Python module of the device calls, as operators, so that it needs no Python binding.

#include <torch/library.h>

#include "device.h"
#include "generator.h"

TORCH_LIBRARY_FRAGMENT(acme, m) {
  m.def("_device_count", [] { return int64_t{acme::DEVICE_COUNT}; });
  m.def("_default_generator", [](int64_t device) {
    return acme::default_generator(static_cast<c10::DeviceIndex>(device));
  });
}
