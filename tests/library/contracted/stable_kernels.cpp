// The kernels of kernels.cpp, with PyTorch's stable C++ API.
#include <contracted/kernels.h>

#include <opwright/stable_call.h>
#include <torch/csrc/stable/ops.h>

using opwright::call;
using torch::stable::Tensor;

namespace {

Tensor product(const Tensor& left, const Tensor& right) {
  return call("aten::mul", "Tensor", left, right);
}

// A number as a tensor without dimensions.
Tensor number(const Tensor& like, double value) {
  return torch::stable::full({}, value, like.scalar_type());
}

// The inverse of the root of the mean of the squares.
Tensor scale_of(const Tensor& input, double eps) {
  const auto mean = call(
      "aten::mean", "dim", product(input, input), std::optional(std::vector<int64_t>{-1}), true,
      std::optional<torch::headeronly::ScalarType>());
  return call("aten::rsqrt", "", torch::stable::subtract(mean, number(input, -eps)));
}

} // namespace

namespace contracted::native {

void rms_norm(Tensor& result, const Tensor& input, const Tensor& weight, double eps) {
  call("aten::mul", "out", product(input, scale_of(input, eps)), weight, result);
}

Tensor rms_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& weight, double eps) {
  const Tensor scale = scale_of(input, eps), weighted = product(grad, weight);
  const auto mean = call(
      "aten::mean", "dim", product(weighted, input), std::optional(std::vector<int64_t>{-1}), true,
      std::optional<torch::headeronly::ScalarType>());
  return product(
      scale, torch::stable::subtract(weighted, product(product(input, product(scale, scale)), mean)));
}

void extremes(Tensor& low, Tensor& high, const Tensor& x, int64_t count) {
  STD_TORCH_CHECK(low.numel() == count && high.numel() == count);
  Tensor flat = torch::stable::flatten(x);
  Tensor sorted = std::get<0>(call<std::tuple<Tensor, Tensor>>("aten::sort", "", flat, -1, false));
  torch::stable::copy_(low, torch::stable::narrow(sorted, 0, 0, count));
  torch::stable::copy_(high, torch::stable::narrow(sorted, 0, sorted.numel() - count, count));
}

Tensor halve(Tensor& result, const Tensor& self) {
  return call("aten::mul", "out", self, number(self, 0.5), result);
}

} // namespace contracted::native
