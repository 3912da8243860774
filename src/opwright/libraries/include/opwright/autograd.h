// Nodes of the backward graph and kernels that record them. Opwright's generated code uses what is in this header.
//
// PyTorch declares some of it in `FunctionsManual.h`, which includes all operators and takes much longer to compile,
// and exports only a part.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/_efficientzerotensor.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/VariableTypeUtils.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/csrc/dynamo/compiled_autograd.h>
#include <torch/version.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// Nodes give compiled autograd packed values from 2.7 on. Before, they run on values that are swapped for their own.
#define OPWRIGHT_NODES_PACK_VALUES (TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 7)
// Nodes count their owners themselves from 2.13 on.
#define OPWRIGHT_NODES_ARE_INTRUSIVE (TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 13)
#if OPWRIGHT_NODES_PACK_VALUES
#define OPWRIGHT_PACKED_NAMES                                   \
  using opwright::autograd::compiled_autograd_apply_functional; \
  using torch::autograd::ivalue_list;                           \
  using torch::dynamo::autograd::PackedArgs;
#else
#define OPWRIGHT_PACKED_NAMES
#endif

// These functions are exported. Default arguments are left out, because `FunctionsManual.h` may be included too.
namespace torch::autograd::generated::details {

TORCH_API at::Tensor toNonOptFwGrad(const std::optional<at::Tensor>& tensor);
TORCH_API at::Tensor toNonOptPrimal(const std::optional<at::Tensor>& tensor);
TORCH_API at::Tensor toNonOptTensor(const std::optional<at::Tensor>& tensor);
TORCH_API void update_wrapped_number(at::Tensor& input, at::Tensor& output);
TORCH_API bool any_variable_defined(const variable_list& variables);
TORCH_API void copy_range(variable_list& out, IndexRange range, const at::Tensor& gradient);
TORCH_API void copy_range(variable_list& out, IndexRange range, at::ArrayRef<at::Tensor> gradients);
TORCH_API at::Tensor apply_loss_reduction(const at::Tensor& unreduced, int64_t reduction);
TORCH_API at::Tensor copysign_tensor_self_backward(
    const at::Tensor& grad, const at::Tensor& self, const at::Tensor& result);
TORCH_API at::Tensor not_implemented(const char* name, const char* reason);
TORCH_API std::vector<at::Tensor> not_implemented_list(const char* name, const char* reason);

}  // namespace torch::autograd::generated::details

namespace torch::autograd {

// The zeros of a tensor's type and sizes, which nodes save instead of the tensor. PyTorch defines this function in one
// of its generated files, and does not export it.
inline at::Tensor TypeAndSize::zeros() {
  return at::zeros_symint(sym_sizes, options);
}

}  // namespace torch::autograd

namespace torch::autograd::generated {
using torch::autograd::TypeAndSize;
}  // namespace torch::autograd::generated

namespace opwright::autograd {

// Gives out ranges of the numbers of gradients, one after the other.
class IndexRangeGenerator {
 public:
  torch::autograd::IndexRange range(std::size_t count) {
    const std::size_t start = next_;
    next_ += count;
    return {start, next_};
  }
  std::size_t size() const {
    return next_;
  }

 private:
  std::size_t next_ = 0;
};

// A formula for a gradient that does not exist.
inline at::Tensor not_implemented(const char* name, const char* reason = "") {
  return torch::autograd::generated::details::not_implemented(name, reason);
}

inline std::vector<at::Tensor> not_implemented_list(const char* name, const char* reason = "") {
  return torch::autograd::generated::details::not_implemented_list(name, reason);
}

// A tensor, if a formula needs it.
inline std::optional<at::Tensor> wrap_opt_if(const at::Tensor& tensor, bool is_needed) {
  return is_needed ? std::optional<at::Tensor>(tensor) : std::nullopt;
}

// A kernel's arguments, which must be defined.
template <class Tensor>
Tensor& unpack(Tensor& tensor, const char* name, int position) {
  if constexpr (std::is_same_v<std::remove_const_t<Tensor>, at::Tensor>) {
    TORCH_CHECK(
        tensor.defined(), "Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument #",
        position, " '", name, "'");
  } else {
    for (const auto& item : tensor) {
      unpack(item, name, position);
    }
  }
  return tensor;
}

inline const std::optional<at::Tensor>& unpack(const std::optional<at::Tensor>& tensor, const char*, int) {
  return tensor;
}

// The tensors that a node saved, or an error if they were released.
template <class Node = std::nullptr_t>
std::vector<at::Tensor> unpack_list(
    const std::vector<torch::autograd::SavedVariable>& saved, const Node& owner = nullptr) {
  std::vector<at::Tensor> tensors;
  tensors.reserve(saved.size());
  for (const auto& variable : saved) {
    tensors.push_back(variable.unpack(owner));
  }
  return tensors;
}

template <class Node = std::nullptr_t>
c10::List<std::optional<at::Tensor>> unpack_opt_list(
    const std::vector<torch::autograd::SavedVariable>& saved, const Node& owner = nullptr) {
  c10::List<std::optional<at::Tensor>> tensors;
  tensors.reserve(saved.size());
  for (const auto& variable : saved) {
    at::Tensor tensor = variable.unpack(owner);
    tensors.push_back(tensor.defined() ? std::optional<at::Tensor>(std::move(tensor)) : std::nullopt);
  }
  return tensors;
}

// Counts the versions of tensors that an operator wrote to.
inline void increment_version(at::TensorList tensors) {
  for (const at::Tensor& tensor : tensors) {
    torch::autograd::impl::bump_version(tensor);
  }
}

inline void increment_version(const std::optional<at::Tensor>& tensor) {
  if (tensor.has_value() && tensor->defined()) {
    torch::autograd::impl::bump_version(*tensor);
  }
}

inline void increment_version(const c10::List<std::optional<at::Tensor>>& tensors) {
  for (const std::optional<at::Tensor> tensor : tensors) {
    increment_version(tensor);
  }
}

// Raises an error for tensors that an operator may not write to, because gradients need them.
inline void check_inplace(const std::optional<at::Tensor>& tensor, bool requires_grad) {
  if (tensor.has_value() && tensor->defined()) {
    torch::autograd::check_inplace(*tensor, requires_grad);
  }
}

inline void check_inplace(const c10::List<std::optional<at::Tensor>>& tensors, bool requires_grad) {
  for (const std::optional<at::Tensor> tensor : tensors) {
    check_inplace(tensor, requires_grad);
  }
}

// The tensors among arguments that an operator writes to.
inline void append_tensors(torch::autograd::variable_list& all, const at::Tensor& tensor) {
  all.push_back(tensor);
}

inline void append_tensors(torch::autograd::variable_list& all, const std::optional<at::Tensor>& tensor) {
  if (tensor.has_value()) {
    all.push_back(*tensor);
  }
}

inline void append_tensors(torch::autograd::variable_list& all, at::TensorList tensors) {
  all.insert(all.end(), tensors.begin(), tensors.end());
}

inline void append_tensors(
    torch::autograd::variable_list& all, const c10::List<std::optional<at::Tensor>>& tensors) {
  for (const std::optional<at::Tensor> tensor : tensors) {
    append_tensors(all, tensor);
  }
}

// The tensors in a value of any type, however deep.
inline void append_tensors(torch::autograd::variable_list& all, const c10::IValue& value) {
  value.visit([&all](const c10::IValue& part) {
    if (part.isTensor() && part.toTensor().defined()) {
      all.push_back(part.toTensor());
    }
    return part.isTensor();
  });
}

// What else has tensors in it, such as a list that may be absent.
inline void increment_version(const c10::IValue& value) {
  torch::autograd::variable_list all;
  append_tensors(all, value);
  increment_version(at::TensorList(all));
}

template <class... Args>
torch::autograd::variable_list written_tensors(const Args&... args) {
  torch::autograd::variable_list all;
  (append_tensors(all, args), ...);
  return all;
}

// Raises if a tensor that an operator accumulates into is a view. PyTorch hands the gradient of the base to the first
// input of a node with one output, which is another one.
template <class Written>
void check_no_views(const Written& written, bool requires_grad, const char* operator_name) {
  for (const at::Tensor& tensor : written_tensors(written)) {
    TORCH_CHECK_NOT_IMPLEMENTED(
        !requires_grad || !tensor.is_view(), operator_name, " cannot record gradients through a view that it writes to");
  }
}

// Makes a node the history of a result that it saves, and whose gradient no formula reads: the node gets that gradient,
// and raises. A result that callers get has no gradient, so the history is that of another tensor with its memory.
template <class Node>
at::Tensor keep_history(const at::Tensor& result, const Node& node, bool is_returned) {
  if (!result.defined() || !torch::autograd::isDifferentiableType(result.scalar_type())) {
    node->add_input_metadata(torch::autograd::Node::undefined_input());
    return result;
  }
  at::Tensor kept = is_returned ? result.detach() : result;
  torch::autograd::set_history(kept, node);
  return kept;
}

template <class Node>
std::optional<at::Tensor> keep_history(
    const std::optional<at::Tensor>& result, const Node& node, bool is_returned) {
  return keep_history(result.value_or(at::Tensor()), node, is_returned);
}

// Raises if the results that a node keeps have gradients, and takes those away: they follow `count` others. The node of an
// in-place form keeps no results.
inline void check_kept(
    torch::autograd::variable_list& gradients, std::size_t count, std::initializer_list<const char*> messages) {
  if (gradients.size() < count + messages.size()) {
    return;
  }
  std::size_t place = gradients.size() - messages.size();
  const std::size_t first = place;
  for (const char* const message : messages) {
    TORCH_CHECK_NOT_IMPLEMENTED(!gradients[place].defined(), message);
    ++place;
  }
  gradients.resize(first);
}

// Finds out whether something else differentiates the call of an operator, and would take what its node keeps for a
// constant: forward mode, or an outer transformation of `torch.func` if callers get what is kept. The kernel of the outer
// one runs inside of the call.
class OuterCalls {
 public:
  OuterCalls() : before_(std::exchange(is_found(), false)) {}

  // What is known after the call with these arguments, of whose results some are kept, of which callers get some.
  bool found(
      const torch::autograd::variable_list& arguments, const torch::autograd::variable_list& kept,
      const torch::autograd::variable_list& returned) const {
    bool is_again = is_found();
    bool is_outer = false;
    for (const at::Tensor& tensor : arguments) {
      is_again = is_again || (tensor.defined() && torch::autograd::isFwGradDefined(tensor));
      is_outer = is_outer || (tensor.defined() && tensor.key_set().has(c10::DispatchKey::FuncTorchGradWrapper));
    }
    is_found() = before_ || is_again || (is_outer && have_history(returned));
    return is_again && have_history(kept);
  }

 private:
  static bool have_history(const torch::autograd::variable_list& tensors) {
    return std::any_of(tensors.begin(), tensors.end(), [](const at::Tensor& tensor) {
      return tensor.defined() && tensor.requires_grad();
    });
  }

  static bool& is_found() {
    static thread_local bool is_found = false;
    return is_found;
  }

  bool before_;
};

// Makes a node that raises the origin of new results, and of tensors that an operator without derivatives wrote to.
// A result may be one of the written tensors.
template <class Node>
void record_writes(
    const torch::autograd::variable_list& results, const torch::autograd::variable_list& written, const Node& node) {
  for (const at::Tensor& result : results) {
    const bool is_written = std::any_of(
        written.begin(), written.end(), [&](const at::Tensor& tensor) { return tensor.is_same(result); });
    if (!is_written && result.defined() && torch::autograd::isDifferentiableType(result.scalar_type())) {
      torch::autograd::set_history(result, node);
    }
  }
  for (const at::Tensor& tensor : written) {
    if (tensor.defined() && torch::autograd::isDifferentiableType(tensor.scalar_type())) {
      torch::autograd::rebase_history(tensor, node);
    }
  }
}

// Whether a value has lists or dictionaries in it, or is a dictionary. `torch.func` does not look into those.
inline bool is_nested(const c10::IValue& value) {
  const auto is_container = [](const c10::IValue& item) { return item.isList() || item.isGenericDict(); };
  if (!value.isList()) {
    return value.isGenericDict();
  }
  const auto items = value.toListRef();
  return std::any_of(items.begin(), items.end(), is_container);
}

// Raises for a result whose tensors a transformation of `torch.func` would take for constants.
inline void check_no_transformation(const c10::IValue& result, const std::string& operator_name) {
  const c10::DispatchKeySet included = c10::impl::tls_local_dispatch_key_set().included_;
  TORCH_CHECK_NOT_IMPLEMENTED(
      !is_nested(result) || !(included.has(c10::DispatchKey::FuncTorchDynamicLayerFrontMode) ||
                              included.has(c10::DispatchKey::FuncTorchDynamicLayerBackMode)),
      "derivative for ", operator_name, " is not implemented: torch.func passes on no tensors of nested lists");
}

// The kernel of an operator without derivatives whose arguments or results have tensors in other types than lists.
inline void record_not_implemented(
    const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const c10::FunctionSchema& schema = op.schema();
  const std::string& name = schema.name();
  torch::autograd::variable_list inputs, written, results;
  const auto arguments = torch::jit::last(*stack, schema.arguments().size());
  for (std::size_t index = 0; index < arguments.size(); ++index) {
    append_tensors(inputs, arguments[index]);
    const c10::AliasInfo* const alias = schema.arguments()[index].alias_info();
    if (alias != nullptr && alias->isWrite()) {
      append_tensors(written, arguments[index]);
    }
  }
  for (const at::Tensor& tensor : inputs) {
    TORCH_CHECK_NOT_IMPLEMENTED(
        !torch::autograd::isFwGradDefined(tensor), "Trying to use forward AD with ", name,
        " that does not support it because it has not been implemented yet.");
  }
  const bool requires_grad = torch::autograd::compute_requires_grad(at::TensorList(inputs));
  for (const at::Tensor& tensor : written) {
    torch::autograd::check_inplace(tensor, requires_grad);
  }
  {
    at::AutoDispatchBelowAutograd guard;
    op.redispatchBoxed(keys & c10::after_autograd_keyset, stack);
  }
  if (requires_grad) {
#if OPWRIGHT_NODES_ARE_INTRUSIVE
    auto node = c10::make_intrusive<torch::autograd::NotImplemented>(name);
#else
    std::shared_ptr<torch::autograd::NotImplemented> node(
        new torch::autograd::NotImplemented(name), torch::autograd::deleteNode);
#endif
    node->set_next_edges(torch::autograd::collect_next_edges(at::TensorList(inputs)));
    for (const c10::IValue& result : torch::jit::last(*stack, schema.returns().size())) {
      check_no_transformation(result, name);
      append_tensors(results, result);
    }
    record_writes(results, written, node);
  }
}

// The operator that records a call of another one with the gradients and tangents of its reference. The Python package of
// a library defines it.
inline c10::OperatorHandle recording_operator(const char* name, const char* overload) {
  const auto op = c10::Dispatcher::singleton().findSchema({name, overload});
  TORCH_CHECK_NOT_IMPLEMENTED(
      op.has_value(), name, " is not defined, so there are no gradients: import the Python package of the library");
  return *op;
}

template <class Schema>
c10::TypedOperatorHandle<Schema> recording_operator(const char* name, const char* overload) {
  return recording_operator(name, overload).typed<Schema>();
}

// The kernel of an operator without derivatives that has a reference.
inline void record_by_reference(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  torch::autograd::variable_list inputs;
  for (const c10::IValue& argument : torch::jit::last(*stack, op.schema().arguments().size())) {
    append_tensors(inputs, argument);
  }
  const bool has_tangent = std::any_of(
      inputs.begin(), inputs.end(), [](const at::Tensor& tensor) { return torch::autograd::isFwGradDefined(tensor); });
  if (has_tangent || torch::autograd::compute_requires_grad(at::TensorList(inputs))) {
    const std::string& name = op.schema().name();
    const std::size_t base = name.find("::") + 2;
    const std::string recording = name.substr(0, base) + "_" + name.substr(base) + "_reference";
    recording_operator(recording.c_str(), op.schema().overload_name().c_str()).callBoxed(stack);
    return;
  }
  at::AutoDispatchBelowAutograd guard;
  op.redispatchBoxed(keys & c10::after_autograd_keyset, stack);
}

// Forgets the node that accumulates gradients of a tensor, because the tensor's sizes changed.
inline void reset_grad_accumulator(const at::Tensor& tensor) {
  if (auto* const meta = torch::autograd::impl::get_autograd_meta(tensor)) {
    meta->grad_accumulator_.reset();
  }
}

// What takes the place of the function that gives the base of a view back: a library's views have none.
inline std::function<at::Tensor(const at::Tensor&)> irreversible_view(const char* name) {
  return [name](const at::Tensor&) -> at::Tensor {
    TORCH_CHECK_NOT_IMPLEMENTED(false, "the view ", name, " cannot be reversed");
  };
}

#if OPWRIGHT_NODES_PACK_VALUES
// Runs a backward function in the graph that compiled autograd traces.
inline torch::autograd::variable_list compiled_autograd_apply_functional(
    const torch::dynamo::autograd::PackedArgs& arguments,
    const torch::autograd::edge_list& next_edges,
    torch::dynamo::autograd::SwapSavedVariables& saved,
    const torch::autograd::variable_list& gradients,
    const std::string& name) {
  using Metadata = std::vector<std::optional<torch::autograd::InputMetadata>>;
  const auto metadata = torch::dynamo::autograd::get_input_metadata(next_edges);
  return torch::dynamo::autograd::getPyCompilerInterface()->call_function(
      saved.get_py_compiler(), "apply_functional", name, gradients, arguments.vec(),
      torch::dynamo::autograd::IValuePacker<Metadata>::pack(metadata));
}
#endif

}  // namespace opwright::autograd

// The names that generated code uses. As they are declared in the namespace of this code, no operator of the library
// hides them.
#define OPWRIGHT_AUTOGRAD_NAMES                                              \
  using namespace at;                                                        \
  OPWRIGHT_PACKED_NAMES                                                      \
  using opwright::autograd::IndexRangeGenerator;                             \
  using opwright::autograd::OuterCalls;                                      \
  using opwright::autograd::check_inplace;                                   \
  using opwright::autograd::check_kept;                                      \
  using opwright::autograd::increment_version;                               \
  using opwright::autograd::irreversible_view;                               \
  using opwright::autograd::keep_history;                                    \
  using opwright::autograd::not_implemented;                                 \
  using opwright::autograd::not_implemented_list;                            \
  using opwright::autograd::check_no_views;                                  \
  using opwright::autograd::record_by_reference;                             \
  using opwright::autograd::record_not_implemented;                          \
  using opwright::autograd::record_writes;                                   \
  using opwright::autograd::recording_operator;                              \
  using opwright::autograd::reset_grad_accumulator;                          \
  using opwright::autograd::unpack;                                          \
  using opwright::autograd::unpack_list;                                     \
  using opwright::autograd::unpack_opt_list;                                 \
  using opwright::autograd::wrap_opt_if;                                     \
  using opwright::autograd::written_tensors;                                 \
  using torch::autograd::CreationMeta;                                       \
  using torch::autograd::ERR_BACKWARD_TWICE;                                 \
  using torch::autograd::Node;                                               \
  using torch::autograd::NotImplemented;                                     \
  using torch::autograd::SavedVariable;                                      \
  using torch::autograd::TraceableFunction;                                  \
  using torch::autograd::ViewFunc;                                           \
  using torch::autograd::as_view;                                            \
  using torch::autograd::check_inplace;                                      \
  using torch::autograd::check_no_requires_grad;                             \
  using torch::autograd::collect_next_edges;                                 \
  using torch::autograd::compute_requires_grad;                              \
  using torch::autograd::flatten_tensor_args;                                \
  using torch::autograd::generated::details::any_variable_defined;           \
  using torch::autograd::generated::details::apply_loss_reduction;           \
  using torch::autograd::generated::details::copy_range;                     \
  using torch::autograd::generated::details::copysign_tensor_self_backward;  \
  using torch::autograd::generated::details::toNonOptFwGrad;                 \
  using torch::autograd::generated::details::toNonOptPrimal;                 \
  using torch::autograd::generated::details::toNonOptTensor;                 \
  using torch::autograd::generated::details::update_wrapped_number;          \
  using torch::autograd::increment_version;                                  \
  using torch::autograd::isFwGradDefined;                                    \
  using torch::autograd::isFwGradDefinedTensorList;                          \
  using torch::autograd::make_saved_variable_list;                           \
  using torch::autograd::rebase_history;                                     \
  using torch::autograd::set_history;                                        \
  using torch::autograd::throw_error_out_requires_grad;                      \
  using torch::autograd::to_args_scalartypes;                                \
  using torch::autograd::to_args_sizes;                                      \
  using torch::autograd::to_args_sizes_symint;                               \
  using torch::autograd::variable_list;                                      \
  using torch::dynamo::autograd::CompiledNodeArgs;                           \
  using torch::dynamo::autograd::SwapSavedVariables
