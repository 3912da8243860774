#include "kernels.h"

#include <ATen/Parallel.h>
#include <ATen/TensorIndexing.h>
#include <ATen/TensorUtils.h>
#include <limits>

namespace small {

at::Tensor arithmetic(const at::Tensor& x, const at::Tensor& y) {
  at::Tensor sum = x + y, difference = x - y;
  sum += y;
  difference -= y;
  return at::stack({sum.to(at::kDouble), difference.to(at::kDouble), (x * y).to(at::kDouble), (-x).to(at::kDouble)});
}

at::Tensor numbers(const at::Tensor& x, int64_t whole, double real) {
  at::Tensor y = x + whole;
  y = y * real;
  y = 1 - y;
  y = y.clamp(-100, real * 40).masked_fill(y > whole, 7);
  return at::where(y == 3, y, y + 2.5);
}

std::tuple<at::Tensor, at::Tensor> made(const at::Tensor& x, int64_t n) {
  const auto options = x.options();
  at::Tensor a = at::full({n, 2}, n, options);
  at::Tensor b = at::full({n}, 3);
  at::Tensor c = at::full_like(x, 2.5, options.dtype(at::kFloat));
  at::Tensor d = at::ones({2, n}, options).cumsum(1);
  std::vector<int32_t> values{1, 2, 3, 4, 5, 6};
  at::Tensor e = at::from_blob(values.data(), {3, 2}, at::kInt).clone();
  at::Tensor f = at::arange(1, n + 4, 3, at::kLong).sum(0).sum({0});
  return {at::cat({a.flatten().to(at::kDouble), b.to(at::kDouble), c.flatten().to(at::kDouble), d.flatten().to(at::kDouble)}),
          at::cat({e.flatten(), f.view({1}).to(at::kInt)})};
}

at::Tensor filled(const at::Tensor& x) {
  at::Tensor y = x.clone();
  AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "filled", [&] {
    scalar_t least = std::numeric_limits<scalar_t>::max(), unused = 0;
    y.fill_(least);
    auto* data = y.data_ptr<scalar_t>();
    const scalar_t* from = x.data_ptr<scalar_t>();
    at::parallel_for(0, x.numel() / 2, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        data[i] = from[i];
      }
    });
  });
  return y;
}

at::Tensor rows(const at::Tensor& x, const at::Tensor& index) {
  at::Tensor y = x.clone();
  auto values = y.accessor<double, 2>();
  values[0][1] = 9;
  y[1] = y[0] * 2;
  auto [sorted, order] = y.sort(1);
  return sorted.index({index}) + sorted[order[0][0]] + order.narrow(0, 0, 1).to(at::kDouble);
}

double read(const at::Tensor& x) { return x.sum().item<double>() + x.max().item<int64_t>(); }

int64_t checked(const at::Tensor& x) {
  TORCH_CHECK(x.dim() == 2, "two dimensions, not ", x.sizes());
  return x.numel() * static_cast<int64_t>(x.element_size());
}

at::Tensor paired(const at::Tensor& x, const at::Tensor& y) {
  at::TensorArg first{x, "first", 1}, second{y, "second", 0};
  at::CheckedFrom name = "paired";
  at::checkAllSameType(name, {first, second});
  TORCH_CHECK(x.dim() == 2, "two dimensions on ", x.device(), ", not ", x.sizes(), " of ", x.scalar_type());
  if (x.size(0) != y.size(0)) {
    at::checkAllSameGPU(name, {first, second});
  }
  at::Tensor sums = at::ones({2, x.size(0), x.size(0)}, x.options());
  sums[0] = sums[0].addmm_(x, y).add(1);
  sums.index_put_({at::indexing::Slice(1), "...", 0}, 5);
  return sums.index({"...", at::indexing::Slice(at::indexing::None, at::indexing::None, 2)}) + sums[1].addmm(x, y)[0][0];
}

}  // namespace small
