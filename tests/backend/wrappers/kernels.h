// What the generated code of acme.yaml needs of its author.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>

#include <string>
#include <vector>

#define ACME_API __attribute__((visibility("default")))

// Notes what is registered, and registers it.
#define ACME_REGISTER(library, name, wrapper) \
  acme::note_registration(name);              \
  library.impl(name, TORCH_FN(wrapper))

namespace acme {

// Notes what happens, for `acme_test::take_calls`.
void note(const std::string& text);
void note_registration(const std::string& name);

bool is_off();
bool is_registered(bool value);
void initialize();

template <class... Tensors>
void enter(const char* name, const char* key, const Tensors&... tensors) {
  note(std::string("enter ") + name + " " + key + " " + std::to_string(sizeof...(tensors)));
}

template <class Call>
decltype(auto) traced(const char* wrapper, Call call) {
  note(std::string("traced ") + wrapper);
  return call();
}

template <class Result>
std::string kind_of(const Result&) {
  return std::is_same_v<Result, at::Tensor> ? "a tensor" : "nothing";
}

// The guard of wrappers: it notes the device that it sets.
struct NotingGuard {
  NotingGuard() = default;
  explicit NotingGuard(std::optional<c10::Device> device) {
    if (device.has_value()) {
      reset_device(*device);
    }
  }
  std::optional<c10::Device> current_device() const {
    return guard.current_device();
  }
  void reset_device(c10::Device device) {
    note("guard " + std::to_string(device.index()));
    guard.reset_device(device);
  }
  c10::OptionalDeviceGuard guard;
};

namespace fast {
at::Tensor& fast_abs_out(const at::Tensor& self, at::Tensor& out);
} // namespace fast

} // namespace acme
