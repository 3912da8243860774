// Operators that compute each element from the elements at the same position.

#include <AcmeNativeFunctions.h>

#include <acme/kernels.h>

#include <ATen/native/BinaryOps.h>
#include <ATen/native/DispatchStub.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/ops/empty.h>

#include <cmath>

#include "loops.h"

namespace acme::native {

// A structured kernel whose shape function makes a TensorIterator is this iterator.

void Kernels::structured_add_out::impl(
    const at::Tensor& /*self*/,
    const at::Tensor& /*other*/,
    const at::Scalar& alpha,
    const at::Tensor& /*out*/) {
  map_elements<2>(*this, [scale = Number(alpha)](auto self, auto other) {
    return self + scale.in<decltype(self)>() * other;
  });
}

void Kernels::structured_sub_out::impl(
    const at::Tensor& /*self*/,
    const at::Tensor& /*other*/,
    const at::Scalar& alpha,
    const at::Tensor& /*out*/) {
  map_elements<2>(*this, [scale = Number(alpha)](auto self, auto other) {
    return self - scale.in<decltype(self)>() * other;
  });
}

void Kernels::structured_mul_out::impl(
    const at::Tensor& /*self*/,
    const at::Tensor& /*other*/,
    const at::Tensor& /*out*/) {
  map_elements<2>(*this, [](auto self, auto other) { return self * other; });
}

void Kernels::structured_maximum_out::impl(
    const at::Tensor& /*self*/,
    const at::Tensor& /*other*/,
    const at::Tensor& /*out*/) {
  // A number that is no number is greater than all others.
  map_real_elements<2>(*this, [](auto self, auto other) { return self != self || self > other ? self : other; });
}

void Kernels::structured_eq_out::impl(
    const at::Tensor& /*self*/,
    const at::Tensor& /*other*/,
    const at::Tensor& /*out*/) {
  map_elements<2>(*this, [](auto self, auto other) { return self == other; });
}

void Kernels::structured_lt_out::impl(
    const at::Tensor& /*self*/,
    const at::Tensor& /*other*/,
    const at::Tensor& /*out*/) {
  map_real_elements<2>(*this, [](auto self, auto other) { return self < other; });
}

void Kernels::structured_neg_out::impl(const at::Tensor& /*self*/, const at::Tensor& /*out*/) {
  map_elements<1>(*this, [](auto self) { return -self; });
}

void Kernels::structured_tanh_out::impl(const at::Tensor& /*self*/, const at::Tensor& /*out*/) {
  map_elements<1>(*this, [](auto self) {
    using std::tanh;
    return tanh(self);
  });
}

void Kernels::structured_tanh_backward_out::impl(
    const at::Tensor& /*grad_output*/,
    const at::Tensor& /*output*/,
    const at::Tensor& /*grad_input*/) {
  map_elements<2>(*this, [](auto grad, auto output) {
    const auto derivative = decltype(output)(1) - output * output;
    if constexpr (c10::is_complex<decltype(output)>::value) {
      return grad * std::conj(derivative);
    } else {
      return grad * derivative;
    }
  });
}

void Kernels::structured_threshold_backward_out::impl(
    const at::Tensor& /*grad_output*/,
    const at::Tensor& /*self*/,
    const at::Scalar& threshold,
    const at::Tensor& /*grad_input*/) {
  map_real_elements<2>(*this, [&](auto self, auto grad) {
    return self <= threshold.to<decltype(self)>() ? decltype(grad)(0) : grad;
  });
}

// A kernel of an out overload that is not structured makes its iterator itself.
at::Tensor& Kernels::hardtanh_out(
    const at::Tensor& self,
    const at::Scalar& min_val,
    const at::Scalar& max_val,
    at::Tensor& out) {
  auto iterator = at::TensorIterator::unary_op(out, self);
  map_real_elements<1>(iterator, [&](auto value) {
    using Value = decltype(value);
    return std::min(std::max(value, min_val.to<Value>()), max_val.to<Value>());
  });
  return out;
}

at::Tensor Kernels::isfinite(const at::Tensor& self) {
  at::Tensor out = at::empty(self.sizes(), self.options().dtype(at::kBool));
  auto iterator =
      at::TensorIteratorConfig().add_output(out).add_const_input(self).check_all_same_dtype(false).build();
  with_value_type(self.scalar_type(), [&](auto zero) {
    using Value = decltype(zero);
    map_values<Value>(
        iterator,
        [](auto value) {
          if constexpr (c10::is_complex<decltype(value)>::value) {
            return std::isfinite(value.real()) && std::isfinite(value.imag());
          } else {
            return std::isfinite(static_cast<double>(value));
          }
        },
        std::make_index_sequence<1>());
  });
  return out;
}

// An operator of the backend's own. Its shape function is generated from the outputs that the file declares.
void structured_gate_out::impl(const at::Tensor& self, const at::Tensor& other, const at::Tensor& out) {
  auto iterator = at::TensorIterator::borrowing_binary_op(out, self, other);
  map_elements<2>(iterator, [](auto self, auto other) {
    using std::exp;
    using Value = decltype(self);
    return self / (Value(1) + exp(-other));
  });
}

namespace {

// The loops of PyTorch's structured kernels.

void divide(at::TensorIteratorBase& iterator) {
  map_elements<2>(iterator, [](auto self, auto other) { return self / other; });
}

void exponential(at::TensorIteratorBase& iterator) {
  map_elements<1>(iterator, [](auto value) {
    using std::exp;
    return exp(value);
  });
}

void square_root(at::TensorIteratorBase& iterator) {
  map_elements<1>(iterator, [](auto value) {
    using std::sqrt;
    return sqrt(value);
  });
}

void sigmoid(at::TensorIteratorBase& iterator) {
  map_elements<1>(iterator, [](auto value) {
    using std::exp;
    using Value = decltype(value);
    return Value(1) / (Value(1) + exp(-value));
  });
}

}  // namespace
}  // namespace acme::native

namespace at::native {

REGISTER_PRIVATEUSE1_DISPATCH(div_true_stub, &acme::native::divide)
REGISTER_PRIVATEUSE1_DISPATCH(exp_stub, &acme::native::exponential)
REGISTER_PRIVATEUSE1_DISPATCH(sqrt_stub, &acme::native::square_root)
REGISTER_PRIVATEUSE1_DISPATCH(sigmoid_stub, &acme::native::sigmoid)

}  // namespace at::native
