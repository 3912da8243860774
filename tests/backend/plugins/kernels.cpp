// The kernels of acme.yaml. They compute with the CPU's operators, and note that they run, as the plug-ins' code does.

#include "AcmeNativeFunctions.h"

#include <acme/kernel_formats.h>
#include <acme/op_hooks.h>
#include <acme/register.h>
#include <acme/tensor_checks.h>
#include <torch/library.h>

#include "device.h"

namespace acme {
namespace {

using test_device::host;

std::vector<std::string>& calls() {
  static std::vector<std::string> texts;
  return texts;
}

void note(const std::string& text) {
  calls().push_back(text);
}

at::Tensor to_device(const at::Tensor& result, const at::Tensor& like) {
  return result.to(like.device());
}

bool is_large(const at::Tensor& tensor) {
  return tensor.numel() > 100;
}

} // namespace

namespace native {

at::Tensor AcmeNativeFunctions::relu(const at::Tensor& self) {
  note("relu");
  return to_device(at::relu(host(self)), self);
}

at::Tensor& AcmeNativeFunctions::relu_(at::Tensor& self) {
  note("relu_");
  at::Tensor target = host(self);
  at::relu_(target);
  return self;
}

::std::tuple<at::Tensor, at::Tensor> AcmeNativeFunctions::mode(const at::Tensor& self, int64_t dim, bool keepdim) {
  note("mode");
  auto [values, indices] = at::mode(host(self), dim, keepdim);
  return {to_device(values, self), to_device(indices, self)};
}

void AcmeNativeFunctions::_foreach_abs_(at::TensorList self) {
  note("_foreach_abs_");
  for (const at::Tensor& tensor : self) {
    at::Tensor target = host(tensor);
    at::abs_(target);
  }
}

at::Tensor& AcmeNativeFunctions::_index_put_impl_(
    at::Tensor& self,
    const c10::List<::std::optional<at::Tensor>>& indices,
    const at::Tensor& values,
    bool accumulate,
    bool unsafe) {
  note("_index_put_impl_");
  c10::List<::std::optional<at::Tensor>> on_host;
  for (const ::std::optional<at::Tensor> index : indices) {
    on_host.push_back(index.has_value() ? ::std::make_optional(host(*index)) : ::std::nullopt);
  }
  at::Tensor target = host(self);
  at::_index_put_impl_(target, on_host, host(values), accumulate, unsafe);
  return self;
}

at::Tensor AcmeNativeFunctions::celu(const at::Tensor& self, const at::Scalar& alpha) {
  note("celu");
  TORCH_CHECK(self.dim() < 2, "celu takes vectors");
  return to_device(at::celu(host(self), alpha), self);
}

at::Tensor& AcmeNativeFunctions::abs_out(const at::Tensor& self, at::Tensor& out) {
  note("abs");
  out.resize_(self.sizes());
  at::Tensor target = host(out);
  return at::abs_out(target, host(self)), out;
}

void AcmeNativeFunctions::structured_sign_out::impl(const at::Tensor& self, const at::Tensor& out) {
  note("sign");
  TORCH_CHECK(self.dim() < 2, "sign takes vectors");
  at::Tensor target = host(out);
  at::sign_out(target, host(self));
}

void AcmeNativeFunctions::structured_cat_out::impl(
    const at::ITensorListRef& tensors,
    int64_t dim,
    int64_t,
    bool,
    bool,
    bool,
    at::MemoryFormat,
    const at::Tensor& out) {
  note("cat");
  std::vector<at::Tensor> parts;
  for (const at::Tensor& tensor : tensors) {
    parts.push_back(host(tensor));
  }
  at::Tensor target = host(out);
  at::cat_out(target, parts, dim);
}

} // namespace native

View views::logit(View self, ::std::optional<double> eps) {
  note("logit");
  return {to_device(at::logit(host(self.tensor), eps), self.tensor)};
}

View views::logit_(View self, ::std::optional<double> eps) {
  note("logit_");
  at::Tensor target = host(self.tensor);
  at::logit_(target, eps);
  return {};
}

at::Tensor op_api::dot(const at::Tensor& self, const at::Tensor& tensor) {
  note("op_api dot");
  return to_device(at::dot(host(self), host(tensor)), self);
}

at::Tensor acl_op::dot(const at::Tensor& self, const at::Tensor& tensor) {
  note("acl_op dot");
  return to_device(at::dot(host(self), host(tensor)), self);
}

at::Tensor op_api::vdot(const at::Tensor& self, const at::Tensor& other) {
  note("op_api vdot");
  return to_device(at::vdot(host(self), host(other)), self);
}

at::Tensor op_api::trace(const at::Tensor& self) {
  note("op_api trace");
  return to_device(at::trace(host(self)), self);
}

at::Tensor acl_op::trace(const at::Tensor& self) {
  note("acl_op trace");
  return to_device(at::trace(host(self)), self);
}

at::Tensor& op_api::mm_out(const at::Tensor& self, const at::Tensor& mat2, at::Tensor& out) {
  note("op_api mm");
  out.resize_({self.size(0), mat2.size(1)});
  at::Tensor target = host(out);
  return at::mm_out(target, host(self), host(mat2)), out;
}

at::Tensor& acl_op::mm_out(const at::Tensor& self, const at::Tensor& mat2, at::Tensor& out) {
  note("acl_op mm");
  out.resize_({self.size(0), mat2.size(1)});
  at::Tensor target = host(out);
  return at::mm_out(target, host(self), host(mat2)), out;
}

} // namespace acme

TORCH_LIBRARY(acme_test, m) {
  m.def("take_calls() -> str[]", [] { return std::exchange(acme::calls(), {}); });
  m.def("use_hooks(bool enabled) -> ()", [](bool enabled) {
    acme::OpHooks::on_entry = [](const char* name, size_t count) {
      acme::note("before " + std::string(name) + " with " + std::to_string(count));
    };
    acme::OpHooks::on_exit = [](size_t count) { acme::note("after, " + std::to_string(count)); };
    acme::OpHooks::enabled = enabled;
  });
  m.def("check_tensors(bool enabled) -> ()", [](bool enabled) {
    acme::TensorChecks::is_unsafe = &acme::is_large;
    acme::TensorChecks::enabled = enabled;
  });
  m.def("use_jit(bool enabled) -> ()", [](bool enabled) {
    acme::KernelFormats::jit_mode = enabled;
    acme::KernelFormats::has_internal_format = &acme::is_large;
  });
  m.def("trace_calls(bool enabled) -> ()", [](bool enabled) {
    acme::trace = enabled ? +[](const char* name) { acme::note("traced " + std::string(name)); } : nullptr;
  });
}
