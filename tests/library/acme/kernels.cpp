// The kernels that the author of the library writes.
#include <acme/kernels.h>
#include <acme/ops.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/add.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>

using at::Tensor;

namespace acme::meta {

void structured_outer::meta(const Tensor& self, const Tensor& other) {
  set_output_raw_strided(0, {self.size(0), other.size(0)}, {}, self.options());
}

void structured_mix::meta(const Tensor& self, const Tensor& other, const at::Scalar& alpha) {
  build_borrowing_binary_op(maybe_get_output(), self, other);
}

void structured_extremes::meta(const Tensor& self) {
  set_output_strided(0, {self.size(0)}, {}, self.options());
  set_output_strided(1, {self.size(0)}, {}, self.options());
}

}  // namespace acme::meta

namespace acme::native {

Tensor scale_cpu(const Tensor& self, double factor) {
  return self.mul(factor);
}

Tensor scale_meta(const Tensor& self, double factor) {
  return at::empty_like(self);
}

Tensor& scale_inplace(Tensor& self, double factor) {
  return self.mul_(factor);
}

Tensor& scale_out(const Tensor& self, double factor, Tensor& out) {
  return at::mul_out(out, self, at::scalar_tensor(factor, self.options()));
}

void accumulate_cpu(const Tensor& self, Tensor& total) {
  total.add_(self);
}

Tensor combine(
    at::TensorList tensors,
    const std::optional<Tensor>& bias,
    const at::Scalar& weight,
    at::IntArrayRef pads,
    c10::string_view mode) {
  auto sum = at::zeros_like(tensors[0]);
  for (const auto& tensor : tensors) {
    sum = sum + tensor * weight;
  }
  if (bias.has_value()) {
    sum = sum + *bias;
  }
  return (mode == "mean" ? sum / static_cast<int64_t>(tensors.size()) : sum) + (pads[0] + pads[1]);
}

std::tuple<Tensor, Tensor> halves_symint(const Tensor& self, c10::SymInt at, std::optional<int64_t> dim) {
  const auto along = dim.value_or(0);
  return {self.narrow_symint(along, 0, at), self.narrow_symint(along, at, self.sym_size(along) - at)};
}

Tensor repeat_cpu(const Tensor& self, at::IntArrayRef sizes) {
  return self.expand(sizes).contiguous();
}

Tensor repeat_meta_symint(const Tensor& self, c10::SymIntArrayRef sizes) {
  return self.new_empty_symint(sizes);
}

std::vector<Tensor> rows_cpu(const Tensor& self) {
  std::vector<Tensor> rows;
  for (const auto& row : self.unbind()) {
    rows.push_back(row.clone());
  }
  return rows;
}

std::vector<Tensor> rows_meta(const Tensor& self) {
  return rows_cpu(self);
}

Tensor ramp(
    int64_t length,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout> layout,
    std::optional<at::Device> device,
    std::optional<bool> pin_memory) {
  return at::arange(length, dtype, layout, device, pin_memory);
}

Tensor jitter_cpu(const Tensor& self, double amount, std::optional<at::Generator> generator) {
  return self + at::rand(self.sizes(), generator, self.options()) * amount;
}

Tensor jitter_meta(const Tensor& self, double amount, std::optional<at::Generator> generator) {
  return at::empty_like(self);
}

void structured_outer_out::impl(const Tensor& self, const Tensor& other, const Tensor& out) {
  out.copy_(self.unsqueeze(1) * other);
}

void structured_mix_out::impl(const Tensor& self, const Tensor& other, const at::Scalar& alpha, const Tensor& out) {
  auto result = out;
  at::add_out(result, self, other, alpha);
}

void structured_extremes_out::impl(const Tensor& self, const Tensor& low, const Tensor& high) {
  low.copy_(self.amin(1));
  high.copy_(self.amax(1));
}

Tensor rotate_cpu(const Tensor& self, int64_t times) {
  return self.t().repeat({1, times});
}

Tensor& rotate_out_cpu(const Tensor& self, int64_t times, Tensor& out) {
  out.resize_({self.size(1), self.size(0) * times});
  return out.copy_(rotate_cpu(self, times));
}

Tensor& fill_with_cpu(Tensor& self, const at::Scalar& value) {
  return self.fill_(value);
}

Tensor filled_with_cpu(const Tensor& self, const at::Scalar& value) {
  return at::empty_like(self).fill_(value);
}

Tensor& fill_with_out_cpu(const Tensor& self, const at::Scalar& value, Tensor& out) {
  out.resize_(self.sizes());
  return out.fill_(value);
}

std::tuple<Tensor, Tensor> measure_cpu(const Tensor& self, Tensor& seen, at::IntArrayRef dim, bool keepdim) {
  seen.add_(1);
  return {self.sum(dim, keepdim), at::scalar_tensor(self.numel(), at::kLong)};
}

Tensor grid_cpu(
    int64_t rows,
    int64_t columns,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout> layout,
    std::optional<at::Device> device,
    std::optional<bool> pin_memory) {
  return at::arange(rows * columns, dtype, layout, device, pin_memory).to(dtype.value_or(at::kFloat)).view({rows, columns});
}

void structured_join_out::impl(const Tensor& self, const Tensor& other, const Tensor& out) {
  out.narrow(0, 0, self.size(0)).copy_(self);
  out.narrow(0, self.size(0), other.size(0)).copy_(other);
}

Tensor twice(const Tensor& self) {
  return acme::scale(self, 2);
}

std::tuple<Tensor, Tensor> shift_cpu(const Tensor& self, int64_t by) {
  return {self + by, self - by};
}

std::tuple<Tensor, Tensor> shift_meta_symint(const Tensor& self, c10::SymInt by) {
  return {at::empty_like(self), at::empty_like(self)};
}

Tensor& count_inplace(Tensor& self, const Tensor& other) {
  return self.add_(other.numel());
}

Tensor update(const Tensor& self, Tensor& state, at::TensorList parts) {
  state.add_(self);
  for (const auto& part : parts) {
    part.add_(1);
  }
  return self + state;
}

Tensor pick_symint(const Tensor& self, c10::SymInt at) {
  return self.select_symint(0, at);
}

std::tuple<Tensor, Tensor> pair_cpu(const Tensor& self, const std::optional<Tensor>& other, double factor) {
  return {self * factor, other.has_value() ? self + *other : self.clone()};
}

// How often the rule was called, in place of the operator for each example.
static int64_t batches = 0;

std::tuple<Tensor, std::optional<int64_t>, Tensor, std::optional<int64_t>> pair_batch_rule(
    const Tensor& self,
    std::optional<int64_t> self_bdim,
    const std::optional<Tensor>& other,
    std::optional<int64_t> other_bdim,
    double factor) {
  ++batches;
  std::optional<Tensor> second = other;
  if (other_bdim.has_value()) {
    second = other->movedim(*other_bdim, 0);
  }
  const auto first = self_bdim.has_value() ? self.movedim(*self_bdim, 0) : self.expand_as(*second);
  const auto results = acme::pair(first, second, factor);
  return {std::get<0>(results), 0, std::get<1>(results), 0};
}

Tensor& lift_cpu(Tensor& self, const Tensor& other) {
  return self.add_(other);
}

}  // namespace acme::native

namespace mine {

void lift_batch_rule(
    Tensor& self,
    std::optional<int64_t> self_bdim,
    const Tensor& other,
    std::optional<int64_t> other_bdim) {
  TORCH_CHECK(self_bdim.has_value(), "vmap: an example cannot change what all examples share");
  self.movedim(*self_bdim, 0).add_(other_bdim.has_value() ? other.movedim(*other_bdim, 0) : other.unsqueeze(0));
}


int64_t count_batches() {
  return acme::native::batches;
}

Tensor negate(const Tensor& self) {
  return self.neg();
}

}  // namespace mine
