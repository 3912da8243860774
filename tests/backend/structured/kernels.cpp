// The kernels of acme.yaml. They compute with the CPU's operators, and note the device that they run on.

#include "AcmeNativeFunctions.h"

#include <ATen/native/PrivateUse1NativeFunctionsHelper.h>
#include <ATen/native/BinaryOps.h>
#include <ATen/native/ReduceOps.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/ops/_softmax.h>
#include <ATen/ops/add.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/atan2.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/div.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/geqrf.h>
#include <ATen/ops/hardtanh.h>
#include <ATen/ops/index_copy.h>
#include <ATen/ops/max.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/min.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/trunc.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/library.h>

#include "device.h"
#include "in_place.h"

#include <string>
#include <vector>

namespace acme::native {
namespace {

using test_device::host;

std::vector<std::string> calls;

void note(const char* name) {
  const auto device = c10::impl::VirtualGuardImpl(c10::DeviceType::PrivateUse1).getDevice();
  calls.push_back(std::string(name) + "@" + std::to_string(device.index()));
}

template <class Compute>
void run(const char* name, const at::TensorBase& out, Compute compute) {
  note(name);
  at::Tensor target = host(out);
  compute(target);
}

} // namespace

TORCH_PRIVATEUSE1_IMPL_FUNC(mul_out)(const at::Tensor&, const at::Tensor&, const at::Tensor&) {
  run("mul", output(), [&](at::Tensor& out) { at::mul_out(out, host(input(0)), host(input(1))); });
}

TORCH_PRIVATEUSE1_IMPL_FUNC(maximum_out)(const at::Tensor&, const at::Tensor&, const at::Tensor&) {
  run("maximum", output(), [&](at::Tensor& out) { at::maximum_out(out, host(input(0)), host(input(1))); });
}

TORCH_PRIVATEUSE1_IMPL_FUNC(add_out)
(const at::Tensor&, const at::Tensor&, const at::Scalar& alpha, const at::Tensor&) {
  run("add", output(), [&](at::Tensor& out) { at::add_out(out, host(input(0)), host(input(1)), alpha); });
}

TORCH_PRIVATEUSE1_IMPL_FUNC(eq_out)(const at::Tensor& self, const at::Tensor& other, const at::Tensor& out) {
  run("eq", out, [&](at::Tensor& target) { at::eq_out(target, host(self), host(other)); });
}

TORCH_PRIVATEUSE1_IMPL_FUNC(sum_out)
(const at::Tensor& self,
 at::OptionalIntArrayRef dim,
 bool keepdim,
 ::std::optional<at::ScalarType> dtype,
 const at::Tensor& out) {
  run("sum", out, [&](at::Tensor& target) { at::sum_out(target, host(self), dim, keepdim, dtype); });
}

TORCH_PRIVATEUSE1_IMPL_FUNC(_softmax_out)
(const at::Tensor& self, int64_t dim, bool half_to_float, const at::Tensor& out) {
  run("softmax", out, [&](at::Tensor& target) { at::_softmax_out(target, host(self), dim, half_to_float); });
}

TORCH_PRIVATEUSE1_IMPL_FUNC(cat_out)
(const at::ITensorListRef& tensors, int64_t dim, int64_t, bool, bool, bool, at::MemoryFormat, const at::Tensor& out) {
  std::vector<at::Tensor> parts;
  for (const at::Tensor& tensor : tensors) {
    parts.push_back(host(tensor));
  }
  run("cat", out, [&](at::Tensor& target) { at::cat_out(target, parts, dim); });
}

TORCH_PRIVATEUSE1_IMPL_FUNC(max_out)
(const at::Tensor& self, int64_t dim, bool keepdim, const at::Tensor& max, const at::Tensor& max_values) {
  at::Tensor indices = host(max_values);
  run("max", max, [&](at::Tensor& target) { at::max_out(target, indices, host(self), dim, keepdim); });
}

TORCH_PRIVATEUSE1_IMPL_FUNC(topk_out)
(const at::Tensor& self,
 int64_t k,
 int64_t dim,
 bool largest,
 bool sorted,
 const at::Tensor& values,
 const at::Tensor& indices) {
  at::Tensor places = host(indices);
  run("topk", values, [&](at::Tensor& target) { at::topk_out(target, places, host(self), k, dim, largest, sorted); });
}

TORCH_PRIVATEUSE1_IMPL_FUNC(aminmax_out)
(const at::Tensor& self, ::std::optional<int64_t> dim, bool keepdim, const at::Tensor& min, const at::Tensor& max) {
  at::Tensor greatest = host(max);
  run("aminmax", min, [&](at::Tensor& target) { at::aminmax_out(target, greatest, host(self), dim, keepdim); });
}

TORCH_PRIVATEUSE1_META_FUNC(sub_out)(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha) {
  TORCH_CHECK(self.scalar_type() != at::kChar, "Acme does not subtract int8");
  note("sub shape");
  base::meta(self, other, alpha);
}

TORCH_PRIVATEUSE1_IMPL_FUNC(sub_out)
(const at::Tensor&, const at::Tensor&, const at::Scalar& alpha, const at::Tensor&) {
  run("sub", output(), [&](at::Tensor& out) { at::sub_out(out, host(input(0)), host(input(1)), alpha); });
}

TORCH_PRIVATEUSE1_PRECOMPUTE_META_FUNC(index_copy_out)
(const at::Tensor& self, int64_t dim, const at::Tensor& index, const at::Tensor& source) {
  note("index_copy shape");
  set_output_raw_strided(0, self.sizes(), {}, self.options());
  return TORCH_PRIVATEUSE1_PRECOMPUTE_STRUCT(index_copy_out)().set_dim(dim < 0 ? dim + self.dim() : dim);
}

TORCH_PRIVATEUSE1_IMPL_FUNC(index_copy_out)
(const at::Tensor& self, int64_t dim, const at::Tensor& index, const at::Tensor& source, const at::Tensor& out) {
  run("index_copy", out, [&](at::Tensor& target) {
    at::index_copy_out(target, host(self).clone(), dim, host(index), host(source));
  });
}

TORCH_PRIVATEUSE1_META_FUNC(trunc_out)(const at::Tensor& self) {
  note("trunc shape");
  base::meta(self);
}

TORCH_PRIVATEUSE1_IMPL_FUNC(trunc_out)(const at::Tensor& self, const at::Tensor& out) {
  run("trunc", out, [&](at::Tensor& target) { at::trunc_out(target, host(self)); });
}

TORCH_PRIVATEUSE1_PRECOMPUTE_META_FUNC(min_out)(const at::Tensor& self, int64_t dim, bool keepdim) {
  note("min shape");
  return base::meta(self, dim, keepdim);
}

TORCH_PRIVATEUSE1_IMPL_FUNC(min_out)
(const at::Tensor& self, int64_t dim, bool keepdim, const at::Tensor& min, const at::Tensor& min_indices) {
  at::Tensor indices = host(min_indices);
  run("min", min, [&](at::Tensor& target) { at::min_out(target, indices, host(self), dim, keepdim); });
}

TORCH_PRIVATEUSE1_IMPL_FUNC(atan2_out)(const at::Tensor& self, const at::Tensor& other, const at::Tensor& out) {
  run("atan2", out, [&](at::Tensor& target) { at::atan2_out(target, host(self), host(other)); });
}

at::Tensor& atan2_in_place(at::Tensor& self, const at::Tensor& other) {
  note("atan2 in place");
  host(self).atan2_(host(other));
  return self;
}

at::Tensor& TORCH_PRIVATEUSE1_FUNC(hardtanh_out)(
    const at::Tensor& self, const at::Scalar& min_val, const at::Scalar& max_val, at::Tensor& out) {
  out.resize_(self.sizes());
  run("hardtanh", out, [&](at::Tensor& target) { at::hardtanh_out(target, host(self), min_val, max_val); });
  return out;
}

at::Tensor& TORCH_PRIVATEUSE1_FUNC(neg_out)(const at::Tensor& self, at::Tensor& out) {
  out.resize_(self.sizes());
  run("neg", out, [&](at::Tensor& target) { at::neg_out(target, host(self)); });
  return out;
}

::std::tuple<at::Tensor&, at::Tensor&> TORCH_PRIVATEUSE1_FUNC(geqrf_out)(
    const at::Tensor& self, at::Tensor& a, at::Tensor& tau) {
  note("geqrf");
  auto [left, right] = at::geqrf(host(self));
  a.resize_(left.sizes()).copy_(left);
  tau.resize_(right.sizes()).copy_(right);
  return {a, tau};
}

} // namespace acme::native

namespace at::native {
namespace {

using acme::native::run;
using test_device::host;

void div_loop(TensorIteratorBase& iterator) {
  run("div stub", iterator.output(), [&](Tensor& out) {
    at::div_out(out, host(iterator.input(0)), host(iterator.input(1)));
  });
}

void exp_loop(TensorIteratorBase& iterator) {
  run("exp stub", iterator.output(), [&](Tensor& out) { at::exp_out(out, host(iterator.input(0))); });
}

void cumsum_loop(const Tensor& result, const Tensor& self, int64_t dim) {
  run("cumsum stub", result, [&](Tensor& out) { at::cumsum_out(out, host(self), dim); });
}

} // namespace

REGISTER_PRIVATEUSE1_DISPATCH(div_true_stub, &div_loop)
REGISTER_PRIVATEUSE1_DISPATCH(exp_stub, &exp_loop)
REGISTER_PRIVATEUSE1_DISPATCH(cumsum_stub, &cumsum_loop)

} // namespace at::native

TORCH_LIBRARY(acme_test, m) {
  m.def("take_calls() -> str[]", [] { return std::exchange(acme::native::calls, {}); });
}
