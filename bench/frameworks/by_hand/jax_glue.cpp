// What an author writes for JAX: handlers of XLA. `jax_glue.py` has sizes, checks and gradients.
#include <xla/ffi/api/ffi.h>

#include "kernels.h"

#include <exception>
#include <string>
#include <vector>

namespace {

namespace ffi = xla::ffi;

template <class Item>
by_hand::Dense<Item> dense(ffi::AnyBuffer buffer) {
  return {static_cast<const Item*>(buffer.untyped_data()), buffer.dimensions().begin(), static_cast<int64_t>(buffer.dimensions().size())};
}

template <class Function>
ffi::Error dispatch(ffi::AnyBuffer buffer, Function function) {
  try {
    if (buffer.element_type() == ffi::F32) {
      function(0.0f);
    } else if (buffer.element_type() == ffi::F64) {
      function(0.0);
    } else {
      return ffi::Error::InvalidArgument("by_hand: wrong dtype");
    }
    return ffi::Error::Success();
  } catch (const std::exception& error) {
    return ffi::Error::InvalidArgument(error.what());
  }
}

template <class Function>
void with_segments(ffi::AnyBuffer segments, Function function) {
  if (segments.element_type() == ffi::S32) {
    auto places = dense<int32_t>(segments);
    function(places.view());
  } else {
    auto places = dense<int64_t>(segments);
    function(places.view());
  }
}

ffi::Error rms_norm(ffi::AnyBuffer x, ffi::AnyBuffer weight, double eps, ffi::Result<ffi::AnyBuffer> out) {
  return dispatch(x, [&](auto zero) {
    using Item = decltype(zero);
    auto from = dense<Item>(x), by = dense<Item>(weight), to = dense<Item>(*out);
    acme_views::native::rms_norm(from.view(), by.view(), eps, to.view());
  });
}

ffi::Error rms_norm_backward(
    ffi::AnyBuffer grad, ffi::AnyBuffer x, ffi::AnyBuffer weight, double eps, ffi::Result<ffi::AnyBuffer> grad_x,
    ffi::Result<ffi::AnyBuffer> grad_weight) {
  return dispatch(x, [&](auto zero) {
    using Item = decltype(zero);
    auto g = dense<Item>(grad), from = dense<Item>(x), by = dense<Item>(weight);
    auto to_x = dense<Item>(*grad_x), to_weight = dense<Item>(*grad_weight);
    acme_views::native::rms_norm_backward(g.view(), from.view(), by.view(), eps, to_x.view(), to_weight.view());
  });
}

ffi::Error rotary(ffi::AnyBuffer x, ffi::AnyBuffer cos, ffi::AnyBuffer sin, ffi::Result<ffi::AnyBuffer> out) {
  if (out->untyped_data() != x.untyped_data()) {
    return ffi::Error::Internal("by_hand.rotary_: the result is not where `x` is");
  }
  return dispatch(x, [&](auto zero) {
    using Item = decltype(zero);
    auto values = dense<Item>(*out), c = dense<Item>(cos), s = dense<Item>(sin);
    acme_views::native::rotary(values.view(), c.view(), s.view());
  });
}

ffi::Error top_k(
    ffi::AnyBuffer scores, int64_t k, ffi::Result<ffi::AnyBuffer> values, ffi::Result<ffi::AnyBuffer> indices) {
  return dispatch(scores, [&](auto zero) {
    using Item = decltype(zero);
    auto from = dense<Item>(scores), to = dense<Item>(*values);
    auto places = dense<int32_t>(*indices);
    acme_views::native::top_k(from.view(), k, to.view(), places.view());
  });
}

ffi::Error segment_sum(ffi::RemainingArgs arrays, int64_t count, ffi::Result<ffi::AnyBuffer> out) {
  auto x = arrays.get<ffi::AnyBuffer>(0), segments = arrays.get<ffi::AnyBuffer>(1);
  return dispatch(*x, [&](auto zero) {
    using Item = decltype(zero);
    auto from = dense<Item>(*x), to = dense<Item>(*out);
    auto by = dense<Item>(arrays.size() > 2 ? *arrays.get<ffi::AnyBuffer>(2) : *x);
    std::optional<opwright::TensorView> weights;
    if (arrays.size() > 2) {
      weights = by.view();
    }
    with_segments(*segments, [&](opwright::TensorView places) {
      acme_views::native::segment_sum(from.view(), places, weights, count, to.view());
    });
  });
}

ffi::Error segment_gather(ffi::RemainingArgs arrays, ffi::Result<ffi::AnyBuffer> out) {
  auto rows = arrays.get<ffi::AnyBuffer>(0), segments = arrays.get<ffi::AnyBuffer>(1);
  return dispatch(*rows, [&](auto zero) {
    using Item = decltype(zero);
    auto from = dense<Item>(*rows), to = dense<Item>(*out);
    auto by = dense<Item>(arrays.size() > 2 ? *arrays.get<ffi::AnyBuffer>(2) : *rows);
    std::optional<opwright::TensorView> weights;
    if (arrays.size() > 2) {
      weights = by.view();
    }
    with_segments(*segments, [&](opwright::TensorView places) {
      acme_views::native::segment_gather(from.view(), places, weights, to.view());
    });
  });
}

ffi::Error weighted_sum(ffi::RemainingArgs xs, ffi::Span<const double> weights, ffi::Result<ffi::AnyBuffer> out) {
  return dispatch(*out, [&](auto zero) {
    using Item = decltype(zero);
    std::vector<by_hand::Dense<Item>> kept;
    std::vector<opwright::TensorView> views;
    kept.reserve(xs.size());
    for (size_t place = 0; place < xs.size(); ++place) {
      kept.push_back(dense<Item>(*xs.get<ffi::AnyBuffer>(place)));
      views.push_back(kept.back().view());
    }
    auto to = dense<Item>(*out);
    acme_views::native::weighted_sum({views.data(), views.size()}, {weights.begin(), weights.size()}, to.view());
  });
}

} // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    rms_norm_handler, rms_norm,
    ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Arg<ffi::AnyBuffer>().Attr<double>("eps").Ret<ffi::AnyBuffer>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    rms_norm_backward_handler, rms_norm_backward,
    ffi::Ffi::Bind()
        .Arg<ffi::AnyBuffer>()
        .Arg<ffi::AnyBuffer>()
        .Arg<ffi::AnyBuffer>()
        .Attr<double>("eps")
        .Ret<ffi::AnyBuffer>()
        .Ret<ffi::AnyBuffer>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    rotary_handler, rotary,
    ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Arg<ffi::AnyBuffer>().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    top_k_handler, top_k,
    ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Attr<int64_t>("k").Ret<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    segment_sum_handler, segment_sum, ffi::Ffi::Bind().RemainingArgs().Attr<int64_t>("count").Ret<ffi::AnyBuffer>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    segment_gather_handler, segment_gather, ffi::Ffi::Bind().RemainingArgs().Ret<ffi::AnyBuffer>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    weighted_sum_handler, weighted_sum,
    ffi::Ffi::Bind().RemainingArgs().Attr<ffi::Span<const double>>("weights").Ret<ffi::AnyBuffer>());
