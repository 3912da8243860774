// The gradients of the two operators, and what `vmap` calls. All are compositions of operators.
#include <torchlpc/kernels.h>

#include "gradients.h"

#include <tuple>

using namespace moved;
using Dimension = std::optional<int64_t>;
using Gradients = std::tuple<Tensor, Tensor, Tensor>;

// What each step of a filter reads: the outputs before it, the newest first.
Tensor lpc_history(const Tensor& y, const Tensor& zi) {
  const Tensor before = cat(flipped(zi, 1), narrowed(y, 0, y.size(1) - 1));
  return flipped(call("aten::unfold", "", before, 1, zi.size(1), 1), 2);
}

// The filter runs backwards over the gradient, with each coefficient at the step that it reaches.
Gradients lpc_backward(const Tensor& grad, const Tensor& a, const Tensor& zi, const Tensor& y) {
  const int64_t batch = a.size(0), steps = a.size(1), order = a.size(2);
  const Tensor skewed = reshaped(padded(transposed(flipped(a, 2)), 0, order + 1), {batch, steps + order + 1, order});
  const Tensor shifted = flipped(transposed(reshaped(narrowed(skewed, 0, steps + order), {batch, order, steps + order})), 2);
  const Tensor adjoint = flipped(
      call("torchlpc::lpc", "", flipped(padded(grad, order, 0), 1), conj(flipped(shifted, 1)), zeros_like(zi)), 1);
  const Tensor input = narrowed(adjoint, order, steps);
  const Tensor coefficients = neg(mul(conj(lpc_history(y, zi)), unsqueezed(input, 2)));
  return {input, coefficients, flipped(narrowed(adjoint, 0, order), 1)};
}

Gradients scan_backward(const Tensor& grad, const Tensor& weights, const Tensor& initials, const Tensor& y) {
  const int64_t steps = weights.size(1);
  const Tensor adjoint = flipped(
      call(
          "torchlpc::scan", "", flipped(padded(grad, 1, 0), 1), conj(flipped(padded(weights, 0, 1), 1)),
          zeros_like(initials)),
      1);
  const Tensor input = narrowed(adjoint, 1, steps);
  const Tensor before = cat(unsqueezed(initials, 1), narrowed(y, 0, steps - 1));
  return {input, mul(conj(before), input), call("aten::select", "int", adjoint, 1, 0)};
}

namespace {

// A tensor whose dimension of examples is joined with that of batches.
Tensor joined(const Tensor& x, Dimension dim, int64_t examples) {
  Ints shape(x.sizes().begin(), x.sizes().end());
  Tensor first = x;
  if (dim.has_value()) {
    first = call("aten::movedim", "int", x, *dim, 0);
  } else {
    shape.insert(shape.begin(), examples);
    first = call("aten::expand", "", x, shape, false);
  }
  return call("aten::flatten", "using_ints", first, 0, 1);
}

// Either operator has a dimension of batches, which takes the examples.
std::tuple<Tensor, Dimension> batched(
    const char* name, const Tensor& a, Dimension a_dim, const Tensor& b, Dimension b_dim, const Tensor& c,
    Dimension c_dim) {
  const int64_t examples = a_dim ? a.size(*a_dim) : b_dim ? b.size(*b_dim) : c.size(*c_dim);
  const Tensor y = call(name, "", joined(a, a_dim, examples), joined(b, b_dim, examples), joined(c, c_dim, examples));
  return {reshaped(y, {examples, -1, y.size(1)}), 0};
}

} // namespace

std::tuple<Tensor, Dimension> torchlpc::native::scan_rule(
    const Tensor& a, Dimension a_dim, const Tensor& b, Dimension b_dim, const Tensor& c, Dimension c_dim) {
  return batched("torchlpc::scan", a, a_dim, b, b_dim, c, c_dim);
}

std::tuple<Tensor, Dimension> torchlpc::native::lpc_rule(
    const Tensor& a, Dimension a_dim, const Tensor& b, Dimension b_dim, const Tensor& c, Dimension c_dim) {
  return batched("torchlpc::lpc", a, a_dim, b, b_dim, c, c_dim);
}
