// Another library, which calls the operators of acme from C++.
#include <ATen/TensorOperators.h>
#include <acme/ops.h>
#include <torch/library.h>

namespace {

std::vector<at::Tensor> call_all(const at::Tensor& image) {
  auto written = at::empty_like(image);
  acme::gamma_out(written, image, 1.0);
  return {
      acme::gamma(image, 2.0),
      acme::mix(image, image + 1),
      acme::_ops::rows::call(image, 0, 1),
      std::get<0>(acme::_ops::moments::redispatch(c10::DispatchKeySet(c10::DispatchKey::CPU), image, -1, false)),
      written,
  };
}

at::Tensor call_one(const at::Tensor& image) {
  return acme::soft_clip(image, 0.5);
}

}  // namespace

TORCH_LIBRARY(acme_calls, m) {
  m.def("all(Tensor image) -> Tensor[]", &call_all);
  m.def("one(Tensor image) -> Tensor", &call_one);
}
