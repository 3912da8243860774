// The kernels of acme.yaml. They compute with the CPU's operators, and note that they run.

#include "AcmeFunctions.h"
#include "AcmeNativeFunctions.h"

#include <ATen/ops/abs.h>
#include <ATen/ops/celu.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/hardswish.h>
#include <ATen/ops/hardtanh.h>
#include <ATen/ops/logit.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/nan_to_num.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/roll.h>
#include <ATen/ops/sign.h>
#include <ATen/ops/trace.h>
#include <ATen/ops/vdot.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include "device.h"

// The backend has a fallback of its own, so the device does not register one.
extern "C" ACME_API char own_fallback;
char own_fallback = 0;

namespace acme {
namespace {

using test_device::host;

std::vector<std::string>& calls() {
  static std::vector<std::string> texts;
  return texts;
}

std::vector<std::string>& registered() {
  static std::vector<std::string> names;
  return names;
}

bool off = false;

at::Tensor to_device(const at::Tensor& result, const at::Tensor& like) {
  return result.to(like.device());
}

} // namespace

void note(const std::string& text) {
  calls().push_back(text);
}

void note_registration(const std::string& name) {
  registered().push_back(name);
}

bool is_off() {
  return off;
}

bool is_registered(bool value) {
  return value;
}

void initialize() {
  note("initialize");
}

at::Tensor& fast::fast_abs_out(const at::Tensor& self, at::Tensor& out) {
  note("abs");
  out.resize_(self.sizes());
  at::Tensor target = host(out);
  return at::abs_out(target, host(self)), out;
}

namespace native {

at::Tensor AcmeNativeFunctions::relu(const at::Tensor& self) {
  note("relu");
  return to_device(at::relu(host(self)), self);
}

at::Tensor AcmeSlow::logit(const at::Tensor& self, ::std::optional<double> eps) {
  note("logit");
  return to_device(at::logit(host(self), eps), self);
}

at::Tensor AcmeNativeFunctions::hardswish(const at::Tensor& self) {
  note("hardswish");
  return to_device(at::hardswish(host(self)), self);
}

at::Tensor AcmeNativeFunctions::celu(const at::Tensor& self, const at::Scalar& alpha) {
  note("celu");
  TORCH_CHECK(self.dim() < 2, "celu takes vectors");
  return to_device(at::celu(host(self), alpha), self);
}

void AcmeNativeFunctions::structured_sign_out::impl(const at::Tensor& self, const at::Tensor& out) {
  note("sign");
  TORCH_CHECK(self.dim() < 2, "sign takes vectors");
  at::Tensor target = host(out);
  at::sign_out(target, host(self));
}

at::Tensor AcmeNativeFunctions::eye(
    int64_t n,
    ::std::optional<at::ScalarType> dtype,
    ::std::optional<at::Layout>,
    ::std::optional<at::Device> device,
    ::std::optional<bool>) {
  note("eye");
  return at::eye(n, at::TensorOptions().dtype(dtype)).to(*device);
}

at::Tensor& AcmeNativeFunctions::nan_to_num_out(
    const at::Tensor& self,
    ::std::optional<double> nan,
    ::std::optional<double> posinf,
    ::std::optional<double> neginf,
    at::Tensor& out) {
  note("nan_to_num");
  out.resize_(self.sizes());
  at::Tensor target = host(out);
  return at::nan_to_num_out(target, host(self), nan, posinf, neginf), out;
}

at::Tensor AcmeNativeFunctions::roll(const at::Tensor& self, at::IntArrayRef shifts, at::IntArrayRef dims) {
  note("roll");
  return to_device(at::roll(host(self), shifts, dims), self);
}

at::Tensor AcmeNativeFunctions::dot(const at::Tensor& self, const at::Tensor& tensor) {
  note("dot");
  return to_device(at::dot(host(self), host(tensor)), self);
}

at::Tensor AcmeNativeFunctions::vdot(const at::Tensor& self, const at::Tensor& other) {
  note("vdot");
  return to_device(at::vdot(host(self), host(other)), self);
}

at::Tensor AcmeNativeFunctions::trace(const at::Tensor& self) {
  note("trace");
  return to_device(at::trace(host(self)), self);
}

void AcmeNativeFunctions::_foreach_lerp_(at::TensorList self, at::TensorList tensors1, at::ArrayRef<at::Scalar> weight) {
  note("_foreach_lerp_");
}

at::Tensor AcmeNativeFunctions::twice(const at::Tensor& self, int64_t by) {
  note("twice");
  return to_device(host(self).mul(2 * by), self);
}

at::Tensor AcmeNativeFunctions::hardtanh(const at::Tensor& self, const at::Scalar& min_val, const at::Scalar& max_val) {
  note("autograd of hardtanh");
  c10::impl::ExcludeDispatchKeyGuard guard(c10::autograd_dispatch_keyset);
  return at::hardtanh(self, min_val, max_val);
}

at::Tensor AcmeNativeFunctions::relu_autocast(const at::Tensor& self) {
  note("autocast of relu");
  c10::impl::ExcludeDispatchKeyGuard guard(c10::DispatchKey::AutocastPrivateUse1);
  return at::relu(self);
}

// The declarations have the defaults of the schema.
[[maybe_unused]] at::Tensor celu_of(const at::Tensor& self) {
  return AcmeNativeFunctions::celu(self);
}

} // namespace native
} // namespace acme

namespace {

TORCH_LIBRARY(acme_test, m) {
  m.def("take_calls() -> str[]", [] { return std::exchange(acme::calls(), {}); });
  m.def("registered() -> str[]", [] { return acme::registered(); });
  m.def("turn_off(bool off) -> ()", [](bool value) { acme::off = value; });
  m.def("direct_relu(Tensor self) -> Tensor", [](const at::Tensor& self) { return at::acme::relu(self); });
}

TORCH_LIBRARY(acme_other, m) {
  m.def("twice(Tensor self, SymInt by) -> Tensor");
}

} // namespace
