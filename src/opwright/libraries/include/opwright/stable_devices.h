// The device of a call with nothing but PyTorch's stable C++ API: the kernels of a device run while it is current.
#pragma once

#include <opwright/stable_requirements.h>
#include <torch/csrc/stable/accelerator.h>

#include <cstdint>
#include <optional>
#include <utility>

namespace opwright {

// The device of the tensors among the arguments of a call. With `is_checked`, all have to be on it.
class CallDevice {
 public:
  CallDevice(const char* op, bool is_checked) : op_(op), is_checked_(is_checked) {}

  void add(const char* name, const torch::stable::Tensor& tensor) {
    if (tensor.defined()) {
      add(name, facts(tensor).device());
    }
  }

  void add(const char* name, const TakenTensor& tensor) {
    if (tensor.defined()) {
      add(name, facts(tensor).device());
    }
  }

  template <class Value>
  void add(const char* name, const std::optional<Value>& value) {
    if (value.has_value()) {
      add(name, *value);
    }
  }

  template <class Tensors>
  void add(const char* name, const Tensors& tensors) {
    for (const auto& tensor : tensors) {
      add(name, tensor);
    }
  }

  // Makes the device the current one for a scope, unless it is the CPU.
  std::optional<torch::stable::accelerator::DeviceGuard> guard() const {
    using Guard = std::optional<torch::stable::accelerator::DeviceGuard>;
    return index_ < 0 ? Guard() : Guard(std::in_place, index_);
  }

 private:
  void add(const char* name, const DeviceFacts& device) {
    if (!first_.has_value()) {
      first_ = device;
      name_ = name;
    } else if (is_checked_ && !(device == *first_)) {
      refuse(
          {op_, ": `", name, "` is on ", shown(device), ", and has to be on ", shown(*first_), " (the device of `",
           name_, "`)"});
    }
    if (index_ < 0) {
      index_ = device.index;
    }
  }

  const char* op_;
  bool is_checked_;
  std::optional<DeviceFacts> first_;
  const char* name_ = "";
  std::int32_t index_ = -1;
};

} // namespace opwright
