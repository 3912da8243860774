#include "generator.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Tensor.h>

#include <vector>

#include "device.h"

namespace acme {
namespace {

// A generator of a device. This device is the host, so the numbers come from a generator of the host: the same seed
// gives the same numbers as on the CPU.
class Generator final : public c10::GeneratorImpl {
 public:
  Generator(c10::DeviceIndex device, at::Generator host)
      : GeneratorImpl(
            c10::Device(c10::DeviceType::PrivateUse1, device),
            c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
        host_(std::move(host)) {}

  static c10::DeviceType device_type() {
    return c10::DeviceType::PrivateUse1;
  }

  const at::Generator& host() const {
    return host_;
  }

  void set_current_seed(uint64_t seed) override {
    host_.set_current_seed(seed);
  }
  uint64_t current_seed() const override {
    return host_.current_seed();
  }
  uint64_t seed() override {
    return host_.seed();
  }
  void set_offset(uint64_t offset) override {
    host_.set_offset(offset);
  }
  uint64_t get_offset() const override {
    return host_.get_offset();
  }
  void set_state(const c10::TensorImpl& state) override {
    host_.unsafeGetGeneratorImpl()->set_state(state);
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    return host_.unsafeGetGeneratorImpl()->get_state();
  }

 private:
  Generator* clone_impl() const override {
    return new Generator(device_.index(), host_.clone());
  }

  at::Generator host_;
};

}  // namespace

const at::Generator& default_generator(c10::DeviceIndex device) {
  static const auto* const generators = [] {
    auto* made = new std::vector<at::Generator>();
    for (c10::DeviceIndex index = 0; index < DEVICE_COUNT; ++index) {
      made->push_back(new_generator(index));
    }
    return made;
  }();
  const auto index = device < 0 ? current_device() : device;
  check_device(index);
  return (*generators)[static_cast<size_t>(index)];
}

at::Generator new_generator(c10::DeviceIndex device) {
  const auto index = device < 0 ? current_device() : device;
  check_device(index);
  return at::make_generator<Generator>(index, at::detail::createCPUGenerator());
}

at::Generator host_generator(const std::optional<at::Generator>& generator) {
  return at::get_generator_or_default<Generator>(generator, default_generator(-1))->host();
}

}  // namespace acme
