// What an author writes for TVM FFI: checks and results.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>

#include "kernels.h"

#include <cstdlib>
#include <vector>

namespace {

namespace ffi = tvm::ffi;
using Input = ffi::TensorView;

struct CpuMemory {
  void AllocData(DLTensor* tensor) {
    tensor->data = std::malloc(ffi::GetDataSize(*tensor) + 1);
  }
  void FreeData(DLTensor* tensor) {
    std::free(tensor->data);
  }
};

ffi::Tensor empty(ffi::ShapeView sizes, DLDataType dtype) {
  if (TVMFFIEnvGetDLPackManagedTensorAllocator() != nullptr) {
    return ffi::Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, sizes, dtype, DLDevice{kDLCPU, 0});
  }
  return ffi::Tensor::FromNDAlloc(CpuMemory(), sizes, dtype, DLDevice{kDLCPU, 0});
}

void require(bool holds, const char* message) {
  if (!holds) {
    TVM_FFI_THROW(ValueError) << message;
  }
}

bool is_same_dtype(const Input& tensor, const Input& other) {
  return tensor.dtype().code == other.dtype().code && tensor.dtype().bits == other.dtype().bits;
}

bool is_real(const Input& tensor) {
  return tensor.dtype().code == kDLFloat && (tensor.dtype().bits == 32 || tensor.dtype().bits == 64);
}

bool is_same_shape(const Input& tensor, const Input& other) {
  return std::equal(tensor.shape().begin(), tensor.shape().end(), other.shape().begin(), other.shape().end());
}

bool shares_memory(const Input& tensor, const Input& other) {
  const auto begin = [](const Input& dense) { return static_cast<const char*>(dense.data_ptr()); };
  const auto end = [&](const Input& dense) { return begin(dense) + dense.numel() * (dense.dtype().bits / 8); };
  return begin(tensor) < end(other) && begin(other) < end(tensor);
}

void check_real(const Input& tensor, const char* message) {
  require(tensor.device().device_type == kDLCPU && is_real(tensor) && tensor.IsContiguous(), message);
}

template <class Item>
by_hand::Dense<Item> dense(const Input& tensor) {
  return {static_cast<const Item*>(tensor.data_ptr()), tensor.shape().data(), tensor.ndim()};
}

template <class Function>
void dispatch(const Input& tensor, Function function) {
  tensor.dtype().bits == 32 ? function(0.0f) : function(0.0);
}

ffi::Tensor rms_norm(Input x, Input weight, double eps) {
  check_real(x, "by_hand.rms_norm: `x` has to be dense, real and on the CPU");
  check_real(weight, "by_hand.rms_norm: `weight` has to be dense, real and on the CPU");
  require(is_same_dtype(weight, x), "by_hand.rms_norm: `weight` has another dtype");
  require(x.ndim() >= 1 && weight.ndim() == 1, "by_hand.rms_norm: wrong ranks");
  require(weight.size(0) == x.size(-1), "by_hand.rms_norm: `weight` has another size");
  ffi::Tensor out = empty(x.shape(), x.dtype());
  dispatch(x, [&](auto zero) {
    using Item = decltype(zero);
    auto from = dense<Item>(x), by = dense<Item>(weight), to = dense<Item>(out);
    acme_views::native::rms_norm(from.view(), by.view(), eps, to.view());
  });
  return out;
}

ffi::Array<ffi::Tensor> rms_norm_backward(Input grad, Input x, Input weight, double eps) {
  check_real(x, "by_hand.rms_norm_backward: `x` has to be dense, real and on the CPU");
  check_real(grad, "by_hand.rms_norm_backward: `grad` has to be dense, real and on the CPU");
  check_real(weight, "by_hand.rms_norm_backward: `weight` has to be dense, real and on the CPU");
  require(is_same_dtype(weight, x) && is_same_dtype(grad, x), "by_hand.rms_norm_backward: other dtypes");
  require(x.ndim() >= 1 && weight.ndim() == 1 && weight.size(0) == x.size(-1), "by_hand.rms_norm_backward: wrong sizes");
  require(is_same_shape(grad, x), "by_hand.rms_norm_backward: `grad` has other sizes");
  ffi::Tensor grad_x = empty(x.shape(), x.dtype()), grad_weight = empty(weight.shape(), x.dtype());
  dispatch(x, [&](auto zero) {
    using Item = decltype(zero);
    auto g = dense<Item>(grad), from = dense<Item>(x), by = dense<Item>(weight);
    auto to_x = dense<Item>(grad_x), to_weight = dense<Item>(grad_weight);
    acme_views::native::rms_norm_backward(g.view(), from.view(), by.view(), eps, to_x.view(), to_weight.view());
  });
  return {grad_x, grad_weight};
}

void rotary(Input x, Input cos, Input sin) {
  check_real(x, "by_hand.rotary_: `x` has to be dense, real and on the CPU");
  check_real(cos, "by_hand.rotary_: `cos` has to be dense, real and on the CPU");
  check_real(sin, "by_hand.rotary_: `sin` has to be dense, real and on the CPU");
  require(is_same_dtype(cos, x) && is_same_dtype(sin, x), "by_hand.rotary_: other dtypes");
  require(x.ndim() >= 2 && cos.ndim() == 2 && is_same_shape(sin, cos), "by_hand.rotary_: wrong sizes");
  require(cos.size(0) == x.size(-2) && x.size(-1) == 2 * cos.size(1), "by_hand.rotary_: wrong sizes");
  require(!shares_memory(x, cos) && !shares_memory(x, sin), "by_hand.rotary_: `x` shares memory");
  dispatch(x, [&](auto zero) {
    using Item = decltype(zero);
    auto values = dense<Item>(x), c = dense<Item>(cos), s = dense<Item>(sin);
    acme_views::native::rotary(values.view(), c.view(), s.view());
  });
}

ffi::Array<ffi::Tensor> top_k(Input scores, int64_t k) {
  check_real(scores, "by_hand.top_k: `scores` has to be dense, real and on the CPU");
  require(scores.ndim() >= 1 && k >= 1 && k <= scores.size(-1), "by_hand.top_k: wrong k");
  std::vector<int64_t> sizes(scores.shape().begin(), scores.shape().end());
  sizes.back() = k;
  ffi::Tensor values = empty(ffi::Shape(sizes), scores.dtype());
  ffi::Tensor indices = empty(ffi::Shape(sizes), DLDataType{kDLInt, 32, 1});
  dispatch(scores, [&](auto zero) {
    using Item = decltype(zero);
    auto from = dense<Item>(scores), to = dense<Item>(values);
    auto places = dense<int32_t>(indices);
    acme_views::native::top_k(from.view(), k, to.view(), places.view());
  });
  return {values, indices};
}

template <class Function>
void with_segments(const Input& segments, Function function) {
  if (segments.dtype().bits == 32) {
    auto places = dense<int32_t>(segments);
    function(places.view());
  } else {
    auto places = dense<int64_t>(segments);
    function(places.view());
  }
}

void check_segments(const Input& rows, const Input& segments, const ffi::Optional<ffi::Tensor>& weights) {
  check_real(rows, "by_hand: the rows have to be dense, real and on the CPU");
  require(rows.ndim() == 2 && segments.ndim() == 1, "by_hand: wrong ranks");
  require(
      segments.dtype().code == kDLInt && segments.dtype().bits >= 32 && segments.IsContiguous() &&
          segments.device().device_type == kDLCPU,
      "by_hand: `segments` has to be dense, of integers, and on the CPU");
  if (weights.has_value()) {
    const ffi::Tensor given = weights.value();
    const Input by(given);
    check_real(by, "by_hand: `weights` has to be dense, real and on the CPU");
    require(is_same_dtype(by, rows) && is_same_shape(by, segments), "by_hand: wrong `weights`");
  }
}

template <class Item, class Function>
void with_weights(const ffi::Optional<ffi::Tensor>& weights, Function function) {
  if (weights.has_value()) {
    const ffi::Tensor given = weights.value();
    auto by = dense<Item>(Input(given));
    function(std::optional<opwright::TensorView>(by.view()));
  } else {
    function(std::optional<opwright::TensorView>());
  }
}

ffi::Tensor segment_sum(Input x, Input segments, ffi::Optional<ffi::Tensor> weights, int64_t count) {
  check_segments(x, segments, weights);
  require(segments.size(0) == x.size(0) && count >= 0, "by_hand.segment_sum: wrong sizes");
  ffi::Tensor out = empty(ffi::Shape({count, x.size(1)}), x.dtype());
  dispatch(x, [&](auto zero) {
    using Item = decltype(zero);
    auto from = dense<Item>(x), to = dense<Item>(out);
    with_weights<Item>(weights, [&](std::optional<opwright::TensorView> by) {
      with_segments(segments, [&](opwright::TensorView places) {
        acme_views::native::segment_sum(from.view(), places, by, count, to.view());
      });
    });
  });
  return out;
}

ffi::Tensor segment_gather(Input rows, Input segments, ffi::Optional<ffi::Tensor> weights) {
  check_segments(rows, segments, weights);
  ffi::Tensor out = empty(ffi::Shape({segments.size(0), rows.size(1)}), rows.dtype());
  dispatch(rows, [&](auto zero) {
    using Item = decltype(zero);
    auto from = dense<Item>(rows), to = dense<Item>(out);
    with_weights<Item>(weights, [&](std::optional<opwright::TensorView> by) {
      with_segments(segments, [&](opwright::TensorView places) {
        acme_views::native::segment_gather(from.view(), places, by, to.view());
      });
    });
  });
  return out;
}

ffi::Tensor weighted_sum(ffi::Array<ffi::Tensor> xs, ffi::Array<double> weights) {
  require(!xs.empty() && xs.size() == weights.size(), "by_hand.weighted_sum: each tensor has a weight");
  const ffi::Tensor first_x = xs[0];
  const Input first(first_x);
  for (const ffi::Tensor& x : xs) {
    check_real(Input(x), "by_hand.weighted_sum: `xs` have to be dense, real and on the CPU");
    require(is_same_dtype(Input(x), first) && is_same_shape(Input(x), first), "by_hand.weighted_sum: wrong `xs`");
  }
  ffi::Tensor out = empty(first.shape(), first.dtype());
  const std::vector<double> numbers(weights.begin(), weights.end());
  dispatch(first, [&](auto zero) {
    using Item = decltype(zero);
    std::vector<by_hand::Dense<Item>> kept;
    std::vector<opwright::TensorView> views;
    kept.reserve(xs.size());
    for (const ffi::Tensor& x : xs) {
      kept.push_back(dense<Item>(Input(x)));
      views.push_back(kept.back().view());
    }
    auto to = dense<Item>(out);
    acme_views::native::weighted_sum({views.data(), views.size()}, {numbers.data(), numbers.size()}, to.view());
  });
  return out;
}

} // namespace

TVM_FFI_DLL_EXPORT_TYPED_FUNC(rms_norm, rms_norm);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(rms_norm_backward, rms_norm_backward);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(rotary_, rotary);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(top_k, top_k);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(segment_sum, segment_sum);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(segment_gather, segment_gather);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(weighted_sum, weighted_sum);
