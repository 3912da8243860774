// The kernels of acme, with PyTorch's stable C++ API.
#include <acme/kernels.h>
#include <opwright/stable_call.h>
#include <torch/csrc/stable/ops.h>
#include <torch/headeronly/core/Dispatch_v2.h>

#include <array>
#include <cmath>
#include <optional>
#include <tuple>
#include <vector>

using opwright::call;
using torch::headeronly::HeaderOnlyArrayRef;
using torch::stable::Tensor;
using Numbers = HeaderOnlyArrayRef<int64_t>;

namespace {

Tensor product(const Tensor& left, const Tensor& right) {
  return call("aten::mul", "Tensor", left, right);
}

// A number as a tensor without dimensions, which has no say in the dtype of a result.
Tensor product(const Tensor& self, double factor) {
  return product(self, torch::stable::full({}, factor));
}

Tensor sum(const Tensor& left, const Tensor& right, double factor = 1) {
  return torch::stable::subtract(left, right, -factor);
}

Tensor mean(const Tensor& self, int64_t dim) {
  const std::array<int64_t, 1> dims{dim};
  return call("aten::mean", "dim", self, std::optional<Numbers>(dims), true, std::nullopt);
}

// Writes function(x) to `out` for each element x of `self`. Both have the same sizes and the same dtype.
template <typename Function>
void for_each_element(const Tensor& self, Tensor& out, Function function) {
  const Tensor source = torch::stable::contiguous(self);
  Tensor target = out.is_contiguous() ? out : torch::stable::contiguous(torch::stable::empty_like(out));
  THO_DISPATCH_V2(
      self.scalar_type(), "for_each_element", AT_WRAP([&] {
        const auto* from = static_cast<const scalar_t*>(source.const_data_ptr());
        auto* to = static_cast<scalar_t*>(target.mutable_data_ptr());
        for (int64_t index = 0; index < source.numel(); ++index) {
          to[index] = static_cast<scalar_t>(function(static_cast<double>(from[index])));
        }
      }),
      AT_EXPAND(AT_FLOATING_TYPES), torch::headeronly::ScalarType::Half, torch::headeronly::ScalarType::BFloat16);
  if (!out.is_contiguous()) {
    torch::stable::copy_(out, target);
  }
}

}  // namespace

namespace acme::native {

// gamma: a kernel for each overload.

void raise(const Tensor& self, double exponent, Tensor& out) {
  for_each_element(self, out, [=](double value) { return std::pow(value, exponent); });
}

Tensor gamma(const Tensor& self, double exponent) {
  auto out = torch::stable::empty_like(self);
  raise(self, exponent, out);
  return out;
}

Tensor gamma_(Tensor& self, double exponent) {
  raise(self, exponent, self);
  return self;
}

Tensor gamma_out(const Tensor& self, double exponent, Tensor& out) {
  raise(self, exponent, out);
  return out;
}

// mix: the operators of PyTorch broadcast and promote.

Tensor mix(const Tensor& self, const Tensor& other, double weight) {
  return sum(self, torch::stable::subtract(other, self), weight);
}

Tensor mix_(Tensor& self, const Tensor& other, double weight) {
  torch::stable::copy_(self, mix(self, other, weight));
  return self;
}

Tensor mix_out(const Tensor& self, const Tensor& other, double weight, Tensor& out) {
  torch::stable::copy_(out, mix(self, other, weight));
  return out;
}

// patches and rows: views of the argument, one copied.

Tensor patches(const Tensor& self, int64_t size) {
  const auto rows = self.size(0), columns = self.size(1);
  const auto bands = call("aten::unfold", "", self, int64_t{0}, size, size);
  const auto squares = call("aten::unfold", "", bands, int64_t{1}, size, size);
  return torch::stable::clone(torch::stable::reshape(squares, {rows / size * (columns / size), size * size}));
}

Tensor patches_out(const Tensor& self, int64_t size, Tensor& out) {
  torch::stable::copy_(out, patches(self, size));
  return out;
}

Tensor rows(const Tensor& self, int64_t start, int64_t length) {
  return call("aten::narrow", "", self, int64_t{0}, start, length);
}

Tensor rows_copy(const Tensor& self, int64_t start, int64_t length) {
  return torch::stable::clone(rows(self, start, length));
}

// track: writes to its first argument.

void track(Tensor& mean, const Tensor& value, double momentum) {
  torch::stable::copy_(mean, sum(product(mean, 1 - momentum), value, momentum));
}

// weave and tiles: lists.

Tensor weave(HeaderOnlyArrayRef<Tensor> images, HeaderOnlyArrayRef<double> weights) {
  auto total = product(torch::stable::contiguous(images[0]), weights[0]);
  for (size_t index = 1; index < images.size(); ++index) {
    total = sum(total, torch::stable::to(images[index], total.scalar_type()), weights[index]);
  }
  return total;
}

std::vector<Tensor> weave_backward(const Tensor& grad_output, HeaderOnlyArrayRef<double> weights) {
  std::vector<Tensor> grads;
  for (const double weight : weights) {
    grads.push_back(product(grad_output, weight));
  }
  return grads;
}

std::vector<Tensor> tiles(const Tensor& self, int64_t size) {
  std::vector<Tensor> bands;
  for (const auto& band : call<std::vector<Tensor>>("aten::split", "Tensor", self, size, int64_t{0})) {
    bands.push_back(torch::stable::clone(band));
  }
  return bands;
}

// moments: two results.

std::tuple<Tensor, Tensor> moments(const Tensor& self, int64_t dim, bool keepdim) {
  const auto center = mean(self, dim);
  const auto deviation = call("aten::sqrt", "", mean(call("aten::square", "", sum(self, center, -1)), dim));
  if (keepdim) {
    return {center, deviation};
  }
  return {torch::stable::squeeze(center, dim), torch::stable::squeeze(deviation, dim)};
}

// affine: optional arguments.

Tensor affine(const Tensor& self, const std::optional<Tensor>& scale, std::optional<double> offset) {
  const auto result = scale.has_value() ? product(self, *scale) : torch::stable::clone(self);
  return offset.has_value() ? sum(result, torch::stable::full({}, *offset)) : result;
}

// pad_right: numbers.

Tensor pad_right(const Tensor& self, int64_t length, double value) {
  return torch::stable::pad(self, {0, length - self.size(-1)}, "constant", value);
}

// sprinkle: random numbers.

std::tuple<Tensor, Tensor> sprinkle(const Tensor& self, double p, std::optional<torch::stable::Generator> generator) {
  const auto kept = call("aten::bernoulli", "p", self, 1 - p, generator);
  const auto mask = product(kept, 1 / (1 - p));
  return {product(self, mask), mask};
}

// soft_clip: its gradient needs only its result.

Tensor soft_clip(const Tensor& self, double limit) {
  auto out = torch::stable::empty_like(self);
  for_each_element(self, out, [=](double value) { return limit * std::tanh(value / limit); });
  return out;
}

Tensor soft_clip_backward(const Tensor& grad_output, const Tensor& output, double limit) {
  auto slope = torch::stable::empty_like(output);
  for_each_element(output, slope, [=](double value) { return 1 - value / limit * (value / limit); });
  return product(grad_output, slope);
}

// scores, and attention: `acme::scores` is the operator, not its kernel, so that autograd and autocast see it.

Tensor scores(const Tensor& query, const Tensor& key, double scale) {
  return product(torch::stable::matmul(query, torch::stable::transpose(key, -2, -1)), scale);
}

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, double scale) {
  const auto weights = call("aten::softmax", "int", call("acme::scores", "", query, key, scale), int64_t{-1}, std::nullopt);
  return torch::stable::matmul(weights, value);
}

}  // namespace acme::native
