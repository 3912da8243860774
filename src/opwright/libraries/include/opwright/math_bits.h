// Kernels for the negative and the conjugate bit of operators that do not return what they write to. PyTorch's own take
// what they write back from the first result.
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>

#include <cstddef>
#include <utility>
#include <vector>

namespace opwright {

// The tensors of a call that have a bit, each with a copy that has not.
template <c10::DispatchKey Key>
class WithoutBit {
 public:
  // A value with copies of tensors that have the bit; notes those that the operator writes to.
  c10::IValue copied(const c10::IValue& value, bool is_written) {
    if (value.isTensor()) {
      return copy_of(value.toTensor(), is_written);
    }
    if (!value.isList()) {
      return value;
    }
    c10::List<c10::IValue> items = value.toList().copy();
    for (std::size_t index = 0; index < items.size(); ++index) {
      items.set(index, copied(items.get(index), is_written));
    }
    return items;
  }

  // A result, which is the tensor itself where it is a copy that was written to.
  c10::IValue original(const c10::IValue& value) const {
    if (!value.isTensor()) {
      return value;
    }
    for (const auto& [tensor, copy, is_written] : copies_) {
      if (copy.is_same(value.toTensor())) {
        return tensor;
      }
    }
    return value;
  }

  void write_back() const {
    for (const auto& [tensor, copy, is_written] : copies_) {
      if (is_written) {
        tensor.copy_(copy);
      }
    }
  }

 private:
  struct Copy {
    at::Tensor tensor;
    at::Tensor copy;
    bool is_written;
  };

  at::Tensor copy_of(const at::Tensor& tensor, bool is_written) {
    constexpr bool is_negative = Key == c10::DispatchKey::Negative;
    if (!tensor.defined() || !(is_negative ? tensor.is_neg() : tensor.is_conj())) {
      return tensor;
    }
    for (Copy& known : copies_) {
      if (known.tensor.is_same(tensor)) {
        known.is_written = known.is_written || is_written;
        return known.copy;
      }
    }
    copies_.push_back({tensor, is_negative ? tensor.resolve_neg() : tensor.resolve_conj(), is_written});
    return copies_.back().copy;
  }

  std::vector<Copy> copies_;
};

template <c10::DispatchKey Key>
void call_without_bit(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  // The kernels for autograd have run.
  const at::AutoDispatchBelowADInplaceOrView guard;
  const c10::FunctionSchema& schema = op.schema();
  WithoutBit<Key> tensors;
  const std::size_t start = stack->size() - schema.arguments().size();
  for (std::size_t index = 0; index < schema.arguments().size(); ++index) {
    const c10::AliasInfo* const alias = schema.arguments()[index].alias_info();
    c10::IValue& argument = (*stack)[start + index];
    argument = tensors.copied(argument, alias != nullptr && alias->isWrite());
  }
  op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, Key), stack);
  tensors.write_back();
  for (std::size_t index = start; index < stack->size(); ++index) {
    (*stack)[index] = tensors.original((*stack)[index]);
  }
}

}  // namespace opwright
