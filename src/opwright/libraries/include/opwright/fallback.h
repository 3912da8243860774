// What the fallback of a backend needs besides PyTorch's function for it.
#pragma once

#include <ATen/MemoryOverlap.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/jit_type.h>
#include <ATen/core/stack.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/DeviceType.h>

#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace opwright {

inline std::string operator_name(const c10::OperatorHandle& op) {
  const auto& name = op.operator_name();
  return name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
}

inline std::string entry_name(const c10::OperatorHandle& op) {
  const std::string name = operator_name(op);
  return name.rfind("aten::", 0) == 0 ? name.substr(6) : name;
}

// Warns of the first call of an operator that has no kernel for the device, unless the environment says `never`. `place`
// is where an entry would give it one.
inline void warn_of_fallback(const c10::OperatorHandle& op, const char* place) {
  static const char* const asked = std::getenv("OPWRIGHT_FALLBACK_WARNINGS");
  if (asked != nullptr && std::string_view(asked) == "never") {
    return;
  }
  static std::mutex mutex;
  static auto* const names = new std::unordered_set<std::string>();
  const std::string name = entry_name(op);
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!names->insert(name).second) {
      return;
    }
  }
  TORCH_WARN(
      "`", operator_name(op), "` has no kernel for ", c10::get_privateuse1_backend(),
      ", so the CPU computes it on copies of the tensors. Give it a kernel with an entry `- ", name, "` in ", place,
      ", or hide these warnings there with `warn: never` in `fallback`.");
}

// The kernel of operators that the backend's file refuses.
inline void refuse(const c10::OperatorHandle& op, torch::jit::Stack* /*stack*/) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, "`", operator_name(op), "` does not run on ", c10::get_privateuse1_backend(),
      ": the file of the backend says that it is an error.");
}

// Replaces the generators among the arguments of a call by those that a function gives for them.
template <typename Function>
void replace_generators(const c10::OperatorHandle& op, torch::jit::Stack* stack, Function function) {
  const auto& arguments = op.schema().arguments();
  for (size_t index = 0; index < arguments.size(); ++index) {
    const auto type = arguments[index].type();
    const auto* const optional = type->castRaw<c10::OptionalType>();
    if ((optional != nullptr ? optional->getElementType() : type)->kind() == c10::TypeKind::GeneratorType) {
      auto& value = torch::jit::peek(*stack, index, arguments.size());
      value = function(value.toOptional<at::Generator>());
    }
  }
}

// Names of the arguments to which operators write, though their schemas do not say so, by the names of the operators.
using UndeclaredWrites = std::unordered_map<std::string, std::vector<std::string>>;

// Calls a function that runs an operator for the CPU, with copies in place of the arguments to which the operator
// writes undeclared, and copies these back.
template <typename Function>
void with_undeclared_writes(
    const c10::OperatorHandle& op, torch::jit::Stack* stack, const UndeclaredWrites& writes, Function function) {
  const auto found = writes.find(operator_name(op));
  if (found == writes.end()) {
    function();
    return;
  }
  const size_t count = op.schema().arguments().size();
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;
  for (const auto& name : found->second) {
    auto& value = torch::jit::peek(*stack, *op.schema().argumentIndexWithName(name), count);
    if (value.isTensor() && value.toTensor().defined()) {
      copies.emplace_back(value.toTensor(), value.toTensor().cpu());
      value = copies.back().second;
    }
  }
  function();
  for (const auto& [tensor, copy] : copies) {
    tensor.copy_(copy);
  }
}

// Refuses what PyTorch's kernels refuse of tensors in lists, such as indices: other devices than the CPU and that of the
// indexed tensor, and memory that the call writes. PyTorch's fallback copies lists apart from the other arguments, so that
// the CPU would not see it.
inline void check_lists(const c10::OperatorHandle& op, const torch::jit::Stack* stack) {
  const auto& arguments = op.schema().arguments();
  const auto values = torch::jit::last(*stack, arguments.size());
  for (const auto& list : values) {
    if (!list.isTensorList() && !list.isOptionalTensorList()) {
      continue;
    }
    for (const c10::IValue& item : list.toListRef()) {
      if (!item.isTensor() || !item.toTensor().defined()) {
        continue;
      }
      const at::Tensor& tensor = item.toTensor();
      if (list.isOptionalTensorList() && values[0].isTensor()) {
        const auto device = values[0].toTensor().device();
        TORCH_CHECK(
            tensor.is_cpu() || tensor.device() == device,
            "indices should be either on cpu or on the same device as the indexed tensor (", device, ")");
      }
      for (size_t index = 0; index < arguments.size(); ++index) {
        const auto* const alias = arguments[index].alias_info();
        if (alias != nullptr && alias->isWrite() && values[index].isTensor()) {
          at::assert_no_overlap(values[index].toTensor(), tensor);
        }
      }
    }
  }
}

// The operator that the CPU has for one that PyTorch calls on other devices, with its arguments on the stack; for all
// others the operator itself.
inline c10::OperatorHandle cpu_operator(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const std::string_view name = op.operator_name().name;
  if (!op.operator_name().overload_name.empty()) {
    return op;
  }
  if (name == "aten::convolution_overrideable") {
    return c10::Dispatcher::singleton().findSchemaOrThrow("aten::convolution", "");
  }
  if (name == "aten::convolution_backward_overrideable") {
    // (grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, mask)
    const auto first = stack->end() - static_cast<std::ptrdiff_t>(op.schema().arguments().size());
    const at::Tensor weight = first[2].toTensor();
    const bool transposed = first[6].toBool();
    const std::vector<int64_t> sizes{transposed ? weight.size(1) * first[8].toInt() : weight.size(0)};
    stack->insert(first + 3, c10::IValue(sizes));
    return c10::Dispatcher::singleton().findSchemaOrThrow("aten::convolution_backward", "");
  }
  return op;
}

// Cells of recurrent networks, made of other operators: PyTorch calls a fused kernel on all devices but the CPU. What
// they keep for the backward cell is a tensor of their own choice.
using OptionalTensor = std::optional<at::Tensor>;

inline at::Tensor with_bias(const at::Tensor& gates, const OptionalTensor& bias) {
  return bias.has_value() && bias->defined() ? gates + *bias : gates;
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
  const bool has_grad_hy = grad_hy.has_value() && grad_hy->defined();
  const at::Tensor tanh_cy = cy.tanh();
  at::Tensor grad_cell = grad_cy.has_value() && grad_cy->defined() ? *grad_cy : at::zeros_like(cy);
  at::Tensor grad_out = at::zeros_like(out);
  if (has_grad_hy) {
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

} // namespace opwright
