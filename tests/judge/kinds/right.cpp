// Right kernels of the ten kinds. They add in single precision, in the order of the elements.
#include <kinds/kernels.h>
#include <torch/csrc/stable/ops.h>
#include <torch/headeronly/util/BFloat16.h>
#include <torch/headeronly/util/Half.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>
#include <type_traits>
#include <vector>

using torch::headeronly::HeaderOnlyArrayRef;
using torch::headeronly::ScalarType;
using torch::stable::Tensor;

namespace {

// Calls a function for the dtype of a tensor.
template <typename Function>
void floating(const Tensor& tensor, Function function) {
  switch (tensor.scalar_type()) {
    case ScalarType::Double: return function.template operator()<double>();
    case ScalarType::Float: return function.template operator()<float>();
    case ScalarType::Half: return function.template operator()<torch::headeronly::Half>();
    default: return function.template operator()<torch::headeronly::BFloat16>();
  }
}

template <typename T>
using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <typename T>
const T* data(const Tensor& tensor) {
  return static_cast<const T*>(tensor.const_data_ptr());
}

template <typename T>
T* written(Tensor& tensor) {
  return static_cast<T*>(tensor.mutable_data_ptr());
}

Tensor made(const Tensor& like, std::vector<int64_t> sizes, std::optional<ScalarType> dtype = std::nullopt) {
  return torch::stable::new_empty(like, sizes, dtype);
}

}  // namespace

namespace kinds::native {

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  Tensor result = torch::stable::empty_like(x);
  floating(x, [&]<typename scalar_t>() {
    using S = Sum<scalar_t>;
    const int64_t d = weight.numel(), rows = d ? x.numel() / d : 0;
    for (int64_t row = 0; row < rows; ++row) {
      const auto* from = data<scalar_t>(x) + row * d;
      S squares = 0;
      for (int64_t i = 0; i < d; ++i) squares += S(from[i]) * S(from[i]);
      const S scale = S(1) / std::sqrt(squares / S(d) + S(eps));
      for (int64_t i = 0; i < d; ++i)
        written<scalar_t>(result)[row * d + i] = scalar_t(S(from[i]) * scale * S(data<scalar_t>(weight)[i]));
    }
  });
  return result;
}

void rotary_(Tensor& q, const Tensor& cos, const Tensor& sin) {
  floating(q, [&]<typename scalar_t>() {
    using S = Sum<scalar_t>;
    const int64_t half = q.size(2) / 2;
    for (int64_t t = 0; t < q.size(0); ++t)
      for (int64_t h = 0; h < q.size(1); ++h) {
        auto* row = written<scalar_t>(q) + t * q.stride(0) + h * q.stride(1);
        for (int64_t i = 0; i < half; ++i) {
          const S c = S(data<scalar_t>(cos)[t * half + i]), s = S(data<scalar_t>(sin)[t * half + i]);
          const S first = S(row[i]), second = S(row[i + half]);
          row[i] = scalar_t(first * c - second * s);
          row[i + half] = scalar_t(second * c + first * s);
        }
      }
  });
}

Tensor paged_gather(const Tensor& given, const Tensor& places, int64_t length) {
  const Tensor pages = torch::stable::contiguous(given), table = torch::stable::contiguous(places);
  const int64_t p = pages.size(1), d = pages.size(2);
  Tensor result = made(pages, {length, d});
  floating(pages, [&]<typename scalar_t>() {
    for (int64_t row = 0; row < length; ++row) {
      const auto* from = data<scalar_t>(pages) + (data<int64_t>(table)[row / p] * p + row % p) * d;
      std::copy(from, from + d, written<scalar_t>(result) + row * d);
    }
  });
  return result;
}

std::tuple<Tensor, Tensor> topk_gate(const Tensor& given, int64_t k) {
  const Tensor logits = torch::stable::contiguous(given);
  const int64_t rows = logits.size(0), count = logits.size(1);
  Tensor weights = made(logits, {rows, k}), experts = made(logits, {rows, k}, ScalarType::Long);
  floating(logits, [&]<typename scalar_t>() {
    using S = Sum<scalar_t>;
    std::vector<int64_t> order(count);
    for (int64_t row = 0; row < rows; ++row) {
      const auto* from = data<scalar_t>(logits) + row * count;
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t left, int64_t right) {
        const S a = S(from[left]), b = S(from[right]);
        return std::isnan(a) ? !std::isnan(b) : a > b;
      });
      S total = 0;
      const S most = S(from[order[0]]);
      for (int64_t i = 0; i < k; ++i) total += std::exp(S(from[order[i]]) - most);
      for (int64_t i = 0; i < k; ++i) {
        written<scalar_t>(weights)[row * k + i] = scalar_t(std::exp(S(from[order[i]]) - most) / total);
        written<int64_t>(experts)[row * k + i] = order[i];
      }
    }
  });
  return {weights, experts};
}

Tensor int8_matmul(const Tensor& left, const Tensor& right, const Tensor& scales) {
  const Tensor a = torch::stable::contiguous(left), b = torch::stable::contiguous(right);
  const Tensor scale = torch::stable::contiguous(scales);
  const int64_t m = a.size(0), k = a.size(1), n = b.size(0);
  Tensor result = made(scale, {m, n});
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      int32_t sum = 0;
      for (int64_t l = 0; l < k; ++l) sum += int32_t(data<int8_t>(a)[i * k + l]) * data<int8_t>(b)[j * k + l];
      written<float>(result)[i * n + j] = float(sum) * data<float>(scale)[i];
    }
  return result;
}

Tensor segment_mean(const Tensor& x, const Tensor& offsets) {
  const int64_t d = x.size(1), count = offsets.size(0) - 1;
  Tensor result = made(x, {count, d});
  floating(x, [&]<typename scalar_t>() {
    using S = Sum<scalar_t>;
    for (int64_t s = 0; s < count; ++s) {
      const int64_t first = data<int64_t>(offsets)[s], last = data<int64_t>(offsets)[s + 1];
      for (int64_t i = 0; i < d; ++i) {
        S sum = 0;
        for (int64_t row = first; row < last; ++row) sum += S(data<scalar_t>(x)[row * d + i]);
        written<scalar_t>(result)[s * d + i] = scalar_t(sum / S(std::max<int64_t>(last - first, 1)));
      }
    }
  });
  return result;
}

Tensor cross_entropy(const Tensor& logits, const Tensor& target, int64_t ignore_index) {
  const int64_t rows = logits.size(0), count = logits.size(1);
  Tensor result = made(logits, {rows});
  floating(logits, [&]<typename scalar_t>() {
    using S = Sum<scalar_t>;
    for (int64_t row = 0; row < rows; ++row) {
      const auto* from = data<scalar_t>(logits) + row * count;
      const int64_t wanted = data<int64_t>(target)[row];
      if (wanted == ignore_index) {
        written<scalar_t>(result)[row] = scalar_t(0);
        continue;
      }
      S most = -std::numeric_limits<S>::infinity(), total = 0;
      for (int64_t i = 0; i < count; ++i) most = S(from[i]) > most || std::isnan(S(from[i])) ? S(from[i]) : most;
      for (int64_t i = 0; i < count; ++i) total += std::exp(S(from[i]) - most);
      written<scalar_t>(result)[row] = scalar_t(most - S(from[wanted]) + std::log(total));
    }
  });
  return result;
}

Tensor causal_conv_(const Tensor& x, const Tensor& weight, Tensor& state) {
  const int64_t b = x.size(0), c = x.size(1), t = x.size(2), k = weight.size(1);
  Tensor result = torch::stable::empty_like(x);
  floating(x, [&]<typename scalar_t>() {
    using S = Sum<scalar_t>;
    std::vector<scalar_t> history(k - 1 + t);
    for (int64_t i = 0; i < b; ++i)
      for (int64_t j = 0; j < c; ++j) {
        auto* kept = written<scalar_t>(state) + i * state.stride(0) + j * state.stride(1);
        for (int64_t l = 0; l < k - 1; ++l) history[l] = kept[l * state.stride(2)];
        std::copy_n(data<scalar_t>(x) + (i * c + j) * t, t, history.begin() + k - 1);
        for (int64_t l = 0; l < t; ++l) {
          S sum = 0;
          for (int64_t tap = 0; tap < k; ++tap) sum += S(history[l + tap]) * S(data<scalar_t>(weight)[j * k + tap]);
          written<scalar_t>(result)[(i * c + j) * t + l] = scalar_t(sum);
        }
        for (int64_t l = 0; l < k - 1; ++l) kept[l * state.stride(2)] = history[t + l];
      }
  });
  return result;
}

std::vector<Tensor> grouped_matmul(HeaderOnlyArrayRef<Tensor> lefts, HeaderOnlyArrayRef<Tensor> rights) {
  std::vector<Tensor> results;
  for (size_t group = 0; group < lefts.size(); ++group) {
    const Tensor a = torch::stable::contiguous(lefts[group]), b = torch::stable::contiguous(rights[group]);
    const int64_t m = a.size(0), k = a.size(1), n = b.size(1);
    Tensor result = made(a, {m, n});
    floating(a, [&]<typename scalar_t>() {
      using S = Sum<scalar_t>;
      std::vector<S> row(n);
      for (int64_t i = 0; i < m; ++i) {
        std::fill(row.begin(), row.end(), S(0));
        for (int64_t l = 0; l < k; ++l)
          for (int64_t j = 0; j < n; ++j)
            row[j] += S(data<scalar_t>(a)[i * k + l]) * S(data<scalar_t>(b)[l * n + j]);
        for (int64_t j = 0; j < n; ++j) written<scalar_t>(result)[i * n + j] = scalar_t(row[j]);
      }
    });
    results.push_back(result);
  }
  return results;
}

Tensor suppress(const Tensor& boxes, const Tensor& scores, double threshold) {
  const int64_t n = scores.numel();
  const auto* box = data<float>(boxes);
  const auto* score = data<float>(scores);
  std::vector<int64_t> order(n), kept;
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t left, int64_t right) {
    return std::isnan(score[left]) ? !std::isnan(score[right]) : score[left] > score[right];
  });
  const auto area = [&](const float* b) { return std::max(b[2] - b[0], 0.f) * std::max(b[3] - b[1], 0.f); };
  for (const int64_t place : order) {
    const float* one = box + 4 * place;
    const bool is_over = std::any_of(kept.begin(), kept.end(), [&](int64_t other) {
      const float* two = box + 4 * other;
      const float width = std::max(std::min(one[2], two[2]) - std::max(one[0], two[0]), 0.f);
      const float height = std::max(std::min(one[3], two[3]) - std::max(one[1], two[1]), 0.f);
      return width * height / (area(one) + area(two) - width * height) > float(threshold);
    });
    if (!is_over) kept.push_back(place);
  }
  Tensor result = made(scores, {int64_t(kept.size())}, ScalarType::Long);
  std::copy(kept.begin(), kept.end(), written<int64_t>(result));
  return result;
}

}  // namespace kinds::native
