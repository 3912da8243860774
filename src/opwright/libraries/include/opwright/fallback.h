// What the fallback of a backend needs besides PyTorch's function for it.
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_tag.h>
#include <ATen/core/jit_type.h>
#include <ATen/core/op_registration/adaption.h>
#include <ATen/core/stack.h>
#include <ATen/native/TypeProperties.h>
#include <c10/core/DeviceType.h>

#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
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

// Raises an error for operators that the CPU does not have either. `place` is where an entry would give it a kernel, and
// `layout` the name of the layout of the tensors in the name of a dispatch key.
inline void check_cpu_kernel(
    const c10::OperatorHandle& op, c10::DispatchKey cpu_key, const char* layout, const char* place) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      op.hasComputedKernelForDispatchKey(cpu_key), "Could not run '", operator_name(op),
      "' with arguments from the '", layout, c10::get_privateuse1_backend(),
      "' backend: it has no kernel there, and the CPU, which computes what has none, has none either. Give it a kernel ",
      "with an entry `- ", entry_name(op), "` in ", place, ".");
}

// Calls a function that runs an operator for the CPU, in place of whose generator numbers come from that of the device.
// The generators change places meanwhile, for operators that draw numbers and have no argument for a generator.
template <typename Function>
void with_default_generator(const at::Generator& device, Function function) {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto exchange = [](at::Generator host, at::Generator other) {
    const std::scoped_lock locks(host.mutex(), other.mutex());
    const at::Tensor state = host.get_state();
    host.set_state(other.get_state());
    other.set_state(state);
  };
  struct Exchanged {
    decltype(exchange) swap;
    at::Generator host;
    at::Generator other;
    ~Exchanged() {
      swap(host, other);
    }
  };
  const at::Generator& host = at::detail::getDefaultCPUGenerator();
  exchange(host, device);
  const Exchanged exchanged{exchange, host, device};
  function();
}

// Calls a function that runs an operator for the CPU, with the generators that another function gives in place of those
// among the arguments, and of the CPU's.
template <typename Function, typename Run>
void with_generators(const c10::OperatorHandle& op, torch::jit::Stack* stack, Function function, Run run) {
  const auto& arguments = op.schema().arguments();
  bool takes_generator = false;
  for (size_t index = 0; index < arguments.size(); ++index) {
    const auto type = arguments[index].type();
    const auto* const optional = type->castRaw<c10::OptionalType>();
    if ((optional != nullptr ? optional->getElementType() : type)->kind() == c10::TypeKind::GeneratorType) {
      auto& value = torch::jit::peek(*stack, index, arguments.size());
      value = function(value.toOptional<at::Generator>());
      takes_generator = true;
    }
  }
  if (!takes_generator && op.hasTag(at::Tag::nondeterministic_seeded)) {
    with_default_generator(function(std::nullopt), run);
  } else {
    run();
  }
}

// Calls a function for each tensor of an argument that is a tensor, or a list of tensors that are all there.
template <typename Function>
void for_each_tensor(c10::IValue& value, Function function) {
  if (value.isTensor() && value.toTensor().defined()) {
    function(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) {
      if (tensor.defined()) {
        function(tensor);
      }
    }
  }
}

// A number on the CPU, which kernels of other devices take for a tensor of theirs.
inline bool is_host_number(const at::Tensor& tensor) {
  return tensor.is_cpu() && tensor.dim() == 0;
}

// Refuses tensors on several devices as the wrapper of a kernel does, so that a program which the CPU serves goes on when
// the operator gets a kernel. Operators in `taking_numbers` check devices themselves: numbers on the CPU go with tensors
// of all devices. PyTorch's fallback puts results where the first tensor is, so that numbers before it are copied here.
inline void check_devices(
    const c10::OperatorHandle& op, torch::jit::Stack* stack, const std::unordered_set<std::string>& taking_numbers) {
  const auto& arguments = op.schema().arguments();
  std::optional<c10::Device> device;
  bool is_same = true;
  for (size_t index = 0; index < arguments.size(); ++index) {
    for_each_tensor(torch::jit::peek(*stack, index, arguments.size()), [&](const at::Tensor& tensor) {
      is_same = is_same && tensor.device() == device.value_or(tensor.device());
      device = tensor.device();
    });
  }
  const std::string name = operator_name(op);
  if (is_same || name.rfind("aten::", 0) != 0) {
    return;
  }
  const bool takes_numbers = taking_numbers.count(entry_name(op)) != 0;
  const auto is_number = [&](const c10::Argument& argument, const at::Tensor& tensor) {
    const bool is_written = argument.alias_info() != nullptr && argument.alias_info()->isWrite();
    // Wrappers leave what has to be named to kernels.
    return (takes_numbers || argument.kwarg_only()) && !is_written && is_host_number(tensor);
  };
  device.reset();
  const auto check = [&](const c10::Argument& argument) {
    auto& value = torch::jit::peek(*stack, static_cast<size_t>(&argument - arguments.data()), arguments.size());
    for_each_tensor(value, [&](const at::Tensor& tensor) {
      // PyTorch names arguments so that are on the CPU for all devices.
      const bool is_for_host = tensor.is_cpu() && argument.name().rfind("cpu_", 0) == 0;
      if (!is_for_host && !is_number(argument, tensor)) {
        c10::impl::check_and_update_common_device(device, tensor, name.c_str(), argument.name().c_str());
      }
    });
  };
  for (const bool is_out : {true, false}) {
    for (const c10::Argument& argument : arguments) {
      if (argument.is_out() == is_out) {
        check(argument);
      }
    }
  }
  at::native::ResultTypeState types;
  for (size_t index = 0; index < arguments.size(); ++index) {
    for_each_tensor(torch::jit::peek(*stack, index, arguments.size()), [&](const at::Tensor& tensor) {
      types = at::native::update_result_type_state(tensor, types);
    });
  }
  for (size_t index = 0; device.has_value() && index < arguments.size(); ++index) {
    auto& value = torch::jit::peek(*stack, index, arguments.size());
    if (!value.isTensor() || !value.toTensor().defined()) {
      continue;
    }
    const at::Tensor& tensor = value.toTensor();
    if (!is_number(arguments[index], tensor)) {
      break;
    }
    // A number of the program gives way to the types of tensors, and its copy would not.
    const bool is_wrapped = tensor.unsafeGetTensorImpl()->is_wrapped_number();
    value = tensor.to(*device, is_wrapped ? at::native::result_type(types) : tensor.scalar_type());
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

} // namespace opwright
