// Kernels that functionalize operators. Opwright's generated code uses what is in this header.
//
// PyTorch has these functions for its own generated code, and does not export them.
#pragma once

#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/core/IListRef.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/as_strided_scatter_ops.h>
#include <torch/version.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

// Before 2.9, the record of a view is a value with two functions, not an object of a class of its own.
#define OPWRIGHT_VIEWS_ARE_VALUES (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 9)

#if OPWRIGHT_VIEWS_ARE_VALUES
namespace at::functionalization {

// Wheels of these releases lack the header with this type.
enum class InverseReturnMode { AlwaysView, NeverView, ViewOrScatterInverse };

}  // namespace at::functionalization
#endif

namespace opwright::functionalization {

using at::functionalization::impl::isFunctionalTensor;

#if OPWRIGHT_VIEWS_ARE_VALUES
using View = at::functionalization::ViewMeta;

inline View with_index(const View& meta, int64_t index) {
  return {meta.forward_fn, meta.reverse_fn, meta.has_symbolic_inputs, meta.is_multi_output, meta.is_as_strided, index};
}
#else
using View = std::shared_ptr<at::functionalization::ViewMeta>;

inline View with_index(const View& meta, int64_t index) {
  return meta->to_out_index(index);
}
#endif

// The values of an argument, out of the functional tensors that hold them. Lists of tensors are copied.
inline at::Tensor value(const at::Tensor& tensor) {
  return isFunctionalTensor(tensor) ? at::functionalization::impl::from_functional_tensor(tensor) : tensor;
}

inline std::optional<at::Tensor> value(const std::optional<at::Tensor>& tensor) {
  return tensor.has_value() ? std::optional<at::Tensor>(value(*tensor)) : std::nullopt;
}

inline c10::List<std::optional<at::Tensor>> value(const c10::List<std::optional<at::Tensor>>& tensors) {
  return isFunctionalTensor(tensors) ? at::functionalization::impl::from_functional_tensor(tensors) : tensors;
}

inline std::vector<at::Tensor> value(at::ITensorListRef tensors) {
  std::vector<at::Tensor> values;
  values.reserve(tensors.size());
  for (const auto& tensor : tensors) {
    values.push_back(value(tensor));
  }
  return values;
}

// The same, after the changes of other views reached the argument.
template <class Argument>
auto synced_value(const Argument& argument) {
  if constexpr (std::is_same_v<Argument, at::TensorList>) {
    return synced_value(at::ITensorListRef(argument));
  } else {
    if (isFunctionalTensor(argument)) {
      at::functionalization::impl::sync(argument);
    }
    return value(argument);
  }
}

// Gives a functional tensor a new value, of which its other views learn.
template <class Argument, class Value>
void update(const Argument& argument, const Value& new_value) {
  at::functionalization::impl::replace_(argument, new_value);
  at::functionalization::impl::commit_update(argument);
  at::functionalization::impl::sync(argument);
}

inline void check_only_functional_tensors_are_written(bool reads_functional_tensors) {
  TORCH_CHECK(
      !reads_functional_tensors,
      "mutating a non-functional tensor with a functional tensor is not allowed. Please ensure that all of your "
      "inputs are wrapped inside of a functionalize() call.");
}

// How a view is undone: by a view or a copy, depending on whether views stay views.
inline at::functionalization::InverseReturnMode mode_of_inverses(bool reapply_views) {
  return reapply_views ? at::functionalization::InverseReturnMode::ViewOrScatterInverse
                       : at::functionalization::InverseReturnMode::NeverView;
}

// A view of the functional tensor `base`, whose value is `view`.
inline at::Tensor create_functional_tensor_with_view_meta(
    const at::Tensor& view, const at::Tensor& base, View meta, int64_t index = 0) {
  TORCH_INTERNAL_ASSERT(!at::functionalization::impl::isFunctionalTensor(view));
  if (index != 0) {
    meta = with_index(meta, index);
  }
  return at::detail::make_tensor<at::FunctionalTensorWrapper>(
      view, at::functionalization::impl::unsafeGetFunctionalWrapper(base), meta);
}

inline std::vector<at::Tensor> create_functional_tensor_with_view_meta(
    at::ITensorListRef views, const at::Tensor& base, const View& meta) {
  std::vector<at::Tensor> results;
  results.reserve(views.size());
  for (const auto& view : views) {
    results.push_back(
        create_functional_tensor_with_view_meta(view, base, meta, static_cast<int64_t>(results.size())));
  }
  return results;
}

inline void mutate_view_meta(const at::Tensor& tensor, const View& meta) {
  at::functionalization::impl::unsafeGetFunctionalWrapper(tensor)->mutate_view_meta(meta);
}

// The base in which the elements that `view` shows have the values of `changed_view`.
inline at::Tensor write_back(
    const at::Tensor& base, const at::Tensor& changed_view, const at::Tensor& view) {
  return at::_ops::as_strided_scatter::call(
      base, changed_view, view.sym_sizes(), view.sym_strides(), view.sym_storage_offset());
}

}  // namespace opwright::functionalization
