// What the backend registers itself: what runs on the CPU, and what the Python module of the device calls.

#include <ATen/native/CPUFallback.h>

#include "runtime/device.h"
#include "runtime/generator.h"

namespace acme {
namespace {

// Copies the arguments to the CPU, and the results back. A view of such a copy would not share memory with the tensor
// that it views, so views are errors. Random numbers come from the generator of the device.
void compute_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& arguments = op.schema().arguments();
  for (size_t index = 0; index < arguments.size(); ++index) {
    const auto type = arguments[index].type();
    const auto* const optional = type->castRaw<c10::OptionalType>();
    if ((optional != nullptr ? optional->getElementType() : type)->kind() == c10::TypeKind::GeneratorType) {
      auto& value = torch::jit::peek(*stack, index, arguments.size());
      value = host_generator(value.toOptional<at::Generator>());
    }
  }
  at::native::cpu_fallback(op, stack, /*error_on_views=*/true);
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&compute_on_cpu>());
}

// PyTorch would resolve a tensor that is conjugated or negated lazily before it copies it, which takes a copy, which
// would never end. The kernel copies such tensors itself.
TORCH_LIBRARY_IMPL(aten, Conjugate, m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(aten, Negative, m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}

// Operators take the place of a Python binding.
TORCH_LIBRARY_FRAGMENT(acme, m) {
  m.def("_device_count", [] { return int64_t{DEVICE_COUNT}; });
  m.def("_default_generator", [](int64_t device) { return default_generator(static_cast<c10::DeviceIndex>(device)); });
}

}  // namespace
}  // namespace acme
