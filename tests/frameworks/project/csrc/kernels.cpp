// Kernels over borrowed tensors: nothing of any framework is included here.
#include <acme_views/kernels.h>

#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace acme_views::native {

using opwright::Span;
using opwright::TensorView;

void rms_norm(TensorView x, TensorView weight, double eps, TensorView out) {
  opwright::dispatch<float, double>(x, [&](auto zero) {
    using Item = decltype(zero);
    const int64_t d = x.size(-1), rows = d == 0 ? 0 : x.numel() / d;
    const Item* const w = weight.data<Item>();
    for (int64_t row = 0; row < rows; ++row) {
      const Item* const from = x.data<Item>() + row * d;
      Item* const to = out.data<Item>() + row * d;
      double sum = 0;
      for (int64_t i = 0; i < d; ++i) {
        sum += static_cast<double>(from[i]) * from[i];
      }
      const double scale = 1 / std::sqrt(sum / d + eps);
      for (int64_t i = 0; i < d; ++i) {
        to[i] = static_cast<Item>(from[i] * scale * w[i]);
      }
    }
  });
}

void rms_norm_backward(
    TensorView grad, TensorView x, TensorView weight, double eps, TensorView grad_x, TensorView grad_weight) {
  opwright::dispatch<float, double>(x, [&](auto zero) {
    using Item = decltype(zero);
    const int64_t d = x.size(-1), rows = d == 0 ? 0 : x.numel() / d;
    const Item* const w = weight.data<Item>();
    std::vector<double> sums(static_cast<size_t>(d));
    for (int64_t row = 0; row < rows; ++row) {
      const Item *const from = x.data<Item>() + row * d, *const g = grad.data<Item>() + row * d;
      Item* const to = grad_x.data<Item>() + row * d;
      double sum = 0, dot = 0;
      for (int64_t i = 0; i < d; ++i) {
        sum += static_cast<double>(from[i]) * from[i];
        dot += static_cast<double>(g[i]) * w[i] * from[i];
      }
      const double scale = 1 / std::sqrt(sum / d + eps);
      for (int64_t i = 0; i < d; ++i) {
        to[i] = static_cast<Item>(scale * g[i] * w[i] - scale * scale * scale * dot / d * from[i]);
        sums[static_cast<size_t>(i)] += g[i] * from[i] * scale;
      }
    }
    for (int64_t i = 0; i < d; ++i) {
      grad_weight.data<Item>()[i] = static_cast<Item>(sums[static_cast<size_t>(i)]);
    }
  });
}

void rotary(TensorView x, TensorView cos, TensorView sin) {
  opwright::dispatch<float, double>(x, [&](auto zero) {
    using Item = decltype(zero);
    const int64_t dims = x.dim(), half = cos.size(1);
    std::vector<int64_t> index(static_cast<size_t>(dims));
    const int64_t rows = half == 0 ? 0 : x.numel() / (2 * half);
    for (int64_t row = 0; row < rows; ++row) {
      int64_t rest = row, offset = 0;
      for (int64_t dim = dims - 1; dim-- > 0;) {
        offset += rest % x.size(dim) * x.stride(dim);
        rest /= x.size(dim);
      }
      Item* const values = x.data<Item>() + offset;
      const Item *const c = cos.data<Item>() + row % x.size(-2) * half, *const s = sin.data<Item>() + row % x.size(-2) * half;
      for (int64_t i = 0; i < half; ++i) {
        const Item a = values[i], b = values[i + half];
        values[i] = a * c[i] - b * s[i];
        values[i + half] = b * c[i] + a * s[i];
      }
    }
  });
}

void top_k(TensorView scores, int64_t k, TensorView values, TensorView indices) {
  opwright::dispatch<float, double>(scores, [&](auto zero) {
    using Item = decltype(zero);
    const int64_t e = scores.size(-1), rows = e == 0 ? 0 : scores.numel() / e;
    std::vector<int32_t> order(static_cast<size_t>(e));
    for (int64_t row = 0; row < rows; ++row) {
      const Item* const from = scores.data<Item>() + row * e;
      std::iota(order.begin(), order.end(), 0);
      for (int64_t place = 0; place < k; ++place) {
        int64_t best = place;
        for (int64_t other = place + 1; other < e; ++other) {
          best = from[order[other]] > from[order[best]] ? other : best;
        }
        std::swap(order[place], order[best]);
        values.data<Item>()[row * k + place] = from[order[place]];
        indices.data<int32_t>()[row * k + place] = order[place];
      }
    }
  });
}

namespace {

template <class Item, class Function>
void for_each_segment(TensorView segments, int64_t count, Function function) {
  for (int64_t place = 0; place < segments.numel(); ++place) {
    const auto segment = static_cast<int64_t>(segments.data<Item>()[place]);
    if (segment < 0 || segment >= count) {
      throw std::runtime_error("acme_views: there is no segment " + std::to_string(segment));
    }
    function(place, segment);
  }
}

template <class Function>
void for_each_segment_of(TensorView segments, int64_t count, Function function) {
  opwright::dispatch<int32_t, int64_t>(
      segments, [&](auto zero) { for_each_segment<decltype(zero)>(segments, count, function); });
}

} // namespace

void segment_sum(TensorView x, TensorView segments, std::optional<TensorView> weights, int64_t count, TensorView out) {
  opwright::dispatch<float, double>(x, [&](auto zero) {
    using Item = decltype(zero);
    const int64_t d = x.size(1);
    Item* const to = out.data<Item>();
    std::fill(to, to + count * d, Item(0));
    for_each_segment_of(segments, count, [&](int64_t place, int64_t segment) {
      const Item weight = weights.has_value() ? weights->data<Item>()[place] : Item(1);
      for (int64_t i = 0; i < d; ++i) {
        to[segment * d + i] += weight * x.data<Item>()[place * d + i];
      }
    });
  });
}

void segment_gather(TensorView rows, TensorView segments, std::optional<TensorView> weights, TensorView out) {
  opwright::dispatch<float, double>(rows, [&](auto zero) {
    using Item = decltype(zero);
    const int64_t d = rows.size(1);
    for_each_segment_of(segments, rows.size(0), [&](int64_t place, int64_t segment) {
      const Item weight = weights.has_value() ? weights->data<Item>()[place] : Item(1);
      for (int64_t i = 0; i < d; ++i) {
        out.data<Item>()[place * d + i] = weight * rows.data<Item>()[segment * d + i];
      }
    });
  });
}

void weighted_sum(Span<TensorView> xs, Span<double> weights, TensorView out) {
  opwright::dispatch<float, double>(out, [&](auto zero) {
    using Item = decltype(zero);
    for (int64_t i = 0; i < out.numel(); ++i) {
      double sum = 0;
      for (size_t place = 0; place < xs.size(); ++place) {
        sum += weights[place] * xs[place].data<Item>()[i];
      }
      out.data<Item>()[i] = static_cast<Item>(sum);
    }
  });
}

void scaled(TensorView x, double factor, TensorView out) {
  opwright::dispatch<float, double>(x, [&](auto zero) {
    using Item = decltype(zero);
    for (int64_t i = 0; i < x.numel(); ++i) {
      out.data<Item>()[i] = static_cast<Item>(x.data<Item>()[i] * factor);
    }
  });
}

void described(
    TensorView x, int64_t a, bool flag, std::string_view mode, Span<int64_t> pair, std::optional<Span<double>> more,
    Span<bool> flags, std::optional<int64_t> times, TensorView out) {
  double* const to = out.data<double>();
  to[0] = x.numel() == 0 ? 0 : x.data<double>()[x.numel() - 1] + (x.size(1) > 1 ? 100 * x.stride(1) : 0);
  to[1] = static_cast<double>(a);
  to[2] = flag;
  to[3] = mode.empty() ? -1 : mode[0] + 1000.0 * mode.size();
  to[4] = static_cast<double>(pair[0] + 10 * pair[1]);
  to[5] = more.has_value() ? std::accumulate(more->begin(), more->end(), 0.5) : -1;
  to[6] = static_cast<double>(flags.size());
  for (const bool item : flags) {
    to[6] = 10 * to[6] + item;
  }
  to[7] = times.has_value() ? static_cast<double>(*times) : -1;
}

} // namespace acme_views::native
