// What an author writes for PyTorch: checks, results, schemas. `torch_glue.py` has what PyTorch wants in Python.
#include <ATen/ATen.h>
#include <ATen/MemoryOverlap.h>
#include <torch/library.h>

#include "kernels.h"

#include <vector>

namespace {

using at::Tensor;

template <class Item>
opwright::TensorView view(by_hand::Dense<Item>&& dense, std::vector<by_hand::Dense<Item>>& kept) {
  kept.push_back(std::move(dense));
  return kept.back().view();
}

template <class Item>
by_hand::Dense<Item> dense(const Tensor& tensor) {
  return {static_cast<const Item*>(tensor.data_ptr()), tensor.sizes().data(), tensor.dim()};
}

void check_real(const char* op, const char* name, const Tensor& tensor) {
  TORCH_CHECK(tensor.device().is_cpu(), "by_hand::", op, ": `", name, "` has to be on the CPU");
  TORCH_CHECK(
      tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kDouble, "by_hand::", op, ": `", name,
      "` has dtype ", tensor.scalar_type());
}

void check_same(const char* op, const char* name, const Tensor& tensor, const Tensor& other) {
  TORCH_CHECK(tensor.device() == other.device(), "by_hand::", op, ": `", name, "` is on another device");
  TORCH_CHECK(tensor.scalar_type() == other.scalar_type(), "by_hand::", op, ": `", name, "` has another dtype");
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  check_real("rms_norm", "x", x);
  check_same("rms_norm", "weight", weight, x);
  TORCH_CHECK(x.dim() >= 1 && weight.dim() == 1, "by_hand::rms_norm: wrong ranks");
  TORCH_CHECK(weight.size(0) == x.size(-1), "by_hand::rms_norm: `weight` has size ", weight.size(0));
  const Tensor dense_x = x.contiguous(), dense_weight = weight.contiguous();
  Tensor out = at::empty_like(dense_x);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "rms_norm", [&] {
    auto from = dense<scalar_t>(dense_x), by = dense<scalar_t>(dense_weight), to = dense<scalar_t>(out);
    acme_views::native::rms_norm(from.view(), by.view(), eps, to.view());
  });
  return out;
}

std::tuple<Tensor, Tensor> rms_norm_backward(const Tensor& grad, const Tensor& x, const Tensor& weight, double eps) {
  check_real("rms_norm_backward", "x", x);
  check_same("rms_norm_backward", "weight", weight, x);
  check_same("rms_norm_backward", "grad", grad, x);
  TORCH_CHECK(x.dim() >= 1 && weight.dim() == 1, "by_hand::rms_norm_backward: wrong ranks");
  TORCH_CHECK(weight.size(0) == x.size(-1), "by_hand::rms_norm_backward: `weight` has size ", weight.size(0));
  TORCH_CHECK(grad.sizes() == x.sizes(), "by_hand::rms_norm_backward: `grad` has sizes ", grad.sizes());
  const Tensor dense_grad = grad.contiguous(), dense_x = x.contiguous(), dense_weight = weight.contiguous();
  Tensor grad_x = at::empty_like(dense_x), grad_weight = at::empty_like(dense_weight);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "rms_norm_backward", [&] {
    auto g = dense<scalar_t>(dense_grad), from = dense<scalar_t>(dense_x), by = dense<scalar_t>(dense_weight);
    auto to_x = dense<scalar_t>(grad_x), to_weight = dense<scalar_t>(grad_weight);
    acme_views::native::rms_norm_backward(g.view(), from.view(), by.view(), eps, to_x.view(), to_weight.view());
  });
  return {grad_x, grad_weight};
}

void rotary_(Tensor& x, const Tensor& cos, const Tensor& sin) {
  check_real("rotary_", "x", x);
  check_same("rotary_", "cos", cos, x);
  check_same("rotary_", "sin", sin, x);
  TORCH_CHECK(x.dim() >= 2 && cos.dim() == 2 && sin.sizes() == cos.sizes(), "by_hand::rotary_: wrong sizes");
  TORCH_CHECK(cos.size(0) == x.size(-2) && x.size(-1) == 2 * cos.size(1), "by_hand::rotary_: wrong sizes");
  TORCH_CHECK(x.is_contiguous(), "by_hand::rotary_: `x` has to be contiguous");
  at::assert_no_internal_overlap(x);
  at::assert_no_overlap(x, cos);
  at::assert_no_overlap(x, sin);
  const Tensor dense_cos = cos.contiguous(), dense_sin = sin.contiguous();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "rotary_", [&] {
    auto values = dense<scalar_t>(x), c = dense<scalar_t>(dense_cos), s = dense<scalar_t>(dense_sin);
    acme_views::native::rotary(values.view(), c.view(), s.view());
  });
}

std::tuple<Tensor, Tensor> top_k(const Tensor& scores, int64_t k) {
  check_real("top_k", "scores", scores);
  TORCH_CHECK(scores.dim() >= 1, "by_hand::top_k: `scores` has rank 0");
  TORCH_CHECK(k >= 1 && k <= scores.size(-1), "by_hand::top_k: k is ", k);
  const Tensor dense_scores = scores.contiguous();
  std::vector<int64_t> sizes = scores.sizes().vec();
  sizes.back() = k;
  Tensor values = at::empty(sizes, scores.options()), indices = at::empty(sizes, scores.options().dtype(at::kInt));
  AT_DISPATCH_FLOATING_TYPES(scores.scalar_type(), "top_k", [&] {
    auto from = dense<scalar_t>(dense_scores), to = dense<scalar_t>(values);
    auto places = dense<int32_t>(indices);
    acme_views::native::top_k(from.view(), k, to.view(), places.view());
  });
  return {values, indices};
}

template <class Function>
void with_segments(const Tensor& segments, Function function) {
  if (segments.scalar_type() == at::kInt) {
    auto places = dense<int32_t>(segments);
    function(places.view());
  } else {
    auto places = dense<int64_t>(segments);
    function(places.view());
  }
}

void check_segments(const char* op, const Tensor& rows, const Tensor& segments, const std::optional<Tensor>& weights) {
  check_real(op, "x", rows);
  TORCH_CHECK(rows.dim() == 2 && segments.dim() == 1, "by_hand::", op, ": wrong ranks");
  TORCH_CHECK(
      segments.scalar_type() == at::kInt || segments.scalar_type() == at::kLong, "by_hand::", op,
      ": `segments` has dtype ", segments.scalar_type());
  TORCH_CHECK(segments.device() == rows.device(), "by_hand::", op, ": `segments` is on another device");
  if (weights.has_value()) {
    check_same(op, "weights", *weights, rows);
    TORCH_CHECK(weights->sizes() == segments.sizes(), "by_hand::", op, ": `weights` has sizes ", weights->sizes());
  }
}

Tensor segment_sum(const Tensor& x, const Tensor& segments, const std::optional<Tensor>& weights, int64_t count) {
  check_segments("segment_sum", x, segments, weights);
  TORCH_CHECK(segments.size(0) == x.size(0), "by_hand::segment_sum: `segments` has size ", segments.size(0));
  TORCH_CHECK(count >= 0, "by_hand::segment_sum: count is ", count);
  const Tensor dense_x = x.contiguous(), dense_segments = segments.contiguous();
  const Tensor dense_weights = weights.has_value() ? weights->contiguous() : Tensor();
  Tensor out = at::empty({count, x.size(1)}, x.options());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "segment_sum", [&] {
    auto from = dense<scalar_t>(dense_x), to = dense<scalar_t>(out);
    std::vector<by_hand::Dense<scalar_t>> kept;
    std::optional<opwright::TensorView> by;
    if (weights.has_value()) {
      by = view(dense<scalar_t>(dense_weights), kept);
    }
    with_segments(dense_segments, [&](opwright::TensorView places) {
      acme_views::native::segment_sum(from.view(), places, by, count, to.view());
    });
  });
  return out;
}

Tensor segment_gather(const Tensor& rows, const Tensor& segments, const std::optional<Tensor>& weights) {
  check_segments("segment_gather", rows, segments, weights);
  const Tensor dense_rows = rows.contiguous(), dense_segments = segments.contiguous();
  const Tensor dense_weights = weights.has_value() ? weights->contiguous() : Tensor();
  Tensor out = at::empty({segments.size(0), rows.size(1)}, rows.options());
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "segment_gather", [&] {
    auto from = dense<scalar_t>(dense_rows), to = dense<scalar_t>(out);
    std::vector<by_hand::Dense<scalar_t>> kept;
    std::optional<opwright::TensorView> by;
    if (weights.has_value()) {
      by = view(dense<scalar_t>(dense_weights), kept);
    }
    with_segments(dense_segments, [&](opwright::TensorView places) {
      acme_views::native::segment_gather(from.view(), places, by, to.view());
    });
  });
  return out;
}

Tensor weighted_sum(at::TensorList xs, at::ArrayRef<double> weights) {
  TORCH_CHECK(!xs.empty() && xs.size() == weights.size(), "by_hand::weighted_sum: each tensor has a weight");
  std::vector<Tensor> all;
  for (const Tensor& x : xs) {
    check_real("weighted_sum", "xs", x);
    check_same("weighted_sum", "xs", x, xs[0]);
    TORCH_CHECK(x.sizes() == xs[0].sizes(), "by_hand::weighted_sum: `xs` has sizes ", x.sizes());
    all.push_back(x.contiguous());
  }
  Tensor out = at::empty(xs[0].sizes(), xs[0].options());
  AT_DISPATCH_FLOATING_TYPES(out.scalar_type(), "weighted_sum", [&] {
    std::vector<by_hand::Dense<scalar_t>> kept;
    std::vector<opwright::TensorView> views;
    kept.reserve(all.size());
    for (const Tensor& x : all) {
      views.push_back(view(dense<scalar_t>(x), kept));
    }
    auto to = dense<scalar_t>(out);
    acme_views::native::weighted_sum({views.data(), views.size()}, {weights.data(), weights.size()}, to.view());
  });
  return out;
}

} // namespace

TORCH_LIBRARY(by_hand, m) {
  m.def("rms_norm(Tensor x, Tensor weight, float eps=1e-6) -> Tensor");
  m.def("rms_norm_backward(Tensor grad, Tensor x, Tensor weight, float eps=1e-6) -> (Tensor grad_x, Tensor grad_weight)");
  m.def("rotary_(Tensor(a!) x, Tensor cos, Tensor sin) -> ()");
  m.def("top_k(Tensor scores, int k) -> (Tensor values, Tensor indices)");
  m.def("segment_sum(Tensor x, Tensor segments, Tensor? weights=None, *, int count) -> Tensor");
  m.def("segment_gather(Tensor rows, Tensor segments, Tensor? weights=None) -> Tensor");
  m.def("weighted_sum(Tensor[] xs, float[] weights) -> Tensor");
}

TORCH_LIBRARY_IMPL(by_hand, CPU, m) {
  m.impl("rms_norm", rms_norm);
  m.impl("rms_norm_backward", rms_norm_backward);
  m.impl("rotary_", rotary_);
  m.impl("top_k", top_k);
  m.impl("segment_sum", segment_sum);
  m.impl("segment_gather", segment_gather);
  m.impl("weighted_sum", weighted_sum);
}
