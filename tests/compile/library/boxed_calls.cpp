// Calls the library's operators with a stack of boxed values, as an interpreter does.
#include <ATen/UnboxingFunctions.h>
#include <torch/library.h>

namespace {

at::Tensor twice(const at::Tensor& self) {
  std::vector<c10::IValue> stack{self};
  at::unboxing::twice(stack);
  return stack.back().toTensor();
}

at::Tensor pad_to(const at::Tensor& self, int64_t length, const std::optional<at::Scalar>& value) {
  std::vector<c10::IValue> stack{self, length, value, c10::IValue()};
  at::unboxing::pad_to(stack);
  return stack.back().toTensor();
}

std::tuple<at::Tensor, at::Tensor> halves(const at::Tensor& self, int64_t at) {
  std::vector<c10::IValue> stack{self, at, c10::IValue()};
  at::unboxing::halves(stack);
  return {stack[0].toTensor(), stack[1].toTensor()};
}

}  // namespace

TORCH_LIBRARY(opwright_boxed, library) {
  library.def("twice", twice);
  library.def("pad_to", pad_to);
  library.def("halves", halves);
}
