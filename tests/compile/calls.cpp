// Calls PyTorch in each way that the generated headers declare; every function of a group has the same result.
#include <ATen/ATen.h>
#include <ATen/CPUFunctions.h>
#include <ATen/NativeFunctions.h>
#include <ATen/Operators.h>
#include <ATen/RedispatchFunctions.h>
#include <torch/csrc/autograd/generated/Functions.h>
#include <torch/csrc/autograd/generated/variable_factories.h>
#include <torch/library.h>

using at::Tensor;

namespace {

// Below autograd, where `redispatch` takes up a call whose keys have been worked out before.
const c10::DispatchKeySet kBelowAutograd = c10::DispatchKeySet(c10::DispatchKey::CPU);

Tensor nothing_like(const Tensor& self) {
  return at::empty({0}, self.options());
}

// a + 2 * b

Tensor add_function(const Tensor& a, const Tensor& b) {
  return at::add(a, b, 2);
}

Tensor add_method(const Tensor& a, const Tensor& b) {
  return a.add(b, 2);
}

Tensor add_in_place(const Tensor& a, const Tensor& b) {
  return a.clone().add_(b, 2);
}

Tensor add_out_first(const Tensor& a, const Tensor& b) {
  auto out = nothing_like(a);
  return at::add_out(out, a, b, 2);
}

Tensor add_out_last(const Tensor& a, const Tensor& b) {
  auto out = nothing_like(a);
  return at::add_outf(a, b, 2, out);
}

Tensor add_operator(const Tensor& a, const Tensor& b) {
  return at::_ops::add_Tensor::call(a, b, 2);
}

Tensor add_operator_out(const Tensor& a, const Tensor& b) {
  auto out = nothing_like(a);
  return at::_ops::add_out::call(a, b, 2, out);
}

Tensor add_operator_redispatch(const Tensor& a, const Tensor& b) {
  return at::_ops::add_Tensor::redispatch(kBelowAutograd, a, b, 2);
}

Tensor add_redispatch(const Tensor& a, const Tensor& b) {
  return at::redispatch::add(kBelowAutograd, a, b, 2);
}

Tensor add_redispatch_out(const Tensor& a, const Tensor& b) {
  auto out = nothing_like(a);
  return at::redispatch::add_out(kBelowAutograd, out, a, b, 2);
}

Tensor add_direct(const Tensor& a, const Tensor& b) {
  return at::cpu::add(a, b, 2);
}

Tensor add_direct_out(const Tensor& a, const Tensor& b) {
  auto out = nothing_like(a);
  return at::cpu::add_outf(a, b, 2, out);
}

Tensor add_structured(const Tensor& a, const Tensor& b) {
  // The shape function and the computation of PyTorch's structured kernel, with an output of our own.
  struct Kernel final : at::native::structured_ufunc_add_CPU {
    void set_output_strided(
        int64_t index, c10::IntArrayRef sizes, c10::IntArrayRef strides, at::TensorOptions options) override {
      result = strides.empty() ? at::empty(sizes, options) : at::empty_strided(sizes, strides, options);
      at::native::structured_ufunc_add_CPU::set_output_raw_strided(index, sizes, strides, options);
    }
    void set_output_raw_strided(
        int64_t index, c10::IntArrayRef sizes, c10::IntArrayRef strides, at::TensorOptions options) override {
      set_output_strided(index, sizes, strides, options);
    }
    const Tensor& maybe_get_output(int64_t) override {
      return result;
    }
    Tensor result;
  };
  Kernel kernel;
  kernel.meta(a, b, 2);
  kernel.impl(a, b, 2, kernel.result);
  return kernel.result;
}

// a[1:3], with sizes as numbers and as symbols

Tensor narrow_function(const Tensor& a) {
  return at::narrow(a, 0, 1, 2);
}

Tensor narrow_function_symint(const Tensor& a) {
  return at::narrow_symint(a, 0, c10::SymInt(1), c10::SymInt(2));
}

Tensor narrow_number_template(const Tensor& a) {
  return at::symint::narrow<int64_t>(a, 0, 1, 2);
}

Tensor narrow_symbol_template(const Tensor& a) {
  return at::symint::narrow<c10::SymInt>(a, 0, c10::SymInt(1), c10::SymInt(2));
}

Tensor narrow_method(const Tensor& a) {
  return a.narrow(0, 1, 2);
}

Tensor narrow_method_symint(const Tensor& a) {
  return a.narrow_symint(0, c10::SymInt(1), c10::SymInt(2));
}

Tensor narrow_operator(const Tensor& a) {
  return at::_ops::narrow::call(a, 0, c10::SymInt(1), c10::SymInt(2));
}

Tensor narrow_native(const Tensor& a) {
  return at::native::narrow_symint(a, 0, c10::SymInt(1), c10::SymInt(2));
}

// seven, three times, of type double

Tensor full_options() {
  return at::full({3}, 7, at::dtype(at::kDouble));
}

Tensor full_faithful() {
  return at::full({3}, 7, at::kDouble, std::nullopt, std::nullopt, std::nullopt);
}

Tensor full_out() {
  auto out = at::empty({0}, at::dtype(at::kDouble));
  return at::full_out(out, {3}, 7);
}

Tensor full_operator() {
  return at::_ops::full::call(c10::SymInt(3), 7, at::kDouble, std::nullopt, std::nullopt, std::nullopt);
}

Tensor full_factory() {
  return torch::full({3}, 7, at::dtype(at::kDouble));
}

// Lists, optional values, several results, the backward graph, names

Tensor lists(const Tensor& a, const Tensor& b) {
  return at::cat({a, b});
}

Tensor optional_values(const Tensor& a) {
  return at::clamp(a, std::nullopt, 1.5);
}

std::tuple<Tensor, Tensor> several_results(const Tensor& a) {
  auto values = nothing_like(a);
  auto indices = at::empty({0}, at::kLong);
  return at::max_outf(a, 0, false, values, indices);
}

// What PyTorch saved for the backward pass of a * b, read through the class that the generated header declares.
Tensor saved_for_backward(const Tensor& a, const Tensor& b) {
  auto product = torch::ones({}, at::requires_grad()) * a * b;
  auto node = product.grad_fn();
  auto* multiplication = dynamic_cast<torch::autograd::generated::MulBackward0*>(node.get());
  TORCH_CHECK(multiplication != nullptr, "the header's class is another than PyTorch's");
  return multiplication->other_.unpack();
}

std::string schema_text() {
  return at::_ops::add_Tensor::schema_str;
}

}  // namespace

TORCH_LIBRARY(opwright_calls, library) {
  library.def("add_function", add_function);
  library.def("add_method", add_method);
  library.def("add_in_place", add_in_place);
  library.def("add_out_first", add_out_first);
  library.def("add_out_last", add_out_last);
  library.def("add_operator", add_operator);
  library.def("add_operator_out", add_operator_out);
  library.def("add_operator_redispatch", add_operator_redispatch);
  library.def("add_redispatch", add_redispatch);
  library.def("add_redispatch_out", add_redispatch_out);
  library.def("add_direct", add_direct);
  library.def("add_direct_out", add_direct_out);
  library.def("add_structured", add_structured);
  library.def("narrow_function", narrow_function);
  library.def("narrow_function_symint", narrow_function_symint);
  library.def("narrow_number_template", narrow_number_template);
  library.def("narrow_symbol_template", narrow_symbol_template);
  library.def("narrow_method", narrow_method);
  library.def("narrow_method_symint", narrow_method_symint);
  library.def("narrow_operator", narrow_operator);
  library.def("narrow_native", narrow_native);
  library.def("full_options", full_options);
  library.def("full_faithful", full_faithful);
  library.def("full_out", full_out);
  library.def("full_operator", full_operator);
  library.def("full_factory", full_factory);
  library.def("lists", lists);
  library.def("optional_values", optional_values);
  library.def("several_results", several_results);
  library.def("saved_for_backward", saved_for_backward);
  library.def("schema_text", schema_text);
}
