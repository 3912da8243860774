#pragma once
// The batching rules of a library's operators under vmap.
//
// A rule gets plain tensors, each with the index of its batch dimension, and gives its results in the same way.
// ATen/functorch/DynamicLayer.h needs headers that PyTorch does not ship. The functions declared here are exported.

#include <ATen/core/IListRef.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/functorch/BatchedTensorImpl.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

namespace at::functorch {

TORCH_API at::Tensor makeBatched(at::Tensor tensor, std::optional<int64_t> bdim, int64_t level);
TORCH_API std::vector<at::Tensor> makeBatchedVector(
    std::vector<at::Tensor> tensors,
    std::optional<int64_t> bdim,
    int64_t level);
TORCH_API std::tuple<at::Tensor, std::optional<int64_t>> unwrapTensorAtLevel(const at::Tensor& tensor, int64_t level);
TORCH_API bool isBatchedAtLevel(const at::Tensor& tensor, int64_t level);
TORCH_API bool isBatchedAtLevel(const std::optional<at::Tensor>& tensor, int64_t level);
TORCH_API bool isBatchedAtLevel(at::ITensorListRef tensors, int64_t level);
TORCH_API bool isBatchedAtLevel(const c10::List<std::optional<at::Tensor>>& tensors, int64_t level);

} // namespace at::functorch

namespace opwright {

inline int64_t level_of(const at::Tensor& tensor) {
  const auto* batched = tensor.defined() ? at::functorch::maybeGetBatchedImpl(tensor) : nullptr;
  return batched == nullptr ? 0 : batched->level();
}

inline int64_t level_of(const std::optional<at::Tensor>& tensor) {
  return tensor.has_value() ? level_of(*tensor) : 0;
}

inline int64_t level_of(at::ITensorListRef tensors) {
  int64_t level = 0;
  for (const at::Tensor& tensor : tensors) {
    level = std::max(level, level_of(tensor));
  }
  return level;
}

inline int64_t level_of(const c10::List<std::optional<at::Tensor>>& tensors) {
  int64_t level = 0;
  for (const std::optional<at::Tensor>& tensor : tensors) {
    level = std::max(level, level_of(tensor));
  }
  return level;
}

// The innermost vmap that has batches among the arguments; zero if none has.
template <class... Arguments>
int64_t batch_level(const Arguments&... arguments) {
  return std::max({int64_t(0), level_of(arguments)...});
}

} // namespace opwright
