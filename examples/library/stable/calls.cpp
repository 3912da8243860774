// Another library with PyTorch's stable C++ API, which calls the operators of acme. It links nothing of acme.
#include <acme/ops.h>
#include <torch/csrc/stable/ops.h>

using torch::stable::Tensor;

namespace {

std::vector<Tensor> call_all(const Tensor& image) {
  auto written = torch::stable::empty_like(image);
  acme::gamma_out(written, image, 1.0);
  return {
      acme::gamma(image, 2.0),
      acme::mix(image, torch::stable::subtract(image, torch::stable::full({}, -1))),
      acme::rows(image, 0, 1),
      std::get<0>(acme::moments(image, -1, false)),
      written,
  };
}

Tensor call_one(const Tensor& image) {
  return acme::soft_clip(image, 0.5);
}

}  // namespace

STABLE_TORCH_LIBRARY(acme_calls, m) {
  m.def("all(Tensor image) -> Tensor[]");
  m.def("one(Tensor image) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(acme_calls, CompositeImplicitAutograd, m) {
  m.impl("all", TORCH_BOX(&call_all));
  m.impl("one", TORCH_BOX(&call_one));
}
