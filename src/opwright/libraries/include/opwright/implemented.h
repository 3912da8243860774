#pragma once
// Kernels for operators that another library defines, which may be loaded later, and with other schemas. PyTorch ends
// the process if a registered C++ signature does not fit a schema, so these are boxed, and compare schemas themselves.

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>
#include <torch/library.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

namespace opwright {

// A kernel for the schema that its library was built with. The first call compares it with the one of the process.
class Implementation final : public c10::OperatorKernel {
 public:
  Implementation(const char* library, const char* schema, c10::KernelFunction kernel)
      : library_(library), schema_(schema), kernel_(std::move(kernel)) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    if (!fits_.load(std::memory_order_acquire)) {
      expect_schema(op.schema());
    }
    kernel_.callBoxed(op, keys, stack);
  }

 private:
  C10_NOINLINE void expect_schema(const c10::FunctionSchema& schema) {
    TORCH_CHECK(
        schema == torch::jit::parseSchema(schema_),
        "`", library_, "` was built for `", schema_, "`, and this process has `", schema,
        "`: install the version that defines the former, or build `", library_, "` for the latter");
    fits_.store(true, std::memory_order_release);
  }

  const char* library_;
  const char* schema_;
  c10::KernelFunction kernel_;
  std::atomic<bool> fits_{false};
};

// The kernel for `m.impl`.
template <class Result, class... Parameters>
torch::CppFunction implementation(const char* library, const char* schema, Result (*kernel)(Parameters...)) {
  return torch::CppFunction::makeFromBoxedKernel(c10::BoxedKernel::makeFromFunctor(std::make_unique<Implementation>(
      library, schema, c10::KernelFunction::makeFromUnboxedRuntimeFunction(kernel))));
}

} // namespace opwright
