// Operators that PyTorch calls on other devices than the CPU, made of operators that every device has.
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>

#include <optional>
#include <tuple>
#include <vector>

namespace opwright {

using OptionalTensor = std::optional<at::Tensor>;

inline bool has(const OptionalTensor& tensor) {
  return tensor.has_value() && tensor->defined();
}

// Cells of recurrent networks, made of other operators: PyTorch calls a fused kernel on all devices but the CPU. What
// they keep for the backward cell is a tensor of their own choice.
inline at::Tensor with_bias(const at::Tensor& gates, const OptionalTensor& bias) {
  return has(bias) ? gates + *bias : gates;
}

inline std::tuple<at::Tensor, at::Tensor, at::Tensor> fused_lstm_cell(
    const at::Tensor& input_gates,
    const at::Tensor& hidden_gates,
    const at::Tensor& cx,
    const OptionalTensor& input_bias,
    const OptionalTensor& hidden_bias) {
  const auto gates = (with_bias(input_gates, input_bias) + with_bias(hidden_gates, hidden_bias)).chunk(4, 1);
  const at::Tensor in = gates[0].sigmoid(), forget = gates[1].sigmoid(), cell = gates[2].tanh(),
                   out = gates[3].sigmoid();
  const at::Tensor cy = forget * cx + in * cell;
  return {out * cy.tanh(), cy, at::cat({in, forget, cell, out}, 1)};
}

inline std::tuple<at::Tensor, at::Tensor, at::Tensor> fused_lstm_cell_backward(
    const OptionalTensor& grad_hy,
    const OptionalTensor& grad_cy,
    const at::Tensor& cx,
    const at::Tensor& cy,
    const at::Tensor& workspace,
    bool has_bias) {
  const auto gates = workspace.chunk(4, 1);
  const at::Tensor &in = gates[0], &forget = gates[1], &cell = gates[2], &out = gates[3];
  const at::Tensor tanh_cy = cy.tanh();
  at::Tensor grad_cell = has(grad_cy) ? *grad_cy : at::zeros_like(cy);
  at::Tensor grad_out = at::zeros_like(out);
  if (has(grad_hy)) {
    grad_out = *grad_hy * tanh_cy;
    grad_cell = grad_cell + *grad_hy * out * (1 - tanh_cy * tanh_cy);
  }
  const at::Tensor grad_gates = at::cat(
      {grad_cell * cell * in * (1 - in), grad_cell * cx * forget * (1 - forget), grad_cell * in * (1 - cell * cell),
       grad_out * out * (1 - out)},
      1);
  return {grad_gates, grad_cell * forget, has_bias ? grad_gates.sum(0) : at::Tensor()};
}

inline std::tuple<at::Tensor, at::Tensor> fused_gru_cell(
    const at::Tensor& input_gates,
    const at::Tensor& hidden_gates,
    const at::Tensor& hx,
    const OptionalTensor& input_bias,
    const OptionalTensor& hidden_bias) {
  const auto inputs = with_bias(input_gates, input_bias).chunk(3, 1);
  const auto hidden = with_bias(hidden_gates, hidden_bias).chunk(3, 1);
  const at::Tensor reset = (inputs[0] + hidden[0]).sigmoid(), update = (inputs[1] + hidden[1]).sigmoid();
  const at::Tensor next = (inputs[2] + reset * hidden[2]).tanh();
  return {next + update * (hx - next), at::cat({reset, update, next, hx, hidden[2]}, 1)};
}

inline std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> fused_gru_cell_backward(
    const at::Tensor& grad_hy,
    const at::Tensor& workspace,
    bool has_bias) {
  const auto kept = workspace.chunk(5, 1);
  const at::Tensor &reset = kept[0], &update = kept[1], &next = kept[2], &hx = kept[3], &hidden = kept[4];
  const at::Tensor grad_next = grad_hy * (1 - update) * (1 - next * next);
  const at::Tensor grad_update = grad_hy * (hx - next) * update * (1 - update);
  const at::Tensor grad_reset = grad_next * hidden * reset * (1 - reset);
  const at::Tensor grad_inputs = at::cat({grad_reset, grad_update, grad_next}, 1);
  const at::Tensor grad_hidden = at::cat({grad_reset, grad_update, grad_next * reset}, 1);
  return {
      grad_inputs, grad_hidden, grad_hy * update, has_bias ? grad_inputs.sum(0) : at::Tensor(),
      has_bias ? grad_hidden.sum(0) : at::Tensor()};
}

// Dropout. What it draws comes from the generator of the device, which the CPU's kernel would not know.
inline std::tuple<at::Tensor, at::Tensor> dropout_with_mask(
    const at::Tensor& input, double kept, const std::optional<at::Generator>& generator) {
  at::Tensor mask = at::empty_like(input, input.options().dtype(at::kBool));
  mask.bernoulli_(kept, generator);
  return {input * mask * (kept == 0 ? 0.0 : 1 / kept), mask};
}

inline std::tuple<at::Tensor, at::Tensor> native_dropout(
    const at::Tensor& input, double p, std::optional<bool> train) {
  if (train.value_or(true)) {
    return dropout_with_mask(input, 1 - p, std::nullopt);
  }
  return {input.clone(), at::ones_like(input, input.options().dtype(at::kBool))};
}

inline std::tuple<at::Tensor, at::Tensor> fused_dropout(
    const at::Tensor& self, double kept, std::optional<at::Generator> generator) {
  auto [result, mask] = dropout_with_mask(self, kept, generator);
  return {std::move(result), mask.to(at::kByte)};
}

inline at::Tensor masked_scale(const at::Tensor& self, const at::Tensor& mask, double scale) {
  return self * mask * scale;
}

// The parts of batch normalization over several processes. Statistics are in 32 bits at least.
inline at::ScalarType statistics_type(const at::Tensor& input) {
  return input.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

inline std::vector<int64_t> all_but_channels(const at::Tensor& input) {
  std::vector<int64_t> dimensions{0};
  for (int64_t dimension = 2; dimension < input.dim(); ++dimension) {
    dimensions.push_back(dimension);
  }
  return dimensions;
}

// A value for each channel in the shape of an input, and in the type of the statistics.
inline at::Tensor for_channels(const at::Tensor& values, const at::Tensor& input) {
  std::vector<int64_t> sizes(static_cast<size_t>(input.dim()), 1);
  sizes[1] = values.numel();
  return values.to(statistics_type(input)).reshape(sizes);
}

inline std::tuple<at::Tensor, at::Tensor> batch_norm_stats(const at::Tensor& input, double eps) {
  const at::Tensor values = input.to(statistics_type(input));
  const auto dimensions = all_but_channels(input);
  const at::Tensor mean = values.mean(dimensions);
  const at::Tensor distance = values - for_channels(mean, input);
  return {mean, ((distance * distance).mean(dimensions) + eps).rsqrt()};
}

inline std::tuple<at::Tensor, at::Tensor> batch_norm_gather_stats_with_counts(
    const at::Tensor& input,
    const at::Tensor& mean,
    const at::Tensor& invstd,
    const OptionalTensor& running_mean,
    const OptionalTensor& running_var,
    double momentum,
    double eps,
    const at::Tensor& counts) {
  const auto type = statistics_type(input);
  const at::Tensor weights = counts.to(type).reshape({-1, 1}), means = mean.to(type);
  const at::Tensor total = weights.sum();
  const at::Tensor whole = (means * weights).sum(0) / total;
  const at::Tensor variances = invstd.to(type).pow(-2) - eps, distance = means - whole;
  const at::Tensor squares = ((variances + distance * distance) * weights).sum(0);
  if (has(running_mean)) {
    running_mean->copy_(*running_mean * (1 - momentum) + whole * momentum);
  }
  if (has(running_var)) {
    running_var->copy_(*running_var * (1 - momentum) + squares / (total - 1) * momentum);
  }
  return {whole, (squares / total + eps).rsqrt()};
}

inline std::tuple<at::Tensor, at::Tensor> batch_norm_gather_stats(
    const at::Tensor& input,
    const at::Tensor& mean,
    const at::Tensor& invstd,
    const OptionalTensor& running_mean,
    const OptionalTensor& running_var,
    double momentum,
    double eps,
    int64_t count) {
  const at::Tensor counts = at::full({mean.size(0)}, count, mean.options());
  return opwright::batch_norm_gather_stats_with_counts(
      input, mean, invstd, running_mean, running_var, momentum, eps, counts);
}

inline at::Tensor batch_norm_elemt(
    const at::Tensor& input,
    const OptionalTensor& weight,
    const OptionalTensor& bias,
    const at::Tensor& mean,
    const at::Tensor& invstd,
    double /*eps*/) {
  at::Tensor result = (input - for_channels(mean, input)) * for_channels(invstd, input);
  if (has(weight)) {
    result = result * for_channels(*weight, input);
  }
  if (has(bias)) {
    result = result + for_channels(*bias, input);
  }
  return result.to(input.scalar_type());
}

inline at::Tensor& batch_norm_elemt_out(
    const at::Tensor& input,
    const OptionalTensor& weight,
    const OptionalTensor& bias,
    const at::Tensor& mean,
    const at::Tensor& invstd,
    double eps,
    at::Tensor& out) {
  const at::Tensor result = opwright::batch_norm_elemt(input, weight, bias, mean, invstd, eps);
  out.resize_(result.sizes());
  return out.copy_(result);
}

inline std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> batch_norm_backward_reduce(
    const at::Tensor& grad_out,
    const at::Tensor& input,
    const at::Tensor& mean,
    const at::Tensor& invstd,
    const OptionalTensor& weight,
    bool input_g,
    bool weight_g,
    bool bias_g) {
  const auto dimensions = all_but_channels(input);
  const at::Tensor grad = grad_out.to(statistics_type(input));
  const at::Tensor sum = grad.sum(dimensions);
  const at::Tensor sum_with_distance = (grad * (input - for_channels(mean, input))).sum(dimensions);
  const auto type = has(weight) ? weight->scalar_type() : statistics_type(input);
  return {
      input_g ? sum : at::Tensor(), input_g ? sum_with_distance : at::Tensor(),
      weight_g ? (sum_with_distance * invstd).to(type) : at::Tensor(), bias_g ? sum.to(type) : at::Tensor()};
}

inline at::Tensor batch_norm_backward_elemt(
    const at::Tensor& grad_out,
    const at::Tensor& input,
    const at::Tensor& mean,
    const at::Tensor& invstd,
    const OptionalTensor& weight,
    const at::Tensor& sum_dy,
    const at::Tensor& sum_dy_xmu,
    const at::Tensor& count) {
  const at::Tensor total = count.sum(), scale = for_channels(invstd, input);
  const at::Tensor slope = for_channels(sum_dy_xmu / total, input) * scale * scale;
  const at::Tensor distance = input - for_channels(mean, input);
  at::Tensor result = (grad_out - for_channels(sum_dy / total, input) - distance * slope) * scale;
  if (has(weight)) {
    result = result * for_channels(*weight, input);
  }
  return result.to(input.scalar_type());
}

} // namespace opwright
