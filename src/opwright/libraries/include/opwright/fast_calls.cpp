// Calls of a library with PyTorch's stable API that record no gradient go past the Python that records gradients.
//
// The stable API has no function that tells whether a tensor requires a gradient, nor one that goes on below a dispatch
// key. This file uses the native API for both. It becomes a shared object of its own, which serves the release that
// compiled it alone; under others, the generated module `_autograd.py` does without it.

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/GradMode.h>
#include <torch/library.h>
#include <torch/version.h>

#include <memory>
#include <utility>
#include <vector>

namespace {

// The devices for which libraries have kernels. The others have the kernel in Python.
constexpr c10::DispatchKey keys[] = {
    c10::DispatchKey::AutogradCPU,
    c10::DispatchKey::AutogradCUDA,
    c10::DispatchKey::AutogradXPU,
    c10::DispatchKey::AutogradMPS,
    c10::DispatchKey::AutogradPrivateUse1,
};

bool records(const c10::IValue& value) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    return tensor.defined() &&
        ((c10::GradMode::is_enabled() && tensor.requires_grad()) || tensor._fw_grad(/*level=*/0).defined());
  }
  if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) {
      if (records(item)) {
        return true;
      }
      if (!item.isTensor() && !item.isList() && !item.isNone()) {
        return false;
      }
    }
  }
  return false;
}

// Counts the versions of tensors that an operator writes to; those of inference mode have none.
void change(const c10::IValue& value) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (tensor.defined() && !tensor.is_inference()) {
      tensor.unsafeGetTensorImpl()->bump_version();
    }
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) {
      change(item);
    }
  }
}

void call(const c10::OperatorHandle& op, c10::DispatchKeySet keyset, torch::jit::Stack* stack) {
  const auto& parameters = op.schema().arguments();
  const auto arguments = torch::jit::last(*stack, parameters.size());
  for (const c10::IValue& argument : arguments) {
    if (records(argument)) {
      // The kernel in Python is that of all keys for autograd. `keys` hide it, but not for this one. Keys above those
      // for autograd may be in the set, of the dispatcher in Python for example, which would call this again.
      op.redispatchBoxed((keyset & c10::after_autograd_keyset).add(c10::DispatchKey::AutogradOther), stack);
      return;
    }
  }
  for (size_t place = 0; place < parameters.size(); ++place) {
    const c10::AliasInfo* const alias = parameters[place].alias_info();
    if (alias != nullptr && alias->isWrite()) {
      change(arguments[place]);
    }
  }
  at::AutoDispatchBelowADInplaceOrView guard;
  op.redispatchBoxed(keyset & c10::after_ADInplaceOrView_keyset, stack);
}

// Returns some results of another operator, which records the gradient.
class Part : public c10::OperatorKernel {
 public:
  Part(c10::OperatorHandle whole, std::vector<size_t> kept) : whole_(std::move(whole)), kept_(std::move(kept)) {}

  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack) {
    whole_.callBoxed(stack);
    auto results = torch::jit::pop(*stack, whole_.schema().returns().size());
    for (size_t place : kept_) {
      stack->push_back(std::move(results[place]));
    }
  }

 private:
  c10::OperatorHandle whole_;
  std::vector<size_t> kept_;
};

template <typename MakeKernel>
void add_kernels(const char* name_space, const char* op, MakeKernel make_kernel) {
  for (c10::DispatchKey key : keys) {
    // Kernels are there as long as their `Library`, and operators stay until the process ends.
    auto* library = new torch::Library(torch::Library::IMPL, name_space, key, __FILE__, __LINE__);
    library->impl(op, make_kernel());
  }
}

} // namespace

#define OPWRIGHT_EXPORT extern "C" __attribute__((visibility("default")))

OPWRIGHT_EXPORT const char* opwright_release() {
  return TORCH_VERSION;
}

// For an operator whose kernel in Python counts versions and goes on if no gradient is recorded.
OPWRIGHT_EXPORT void opwright_register(const char* name_space, const char* op) {
  add_kernels(name_space, op, [] { return torch::CppFunction::makeFromBoxedFunction<&call>(); });
}

// For an operator that returns the results of `whole` at the places in `kept`.
OPWRIGHT_EXPORT void opwright_register_part(
    const char* name_space,
    const char* op,
    const char* whole,
    const char* overload,
    const char* kept,
    size_t count) {
  const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(whole, overload);
  add_kernels(name_space, op, [&] {
    auto part = std::make_unique<Part>(handle, std::vector<size_t>(kept, kept + count));
    return torch::CppFunction::makeFromBoxedFunctor(std::move(part));
  });
}
