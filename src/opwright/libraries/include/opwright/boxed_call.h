// Calls of operators with arguments for which PyTorch has no calls: typed calls need a constructor of `c10::IValue`.
#pragma once

#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>
#include <ATen/core/stack.h>

#include <optional>
#include <type_traits>

namespace opwright {

template <class T>
c10::IValue boxed(const T& value);

template <class T>
c10::IValue boxed_parts(const c10::List<T>& list) {
  return c10::impl::toList(list);
}

template <class T>
c10::IValue boxed_parts(const std::optional<T>& value) {
  return value.has_value() ? boxed(*value) : c10::IValue();
}

template <class T>
c10::IValue boxed_parts(c10::ArrayRef<T> items) {
  c10::impl::GenericList list(c10::getTypePtr<T>());
  list.reserve(items.size());
  for (const T& item : items) {
    list.push_back(boxed(item));
  }
  return list;
}

// A value as the dispatcher holds it.
template <class T>
c10::IValue boxed(const T& value) {
  if constexpr (std::is_constructible_v<c10::IValue, T>) {
    return value;
  } else {
    return boxed_parts(value);
  }
}

// The arguments of a call as boxed kernels take them.
template <class... Arguments>
torch::jit::Stack boxed_arguments(const Arguments&... arguments) {
  torch::jit::Stack stack;
  stack.reserve(sizeof...(Arguments));
  (stack.push_back(boxed(arguments)), ...);
  return stack;
}

}  // namespace opwright
