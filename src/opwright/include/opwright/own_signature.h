#pragma once
// Registers kernels whose C++ signatures are not those that follow from their schemas, such as functions that take
// tensors by value. PyTorch wants one C++ signature for all unboxed kernels of an operator, so these are boxed.

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/boxing/impl/make_boxed_from_unboxed_functor.h>
#include <torch/library.h>

#include <type_traits>

namespace opwright {

// The type of a function without `noexcept`, which c10 knows no functions with.
template <class Function>
struct plain {
  using type = Function;
};
template <class Result, class... Arguments>
struct plain<Result(Arguments...) noexcept> {
  using type = Result(Arguments...);
};

// Takes the arguments of a kernel from the stack, and leaves its results there.
template <auto Kernel>
void call_boxed(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  using function = typename plain<std::remove_pointer_t<decltype(Kernel)>>::type;
  using pointer = c10::CompileTimeFunctionPointer<function, Kernel>;
  using functor = typename c10::impl::WrapFunctionIntoFunctor<pointer>::type;
  functor kernel;
  c10::impl::make_boxed_from_unboxed_functor<functor, false>::call(&kernel, op, keys, stack);
}

// The same after a check of the arguments on the stack.
template <auto Kernel, void (*Check)(const torch::jit::Stack&)>
void check_and_call_boxed(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  Check(*stack);
  call_boxed<Kernel>(op, keys, stack);
}

// The kernel for `m.impl`.
template <auto Kernel>
torch::CppFunction own_signature() {
  return torch::CppFunction::makeFromBoxedFunction<&call_boxed<Kernel>>();
}

template <auto Kernel, void (*Check)(const torch::jit::Stack&)>
torch::CppFunction checked_own_signature() {
  return torch::CppFunction::makeFromBoxedFunction<&check_and_call_boxed<Kernel, Check>>();
}

} // namespace opwright
