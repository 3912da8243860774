// What the moved library calls of PyTorch: operators, through the dispatcher.
#pragma once
#include <opwright/stable_call.h>
#include <torch/csrc/stable/ops.h>
#include <torch/headeronly/core/Dispatch_v2.h>

#include <numeric>
#include <optional>
#include <vector>

namespace moved {

using opwright::call;
using torch::stable::Tensor;
using Ints = std::vector<int64_t>;

inline Tensor flipped(const Tensor& x, int64_t dim) { return call("aten::flip", "", x, Ints{dim}); }
inline Tensor cat(const Tensor& x, const Tensor& y) { return call("aten::cat", "", std::vector<Tensor>{x, y}, 1); }
inline Tensor narrowed(const Tensor& x, int64_t start, int64_t length) {
  return call("aten::narrow", "", x, 1, start, length);
}
inline Tensor unsqueezed(const Tensor& x, int64_t dim) { return call("aten::unsqueeze", "", x, dim); }
inline Tensor conj(const Tensor& x) { return call("aten::conj_physical", "", x); }
inline Tensor mul(const Tensor& x, const Tensor& y) { return call("aten::mul", "Tensor", x, y); }
inline Tensor neg(const Tensor& x) { return call("aten::neg", "", x); }
inline Tensor transposed(const Tensor& x) { return call("aten::transpose", "int", x, 1, 2); }
inline Tensor reshaped(const Tensor& x, const Ints& shape) { return call("aten::reshape", "", x, shape); }
inline Tensor zeros_like(const Tensor& x) {
  using namespace torch::headeronly;
  return call(
      "aten::zeros_like", "", x, std::optional<ScalarType>(), std::optional<Layout>(),
      std::optional<torch::stable::Device>(), std::optional<bool>(), std::optional<MemoryFormat>());
}
inline Tensor padded(const Tensor& x, int64_t before, int64_t after) {
  return call("aten::pad", "", x, Ints{before, after}, "constant", std::optional<double>());
}
inline bool holds_numbers(const Tensor& x) {
  using torch::headeronly::ScalarType;
  const auto type = x.scalar_type();
  return type == ScalarType::Float || type == ScalarType::Double || type == ScalarType::ComplexFloat ||
      type == ScalarType::ComplexDouble;
}

} // namespace moved
