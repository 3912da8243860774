// Classes of autograd in the forms that libraries have.
#include "kernels.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace vision::ops {
namespace detail {
at::Tensor roi_backward_symint(const at::Tensor& grad, const at::Tensor& rois, double scale, c10::SymInt height, c10::SymInt rows) {
  static auto op = c10::Dispatcher::singleton()
                       .findSchemaOrThrow("drafted::_roi_backward", "")
                       .typed<decltype(roi_backward_symint)>();
  return op.call(grad, rois, scale, height, rows);
}
}  // namespace detail

namespace {

at::Tensor roi_symint(const at::Tensor& input, const at::Tensor& rois, double scale, c10::SymInt height) {
  C10_LOG_API_USAGE_ONCE("drafted.roi");
  static auto op = c10::Dispatcher::singleton().findSchemaOrThrow("drafted::roi", "").typed<decltype(roi_symint)>();
  return op.call(input, rois, scale, height);
}

class RoiFunction : public torch::autograd::Function<RoiFunction> {
 public:
  static torch::autograd::variable_list forward(
      torch::autograd::AutogradContext* ctx,
      const torch::autograd::Variable& input,
      const torch::autograd::Variable& rois,
      double scale,
      c10::SymInt height) {
    ctx->saved_data["scale"] = scale;
    ctx->saved_data["height"] = height;
    ctx->saved_data["input_shape"] = input.sym_sizes();
    ctx->save_for_backward({rois});
    at::AutoDispatchBelowADInplaceOrView g;
    auto result = roi_symint(input, rois, scale, height);
    return {result};
  }

  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext* ctx,
      const torch::autograd::variable_list& grad_output) {
    auto saved = ctx->get_saved_variables();
    auto rois = saved[0];
    auto input_shape = ctx->saved_data["input_shape"].toList();
    auto grad_in = detail::roi_backward_symint(
        grad_output[0],
        rois,
        ctx->saved_data["scale"].toDouble(),
        ctx->saved_data["height"].toSymInt(),
        input_shape[0].get().toSymInt());
    return {grad_in, torch::autograd::Variable(), torch::autograd::Variable(), torch::autograd::Variable()};
  }
};

class RoiBackwardFunction : public torch::autograd::Function<RoiBackwardFunction> {
 public:
  static torch::autograd::variable_list forward(
      torch::autograd::AutogradContext* ctx,
      const torch::autograd::Variable& grad,
      const torch::autograd::Variable& rois,
      double scale,
      c10::SymInt height,
      c10::SymInt rows) {
    at::AutoDispatchBelowADInplaceOrView g;
    auto result = detail::roi_backward_symint(grad, rois, scale, height, rows);
    return {result};
  }

  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext* ctx,
      const torch::autograd::variable_list& grad_output) {
    TORCH_CHECK(0, "double backwards on roi not supported");
  }
};

class PoolFunction : public torch::autograd::Function<PoolFunction> {
 public:
  static torch::autograd::variable_list forward(
      torch::autograd::AutogradContext* ctx,
      const torch::autograd::Variable& input,
      const torch::autograd::Variable& rois) {
    ctx->saved_data["input_shape"] = input.sizes();
    at::AutoDispatchBelowADInplaceOrView g;
    auto result = pool_cpu(input, rois);
    auto output = std::get<0>(result);
    auto mapping = std::get<1>(result);
    ctx->save_for_backward({rois, mapping});
    ctx->mark_non_differentiable({mapping});
    return {output, mapping};
  }

  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext* ctx,
      const torch::autograd::variable_list& grad_output) {
    auto saved = ctx->get_saved_variables();
    auto rois = saved[0];
    auto mapping = saved[1];
    auto grad_in = detail::pool_backward(grad_output[0], rois, mapping, ctx->saved_data["input_shape"].toIntVector());
    return {grad_in, torch::autograd::Variable()};
  }
};

at::Tensor roi_autograd(const at::Tensor& input, const at::Tensor& rois, double scale, c10::SymInt height) {
  return RoiFunction::apply(input, rois, scale, height)[0];
}

at::Tensor roi_backward_autograd(const at::Tensor& grad, const at::Tensor& rois, double scale, c10::SymInt height, c10::SymInt rows) {
  return RoiBackwardFunction::apply(grad, rois, scale, height, rows)[0];
}

std::tuple<at::Tensor, at::Tensor> pool_autograd(const at::Tensor& input, const at::Tensor& rois) {
  auto result = PoolFunction::apply(input, rois);
  return std::make_tuple(result[0], result[1]);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(drafted, m) {
  m.def("roi(Tensor input, Tensor rois, float scale, SymInt height) -> Tensor");
  m.def("_roi_backward(Tensor grad, Tensor rois, float scale, SymInt height, SymInt rows) -> Tensor");
  m.def("pool(Tensor input, Tensor rois) -> (Tensor, Tensor)");
}

TORCH_LIBRARY_IMPL(drafted, CPU, m) {
  m.impl("roi", TORCH_FN(roi_cpu));
  m.impl("_roi_backward", TORCH_FN(detail::roi_backward_cpu));
  m.impl("pool", TORCH_FN(pool_cpu));
}

TORCH_LIBRARY_IMPL(drafted, Autograd, m) {
  m.impl("roi", TORCH_FN(roi_autograd));
  m.impl("_roi_backward", TORCH_FN(roi_backward_autograd));
  m.impl("pool", TORCH_FN(pool_autograd));
}
}  // namespace vision::ops

namespace {
using namespace torch::autograd;

struct Mix : Function<Mix> {
  static variable_list forward(AutogradContext* ctx, const Variable& a, const Variable& b) {
    ctx->saved_data["shape"] = a.sym_sizes();
    ctx->save_for_backward({a, b});
    at::AutoDispatchBelowADInplaceOrView g;
    auto result = mix_cpu(a, b);
    return {result};
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& grad_output) {
    auto saved = ctx->get_saved_variables();
    auto a = saved[0];
    auto b = saved[1];
    auto shape = ctx->saved_data["shape"].toList();
    auto grads = mix_backward(grad_output[0], a, b, shape[0].get().toSymInt());
    auto grad_a = std::get<0>(grads);
    auto grad_b = std::get<1>(grads);
    return {grad_a, grad_b};
  }
};
at::Tensor mix_autograd(const at::Tensor& a, const at::Tensor& b) { return Mix::apply(a, b)[0]; }

struct Listed : Function<Listed> {
  static variable_list forward(AutogradContext* ctx, const Variable& a, const Variable& b) {
    ctx->save_for_backward({a, b});
    at::AutoDispatchBelowADInplaceOrView g;
    return {mix_cpu(a, b)};
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& outs) {
    auto saved = ctx->get_saved_variables();
    auto grads = mix_gradients(outs[0], saved[0], saved[1]);
    return {grads[0], grads[1].clone()};
  }
};
at::Tensor listed_autograd(const at::Tensor& a, const at::Tensor& b) { return Listed::apply(a, b)[0]; }

struct Tied : Function<Tied> {
  static Variable forward(AutogradContext* ctx, const Variable& a, const Variable& b) {
    ctx->save_for_backward({b, a});
    at::AutoDispatchBelowADInplaceOrView g;
    return mix_cpu(a, b);
  }
  static variable_list backward(AutogradContext* ctx, variable_list outs) {
    Variable grad_a, grad_b;
    std::tie(grad_a, grad_b) = mix_backward(outs[0], ctx->get_saved_variables()[1], ctx->get_saved_variables()[0], 3);
    return {grad_a, grad_b};
  }
};
at::Tensor tied_autograd(const at::Tensor& a, const at::Tensor& b) { return Tied::apply(a, b); }

struct Needed : Function<Needed> {
  static variable_list forward(AutogradContext* ctx, const Variable& a, const Variable& b) {
    ctx->save_for_backward({a, b});
    at::AutoDispatchBelowADInplaceOrView g;
    return {mix_cpu(a, b)};
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& outs) {
    auto saved = ctx->get_saved_variables();
    at::Tensor grad_a, grad_b;
    if (ctx->needs_input_grad(0)) {
      auto twice = outs[0] * 2;
      grad_a = twice * saved[0] * saved[1] + twice;
    }
    if (ctx->needs_input_grad(1)) grad_b = outs[0] * saved[0] * saved[0];
    return {grad_a, grad_b};
  }
};
at::Tensor needed_autograd(const at::Tensor& a, const at::Tensor& b) { return Needed::apply(a, b)[0]; }

struct Pair : Function<Pair> {
  static variable_list forward(AutogradContext* ctx, const Variable& a, const Variable& b) {
    ctx->save_for_backward({a, b});
    at::AutoDispatchBelowADInplaceOrView g;
    auto [product, sum] = pair_cpu(a, b);
    return {product, sum};
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& outs) {
    auto saved = ctx->get_saved_variables();
    return {outs[0] * saved[1] + outs[1], outs[0] * saved[0] + outs[1]};
  }
};
std::tuple<at::Tensor, at::Tensor> pair_autograd(const at::Tensor& a, const at::Tensor& b) {
  auto result = Pair::apply(a, b);
  return {result[0], result[1]};
}

struct Undefined : Function<Undefined> {
  static variable_list forward(AutogradContext* ctx, const Variable& a, const Variable& b) {
    ctx->set_materialize_grads(false);
    ctx->save_for_backward({a, b});
    at::AutoDispatchBelowADInplaceOrView g;
    auto result = pair_cpu(a, b);
    return {std::get<0>(result), std::get<1>(result)};
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& outs) {
    auto saved = ctx->get_saved_variables();
    return {
        outs[0].defined() ? outs[0] * saved[1] + 1 : outs[1] * 7,
        outs[1].defined() ? outs[1] * saved[0] + 2 : outs[0] * 11};
  }
};
std::tuple<at::Tensor, at::Tensor> undefined_autograd(const at::Tensor& a, const at::Tensor& b) {
  auto result = Undefined::apply(a, b);
  return std::make_tuple(result[0], result[1]);
}

struct Places : Function<Places> {
  static variable_list forward(AutogradContext* ctx, const Variable& self) {
    at::AutoDispatchBelowADInplaceOrView g;
    auto result = places_cpu(self);
    auto where = std::get<0>(result);
    ctx->saved_data["rows"] = self.size(-2);
    ctx->saved_data["columns"] = self.size(1);
    ctx->save_for_backward({where});
    ctx->mark_non_differentiable({where});
    return {where, std::get<1>(result)};
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& outs) {
    auto rows = ctx->saved_data["rows"].toInt();
    auto grad_in = at::zeros({rows, ctx->saved_data["columns"].toInt()}, outs[1].options());
    grad_in.scatter_(1, ctx->get_saved_variables()[0].unsqueeze(1), outs[1].unsqueeze(1));
    return {grad_in};
  }
};
std::tuple<at::Tensor, at::Tensor> places_autograd(const at::Tensor& self) {
  auto result = Places::apply(self);
  return std::make_tuple(result[0], result[1]);
}

struct Shrink : Function<Shrink> {
  static variable_list forward(
      AutogradContext* context, Variable self, int64_t dim, double by, bool negate, std::string mode) {
    context->saved_data["sizes"] = self.sizes();
    context->saved_data["dim"] = dim;
    context->saved_data["by"] = by;
    context->saved_data["negate"] = negate;
    context->saved_data["mode"] = mode;
    at::AutoDispatchBelowADInplaceOrView guard;
    return {shrink_cpu(self, dim, by, negate, mode)};
  }
  static variable_list backward(AutogradContext* context, variable_list outs) {
    auto sizes = context->saved_data["sizes"].toIntVector();
    auto grad = outs[0].expand(sizes) * context->saved_data["by"].toDouble();
    auto sign = context->saved_data["negate"].toBool() ? -1 : context->saved_data["mode"].toStringRef() == "twice" ? 2 : 1;
    return {grad * sign, Variable(), Variable(), Variable(), Variable()};
  }
};
at::Tensor shrink_autograd(const at::Tensor& self, int64_t dim, double by, bool negate, std::string mode) {
  return Shrink::apply(self, dim, by, negate, mode)[0];
}

struct Masked : Function<Masked> {
  static variable_list forward(
      AutogradContext* ctx, const Variable& self, const std::optional<Variable>& mask, const Variable& offset) {
    ctx->saved_data["has_mask"] = mask.has_value();
    ctx->save_for_backward({mask.value_or(at::Tensor()), self});
    at::AutoDispatchBelowADInplaceOrView g;
    auto result = masked_cpu(self, mask, offset);
    return {result};
  }
  static variable_list backward(AutogradContext* ctx, const variable_list& outs) {
    auto saved = ctx->get_saved_variables();
    auto mask = saved[0];
    bool has_mask = ctx->saved_data["has_mask"].toBool();
    return {
        has_mask ? outs[0] * mask : outs[0] * 5,
        has_mask ? outs[0] * saved[1] : at::Tensor(),
        Variable()};
  }
};
at::Tensor masked_autograd(const at::Tensor& self, const std::optional<at::Tensor>& mask, const at::Tensor& offset) {
  return Masked::apply(self, mask, offset)[0];
}
}  // namespace

TORCH_LIBRARY_FRAGMENT(drafted, m) {
  m.def("calls() -> int");
  m.def("mix(Tensor a, Tensor b) -> Tensor");
  m.def("listed(Tensor left, Tensor right) -> Tensor");
  m.def("tied(Tensor a, Tensor b) -> Tensor");
  m.def("needed(Tensor a, Tensor b) -> Tensor");
  m.def("pair(Tensor a, Tensor b) -> (Tensor product, Tensor sum)");
  m.def("undefined(Tensor a, Tensor b) -> (Tensor, Tensor)");
  m.def("places(Tensor self) -> (Tensor, Tensor)");
  m.def("shrink(Tensor self, SymInt dim, float by, bool negate, str mode) -> Tensor");
  m.def("masked(Tensor self, Tensor? mask, Tensor offset) -> Tensor");
}

TORCH_LIBRARY_IMPL(drafted, CompositeImplicitAutograd, m) {
  m.impl("calls", &calls);
}

TORCH_LIBRARY_IMPL(drafted, CPU, m) {
  m.impl("mix", &mix_cpu);
  m.impl("listed", &mix_cpu);
  m.impl("tied", &mix_cpu);
  m.impl("needed", &mix_cpu);
  m.impl("pair", &pair_cpu);
  m.impl("undefined", &pair_cpu);
  m.impl("places", &places_cpu);
  m.impl("shrink", &shrink_cpu);
  m.impl("masked", &masked_cpu);
}

TORCH_LIBRARY_IMPL(drafted, Autograd, m) {
  m.impl("mix", &mix_autograd);
  m.impl("listed", &listed_autograd);
  m.impl("tied", &tied_autograd);
  m.impl("needed", &needed_autograd);
  m.impl("pair", &pair_autograd);
  m.impl("undefined", &undefined_autograd);
  m.impl("places", &places_autograd);
  m.impl("shrink", &shrink_autograd);
  m.impl("masked", &masked_autograd);
}
