// The kernels of trained.yaml, for either C++ interface of PyTorch. They compute with numbers of double precision.
#include <trained/kernels.h>

#ifdef TRAINED_STABLE
#include <opwright/stable_call.h>
#include <torch/csrc/stable/ops.h>
using torch::stable::Tensor;
using Tensors = torch::headeronly::HeaderOnlyArrayRef<Tensor>;
using OptionalTensors = std::vector<std::optional<Tensor>>;
using TensorLists = std::vector<std::vector<Tensor>>;
using Doubles = torch::headeronly::HeaderOnlyArrayRef<double>;
static Tensor empty_of(const Tensor& self) { return torch::stable::empty_like(self); }
static Tensor clone_of(const Tensor& self) { return torch::stable::clone(self); }
static Tensor packed(const Tensor& self) { return torch::stable::contiguous(self); }
static Tensor part_of(Tensor& self, int64_t dim, int64_t start, int64_t length) {
  return torch::stable::narrow(self, dim, start, length);
}
static Tensor moved(const Tensor& self, int64_t from, int64_t to) {
  return opwright::call("aten::movedim", "int", self, from, to);
}
static Tensor expanded(const Tensor& self, const Tensor& like) {
  return opwright::call("aten::expand_as", "", self, like);
}
static Tensor multiplied(const Tensor& self, const Tensor& other, bool negate) {
  return opwright::call("trained::multiply", "", self, other, negate);
}
#else
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <trained/ops.h>
using at::Tensor;
using Tensors = at::TensorList;
using OptionalTensors = const c10::List<std::optional<Tensor>>&;
using TensorLists = c10::List<c10::List<Tensor>>;
using Doubles = at::ArrayRef<double>;
static Tensor clone_of(const Tensor& self) { return self.clone(); }
static Tensor packed(const Tensor& self) { return self.contiguous(); }
static Tensor empty_of(const Tensor& self) { return at::empty_like(self); }
static Tensor part_of(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  return self.narrow(dim, start, length);
}
static Tensor moved(const Tensor& self, int64_t from, int64_t to) { return self.movedim(from, to); }
static Tensor expanded(const Tensor& self, const Tensor& like) { return self.expand_as(like); }
static Tensor multiplied(const Tensor& self, const Tensor& other, bool negate) {
  return trained::multiply(self, other, negate);
}
#endif

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <tuple>
#include <vector>

namespace {

// A new tensor with function(x, y) for the elements of two tensors of the same sizes.
template <typename Function>
Tensor mapped(const Tensor& left, const Tensor& right, Function function) {
  const Tensor x = packed(left), y = packed(right);
  Tensor result = empty_of(x);
  const auto fill = [&](auto* out) {
    using Number = std::remove_pointer_t<decltype(out)>;
    const auto* a = static_cast<const Number*>(x.const_data_ptr());
    const auto* b = static_cast<const Number*>(y.const_data_ptr());
    for (int64_t i = 0; i < x.numel(); ++i) {
      out[i] = static_cast<Number>(function(a[i], b[i]));
    }
  };
  if (x.element_size() == 8) {
    fill(static_cast<double*>(result.mutable_data_ptr()));
  } else {
    fill(static_cast<float*>(result.mutable_data_ptr()));
  }
  return result;
}

}  // namespace

namespace trained::native {

Tensor scale(const Tensor& self, double factor) {
  return mapped(self, self, [factor](double x, double) { return x * factor; });
}

Tensor& scale_into(Tensor& self, double factor) {
  auto* data = static_cast<double*>(self.mutable_data_ptr());
  for (int64_t i = 0; i < self.numel(); ++i) {
    data[i] *= factor;
  }
  return self;
}

// Adds the elements of a tensor to those of another one.
Tensor& add_to(Tensor& self, const Tensor& by) {
  const Tensor added = packed(by);
  auto* data = static_cast<double*>(self.mutable_data_ptr());
  for (int64_t i = 0; i < self.numel(); ++i) {
    data[i] += static_cast<const double*>(added.const_data_ptr())[i];
  }
  return self;
}

#ifdef TRAINED_STABLE
Tensor scale_(Tensor& self, double factor) { return scale_into(self, factor); }
Tensor bump_(Tensor& self, const Tensor& by) { return add_to(self, by); }
#else
Tensor& scale_(Tensor& self, double factor) { return scale_into(self, factor); }
Tensor& bump_(Tensor& self, const Tensor& by) { return add_to(self, by); }
#endif

void bump_into(const Tensor& self, Tensor& total, Tensors others) {
  add_to(total, self);
  for (const Tensor& other : others) {
    Tensor written = other;
    add_to(written, self);
  }
}

Tensor multiply(const Tensor& self, const Tensor& other, bool negate) {
  return mapped(self, other, [negate](double x, double y) { return negate ? -x * y : x * y; });
}

// How often the rule was called, in place of the operator for each example.
static int64_t batches = 0;

std::tuple<Tensor, std::optional<int64_t>> multiply_batch_rule(
    const Tensor& self,
    std::optional<int64_t> self_bdim,
    const Tensor& other,
    std::optional<int64_t> other_bdim,
    bool negate) {
  ++batches;
  Tensor left = self_bdim.has_value() ? moved(self, *self_bdim, 0) : self;
  Tensor right = other_bdim.has_value() ? moved(other, *other_bdim, 0) : other;
  left = self_bdim.has_value() ? left : expanded(left, right);
  right = other_bdim.has_value() ? right : expanded(right, left);
  return {multiplied(left, right, negate), 0};
}

void scale_batch_rule(Tensor& self, std::optional<int64_t> self_bdim, double factor) { scale_(self, factor); }

int64_t count_batches() { return batches; }

std::tuple<Tensor, Tensor> cubed(const Tensor& self, double by) {
  return {mapped(self, self, [by](double x, double) { return x * x * x * by; }),
          mapped(self, self, [](double x, double) { return x * x; })};
}

Tensor cubed_backward(const Tensor& grad_output, const Tensor&, const Tensor& square, double by) {
  return mapped(grad_output, square, [by](double g, double s) { return g * s * 3 * by; });
}

Tensor squash(const Tensor& self) {
  return mapped(self, self, [](double x, double) { return std::tanh(x); });
}

Tensor squash_backward(const Tensor& grad_output, const Tensor& result) {
  return mapped(grad_output, result, [](double grad, double y) { return grad * (1 - y * y); });
}

Tensor biased(const Tensor& self, const std::optional<Tensor>& bias) {
  if (!bias.has_value()) {
    return clone_of(self);
  }
  const double each = self.numel() - self.size(-1);
  return mapped(self, *bias, [each](double x, double y) { return x * 4 + y * each; });
}

std::tuple<Tensor, Tensor, Tensor> both(const Tensor& self, const Tensor& other) {
  return {
      mapped(self, other, [](double x, double y) { return x + y; }),
      mapped(self, other, [](double x, double y) { return x * y; }),
      mapped(self, other, [](double x, double y) { return x < y ? -1 : 1; })};
}

Tensor fused(const Tensor& self, const Tensor& other) { return multiply(self, other, false); }

std::tuple<Tensor, Tensor> fused_backward(const Tensor& grad, const Tensor& self, const Tensor& other) {
  return {multiply(grad, other, false), multiply(grad, self, false)};
}

Tensor weighted(const Tensor& self, const std::optional<Tensor>& weight) { return multiply(self, *weight, false); }

std::optional<Tensor> maybe(const Tensor& self) { return scale(self, 2); }

using SomeTensors = std::vector<std::optional<Tensor>>;

std::tuple<SomeTensors, int64_t> some(const Tensor& self, Tensors) {
  SomeTensors tensors;
  tensors.push_back(std::nullopt);
  tensors.push_back(scale(self, 2));
  return {tensors, 2};
}

TensorLists nested(const Tensor& self, OptionalTensors) {
  TensorLists lists;
#ifdef TRAINED_STABLE
  lists.push_back({scale(self, 2)});
#else
  lists.push_back(c10::List<Tensor>({scale(self, 2)}));
#endif
  return lists;
}

SomeTensors bump_and_list(const Tensor& self, Tensor& total) {
  add_to(total, self);
  return std::get<0>(some(self, {}));
}

std::tuple<Tensor, Tensor> copies(const Tensor& self) { return {clone_of(self), scale(self, 2)}; }

Tensor total(Tensors tensors, Doubles weights) {
  Tensor sum = scale(tensors[0], weights[0]);
  for (size_t index = 1; index < tensors.size(); ++index) {
    const double weight = weights[index];
    sum = mapped(sum, tensors[index], [weight](double x, double y) { return x + y * weight; });
  }
  return sum;
}

std::vector<Tensor> total_backward(const Tensor& grad_output, Doubles weights) {
  std::vector<Tensor> grads;
  for (double weight : weights) {
    grads.push_back(scale(grad_output, weight));
  }
  return grads;
}

std::vector<Tensor> halves(const Tensor& self) {
  Tensor source = self;
  const int64_t half = self.size(0) / 2;
  return {clone_of(part_of(source, 0, 0, half)), clone_of(part_of(source, 0, half, self.size(0) - half))};
}

Tensor first(const Tensor& self, int64_t length) {
  Tensor source = self;
  return clone_of(part_of(source, 0, 0, length));
}

namespace {

const double* numbers(const Tensor& self) { return static_cast<const double*>(self.const_data_ptr()); }

double product(const double* x, const double* y, int64_t count) {
  return std::inner_product(x, x + count, y, 0.0);
}

}  // namespace

std::tuple<Tensor, Tensor> attend(const Tensor& query, const Tensor& key, const Tensor& value, double scale) {
  Tensor q = packed(query), k = packed(key), v = packed(value), out = empty_of(q);
  Tensor logsumexp = empty_of(packed(part_of(q, 1, 0, 1)));
  auto* results = static_cast<double*>(out.mutable_data_ptr());
  auto* statistics = static_cast<double*>(logsumexp.mutable_data_ptr());
  const int64_t width = q.size(1);
  std::vector<double> weights(k.size(0));
  for (int64_t row = 0; row < q.size(0); ++row) {
    double sum = 0;
    for (int64_t other = 0; other < k.size(0); ++other) {
      weights[other] = std::exp(scale * product(numbers(q) + row * width, numbers(k) + other * width, width));
      sum += weights[other];
    }
    statistics[row] = std::log(sum);
    for (int64_t column = 0; column < width; ++column) {
      double& result = results[row * width + column] = 0;
      for (int64_t other = 0; other < k.size(0); ++other) {
        result += weights[other] / sum * numbers(v)[other * width + column];
      }
    }
  }
  return {out, logsumexp};
}

// The weights are those of the forward call again, from the statistic, and the result saves a sum over them.
std::tuple<Tensor, Tensor, Tensor> attend_backward(
    const Tensor& grad, const Tensor& grad_logsumexp, const Tensor& query, const Tensor& key, const Tensor& value,
    const Tensor& out, const Tensor& logsumexp, double scale) {
  const Tensor g = packed(grad), gl = packed(grad_logsumexp), q = packed(query), k = packed(key), v = packed(value);
  const Tensor o = packed(out);
  Tensor grad_q = empty_of(q), grad_k = empty_of(k), grad_v = empty_of(v);
  auto* dq = static_cast<double*>(grad_q.mutable_data_ptr());
  auto* dk = static_cast<double*>(grad_k.mutable_data_ptr());
  auto* dv = static_cast<double*>(grad_v.mutable_data_ptr());
  std::fill(dq, dq + q.numel(), 0.0);
  std::fill(dk, dk + k.numel(), 0.0);
  std::fill(dv, dv + v.numel(), 0.0);
  const int64_t width = q.size(1);
  for (int64_t row = 0; row < q.size(0); ++row) {
    const double *a = numbers(q) + row * width, *rows = numbers(g) + row * width;
    const double passed = product(rows, numbers(o) + row * width, width) - numbers(gl)[row];
    for (int64_t other = 0; other < k.size(0); ++other) {
      const double *b = numbers(k) + other * width, *c = numbers(v) + other * width;
      const double weight = std::exp(scale * product(a, b, width) - numbers(logsumexp)[row]);
      const double change = scale * weight * (product(rows, c, width) - passed);
      for (int64_t column = 0; column < width; ++column) {
        dq[row * width + column] += change * b[column];
        dk[other * width + column] += change * a[column];
        dv[other * width + column] += weight * rows[column];
      }
    }
  }
  return {grad_q, grad_k, grad_v};
}

}  // namespace trained::native
