// What an author writes by hand for the operators of examples/library: schemas, registrations, shape functions, in-place
// and out overloads, autograd in backward mode, autocast, and functions for callers in C++. The kernels are the same, and
// are declared only. It is compiled to be compared with the generated code, and never linked.
#include <ATen/ExpandUtils.h>
#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/slice_backward.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "derivatives.h"

namespace acme::native {

at::Tensor gamma(const at::Tensor& self, double exponent);
at::Tensor& gamma_(at::Tensor& self, double exponent);
at::Tensor& gamma_out(const at::Tensor& self, double exponent, at::Tensor& out);
void mix_out(const at::Tensor& self, const at::Tensor& other, const at::Scalar& weight, const at::Tensor& out);
void patches_out(const at::Tensor& self, int64_t size, const at::Tensor& out);
at::Tensor rows_symint(const at::Tensor& self, c10::SymInt start, c10::SymInt length);
at::Tensor rows_copy_symint(const at::Tensor& self, c10::SymInt start, c10::SymInt length);
void track(at::Tensor& mean, const at::Tensor& value, double momentum);
at::Tensor weave(at::TensorList images, at::ArrayRef<at::Scalar> weights);
std::vector<at::Tensor> tiles(const at::Tensor& self, int64_t size);
std::tuple<at::Tensor, at::Tensor> moments(const at::Tensor& self, int64_t dim, bool keepdim);
at::Tensor affine(
    const at::Tensor& self, const std::optional<at::Tensor>& scale, const std::optional<at::Scalar>& offset);
at::Tensor pad_right(const at::Tensor& self, int64_t length, const at::Scalar& value);
std::tuple<at::Tensor, at::Tensor> sprinkle(const at::Tensor& self, double p, std::optional<at::Generator> generator);
at::Tensor soft_clip(const at::Tensor& self, double limit);
at::Tensor soft_clip_backward(const at::Tensor& grad_output, const at::Tensor& output, double limit);
at::Tensor scores(const at::Tensor& query, const at::Tensor& key, double scale);
at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, double scale);

}  // namespace acme::native

namespace acme {

// ---- for callers in C++ ------------------------------------------------------------------------------------------

#define ACME_OPERATOR(function, overload, result, parameters, ...)                                           \
  result function parameters {                                                                               \
    static auto op = c10::Dispatcher::singleton().findSchemaOrThrow("acme::" #function, overload)            \
                         .typed<result parameters>();                                                        \
    return op.call(__VA_ARGS__);                                                                             \
  }

using TwoTensors = std::tuple<at::Tensor, at::Tensor>;

ACME_OPERATOR(gamma, "", at::Tensor, (const at::Tensor& self, double exponent), self, exponent)
ACME_OPERATOR(gamma_, "", at::Tensor&, (at::Tensor & self, double exponent), self, exponent)
ACME_OPERATOR(mix, "", at::Tensor, (const at::Tensor& self, const at::Tensor& other, const at::Scalar& weight),
              self, other, weight)
ACME_OPERATOR(mix_, "", at::Tensor&, (at::Tensor & self, const at::Tensor& other, const at::Scalar& weight),
              self, other, weight)
ACME_OPERATOR(patches, "", at::Tensor, (const at::Tensor& self, int64_t size), self, size)
ACME_OPERATOR(rows, "", at::Tensor, (const at::Tensor& self, c10::SymInt start, c10::SymInt length),
              self, start, length)
ACME_OPERATOR(rows_copy, "", at::Tensor, (const at::Tensor& self, c10::SymInt start, c10::SymInt length),
              self, start, length)
ACME_OPERATOR(track, "", void, (at::Tensor & mean, const at::Tensor& value, double momentum), mean, value, momentum)
ACME_OPERATOR(weave, "", at::Tensor, (at::TensorList images, at::ArrayRef<at::Scalar> weights), images, weights)
ACME_OPERATOR(tiles, "", std::vector<at::Tensor>, (const at::Tensor& self, int64_t size), self, size)
ACME_OPERATOR(moments, "", TwoTensors, (const at::Tensor& self, int64_t dim, bool keepdim), self, dim, keepdim)
ACME_OPERATOR(affine, "", at::Tensor,
              (const at::Tensor& self, const std::optional<at::Tensor>& scale, const std::optional<at::Scalar>& offset),
              self, scale, offset)
ACME_OPERATOR(pad_right, "", at::Tensor, (const at::Tensor& self, c10::SymInt length, const at::Scalar& value),
              self, length, value)
ACME_OPERATOR(sprinkle, "", TwoTensors, (const at::Tensor& self, double p, std::optional<at::Generator> generator),
              self, p, generator)
ACME_OPERATOR(soft_clip, "", at::Tensor, (const at::Tensor& self, double limit), self, limit)
ACME_OPERATOR(soft_clip_backward, "", at::Tensor,
              (const at::Tensor& grad_output, const at::Tensor& output, double limit), grad_output, output, limit)
ACME_OPERATOR(scores, "", at::Tensor, (const at::Tensor& query, const at::Tensor& key, double scale),
              query, key, scale)
ACME_OPERATOR(attention, "", at::Tensor,
              (const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, double scale),
              query, key, value, scale)

at::Tensor& gamma_out(at::Tensor& out, const at::Tensor& self, double exponent) {
  static auto op = c10::Dispatcher::singleton().findSchemaOrThrow("acme::gamma", "out")
                       .typed<at::Tensor&(const at::Tensor&, double, at::Tensor&)>();
  return op.call(self, exponent, out);
}

at::Tensor& mix_out(at::Tensor& out, const at::Tensor& self, const at::Tensor& other, const at::Scalar& weight) {
  static auto op = c10::Dispatcher::singleton().findSchemaOrThrow("acme::mix", "out")
                       .typed<at::Tensor&(const at::Tensor&, const at::Tensor&, const at::Scalar&, at::Tensor&)>();
  return op.call(self, other, weight, out);
}

at::Tensor& patches_out(at::Tensor& out, const at::Tensor& self, int64_t size) {
  static auto op = c10::Dispatcher::singleton().findSchemaOrThrow("acme::patches", "out")
                       .typed<at::Tensor&(const at::Tensor&, int64_t, at::Tensor&)>();
  return op.call(self, size, out);
}

namespace {

// ---- shapes ------------------------------------------------------------------------------------------------------

using SymSizes = c10::SymDimVector;

at::Tensor like(const at::Tensor& self) {
  return at::empty_like(self);
}

SymSizes broadcast(const at::Tensor& left, const at::Tensor& right) {
  return at::infer_size_symdimvector(left.sym_sizes(), right.sym_sizes());
}

at::Tensor gamma_meta(const at::Tensor& self, double) {
  return like(self);
}

at::Tensor& gamma_meta_(at::Tensor& self, double) {
  return self;
}

at::Tensor& gamma_out_meta(const at::Tensor& self, double, at::Tensor& out) {
  at::native::resize_output_symint(out, self.sym_sizes());
  return out;
}

at::Tensor mix_meta(const at::Tensor& self, const at::Tensor& other, const at::Scalar&) {
  return at::empty_symint(broadcast(self, other), self.options());
}

at::Tensor& mix_meta_(at::Tensor& self, const at::Tensor& other, const at::Scalar&) {
  TORCH_CHECK(broadcast(self, other) == SymSizes(self.sym_sizes()), "mix_: the result does not fit into self");
  return self;
}

at::Tensor& mix_out_meta(const at::Tensor& self, const at::Tensor& other, const at::Scalar&, at::Tensor& out) {
  at::native::resize_output_symint(out, broadcast(self, other));
  return out;
}

std::vector<int64_t> patch_sizes(const at::Tensor& self, int64_t size) {
  TORCH_CHECK(self.dim() == 2 && size > 0, "patches: expected a matrix and a positive size");
  TORCH_CHECK(self.size(0) % size == 0 && self.size(1) % size == 0, "patches: the matrix has no such squares");
  return {self.size(0) / size * (self.size(1) / size), size * size};
}

at::Tensor patches_meta(const at::Tensor& self, int64_t size) {
  return at::empty(patch_sizes(self, size), self.options());
}

at::Tensor& patches_out_meta(const at::Tensor& self, int64_t size, at::Tensor& out) {
  at::native::resize_output(out, patch_sizes(self, size));
  return out;
}

void track_meta(at::Tensor&, const at::Tensor&, double) {}

at::Tensor weave_meta(at::TensorList images, at::ArrayRef<at::Scalar>) {
  return like(images[0]);
}

std::tuple<at::Tensor, at::Tensor> moments_meta(const at::Tensor& self, int64_t dim, bool keepdim) {
  SymSizes sizes(self.sym_sizes());
  dim = at::maybe_wrap_dim(dim, self.dim());
  if (keepdim) {
    sizes[dim] = 1;
  } else {
    sizes.erase(sizes.begin() + dim);
  }
  return {at::empty_symint(sizes, self.options()), at::empty_symint(sizes, self.options())};
}

at::Tensor affine_meta(
    const at::Tensor& self, const std::optional<at::Tensor>& scale, const std::optional<at::Scalar>&) {
  return at::empty_symint(scale ? broadcast(self, *scale) : SymSizes(self.sym_sizes()), self.options());
}

at::Tensor pad_right_meta(const at::Tensor& self, c10::SymInt length, const at::Scalar&) {
  SymSizes sizes(self.sym_sizes());
  sizes.back() = length;
  return at::empty_symint(sizes, self.options());
}

std::tuple<at::Tensor, at::Tensor> sprinkle_meta(const at::Tensor& self, double, std::optional<at::Generator>) {
  return {like(self), like(self)};
}

at::Tensor soft_clip_meta(const at::Tensor& self, double) {
  return like(self);
}

at::Tensor soft_clip_backward_meta(const at::Tensor& grad_output, const at::Tensor& output, double) {
  return at::empty_symint(broadcast(grad_output, output), grad_output.options());
}

at::Tensor scores_meta(const at::Tensor& query, const at::Tensor& key, double) {
  SymSizes sizes(query.sym_sizes());
  sizes.back() = key.sym_size(-2);
  return at::empty_symint(sizes, query.options());
}

// ---- overloads of one kernel ---------------------------------------------------------------------------------------

at::Tensor mix_cpu(const at::Tensor& self, const at::Tensor& other, const at::Scalar& weight) {
  at::Tensor out = at::empty(at::infer_size_dimvector(self.sizes(), other.sizes()), self.options());
  native::mix_out(self, other, weight, out);
  return out;
}

at::Tensor& mix_cpu_(at::Tensor& self, const at::Tensor& other, const at::Scalar& weight) {
  TORCH_CHECK(at::infer_size(self.sizes(), other.sizes()) == self.sizes(), "mix_: the result does not fit into self");
  native::mix_out(self, other, weight, self);
  return self;
}

at::Tensor& mix_out_cpu(const at::Tensor& self, const at::Tensor& other, const at::Scalar& weight, at::Tensor& out) {
  TORCH_CHECK(out.dtype() == self.dtype(), "mix: expected out of dtype ", self.dtype(), ", got ", out.dtype());
  at::native::resize_output(out, at::infer_size(self.sizes(), other.sizes()));
  native::mix_out(self, other, weight, out);
  return out;
}

at::Tensor patches_cpu(const at::Tensor& self, int64_t size) {
  at::Tensor out = at::empty(patch_sizes(self, size), self.options());
  native::patches_out(self, size, out);
  return out;
}

at::Tensor& patches_out_cpu(const at::Tensor& self, int64_t size, at::Tensor& out) {
  TORCH_CHECK(out.dtype() == self.dtype(), "patches: expected out of dtype ", self.dtype(), ", got ", out.dtype());
  at::native::resize_output(out, patch_sizes(self, size));
  native::patches_out(self, size, out);
  return out;
}

// ---- gradients -----------------------------------------------------------------------------------------------------

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::Variable;
using torch::autograd::variable_list;

struct Gamma : Function<Gamma> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& self, double exponent) {
    at::AutoDispatchBelowADInplaceOrView guard;
    context->save_for_backward({self});
    context->saved_data["exponent"] = exponent;
    return gamma(self, exponent);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto self = context->get_saved_variables()[0];
    const auto exponent = context->saved_data["exponent"].toDouble();
    return {grads[0] * exponent * self.pow(exponent - 1), Variable()};
  }
};

struct GammaInplace : Function<GammaInplace> {
  static at::Tensor forward(AutogradContext* context, at::Tensor self, double exponent) {
    at::AutoDispatchBelowADInplaceOrView guard;
    context->save_for_backward({self.clone()});
    context->saved_data["exponent"] = exponent;
    context->mark_dirty({self});
    return gamma_(self, exponent);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    return Gamma::backward(context, std::move(grads));
  }
};

struct Mix : Function<Mix> {
  static at::Tensor forward(
      AutogradContext* context, const at::Tensor& self, const at::Tensor& other, const at::Scalar& weight) {
    at::AutoDispatchBelowADInplaceOrView guard;
    context->saved_data["weight"] = weight;
    context->saved_data["self"] = self.sym_sizes();
    context->saved_data["other"] = other.sym_sizes();
    return mix(self, other, weight);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto weight = context->saved_data["weight"].toScalar();
    const auto self = at::sum_to(grads[0] * (1 - weight.toDouble()), context->saved_data["self"].toSymIntVector());
    const auto other = at::sum_to(grads[0] * weight, context->saved_data["other"].toSymIntVector());
    return {self, other, Variable()};
  }
};

struct MixInplace : Function<MixInplace> {
  static at::Tensor forward(
      AutogradContext* context, at::Tensor self, const at::Tensor& other, const at::Scalar& weight) {
    at::AutoDispatchBelowADInplaceOrView guard;
    context->saved_data["weight"] = weight;
    context->saved_data["self"] = self.sym_sizes();
    context->saved_data["other"] = other.sym_sizes();
    context->mark_dirty({self});
    return mix_(self, other, weight);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    return Mix::backward(context, std::move(grads));
  }
};

struct Patches : Function<Patches> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& self, int64_t size) {
    at::AutoDispatchBelowADInplaceOrView guard;
    context->saved_data["sizes"] = self.sym_sizes();
    context->saved_data["size"] = size;
    return patches(self, size);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto sizes = context->saved_data["sizes"].toSymIntVector();
    return {patches_backward(grads[0], sizes, context->saved_data["size"].toInt()), Variable()};
  }
};

struct Rows : Function<Rows> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& self, c10::SymInt start, c10::SymInt length) {
    at::AutoDispatchBelowADInplaceOrView guard;
    context->saved_data["sizes"] = self.sym_sizes();
    context->saved_data["start"] = start;
    context->saved_data["length"] = length;
    return rows(self, start, length);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto start = context->saved_data["start"].toSymInt();
    const auto end = start + context->saved_data["length"].toSymInt();
    const auto sizes = context->saved_data["sizes"].toSymIntVector();
    return {at::slice_backward_symint(grads[0], sizes, 0, start, end, 1), Variable(), Variable()};
  }
};

struct Weave : Function<Weave> {
  static at::Tensor forward(AutogradContext* context, variable_list images, std::vector<at::Scalar> weights) {
    at::AutoDispatchBelowADInplaceOrView guard;
    c10::List<c10::IValue> saved(c10::AnyType::get());
    for (const auto& weight : weights) {
      saved.push_back(weight);
    }
    context->saved_data["weights"] = saved;
    return weave(images, weights);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    std::vector<at::Scalar> weights;
    for (const auto& weight : context->saved_data["weights"].toListRef()) {
      weights.push_back(weight.toScalar());
    }
    variable_list result = weave_backward(grads[0], weights);
    result.emplace_back();
    return result;
  }
};

struct Tiles : Function<Tiles> {
  static variable_list forward(AutogradContext* context, const at::Tensor& self, int64_t size) {
    at::AutoDispatchBelowADInplaceOrView guard;
    context->saved_data["sizes"] = self.sym_sizes();
    context->saved_data["size"] = size;
    context->save_for_backward({self});
    return tiles(self, size);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto sizes = context->saved_data["sizes"].toSymIntVector();
    const auto options = context->get_saved_variables()[0].options();
    return {tiles_backward(grads, sizes, options, context->saved_data["size"].toInt()), Variable()};
  }
};

struct Moments : Function<Moments> {
  static variable_list forward(AutogradContext* context, const at::Tensor& self, int64_t dim, bool keepdim) {
    at::AutoDispatchBelowADInplaceOrView guard;
    auto [mean, deviation] = moments(self, dim, keepdim);
    context->save_for_backward({self, mean, deviation});
    context->saved_data["dim"] = dim;
    context->saved_data["keepdim"] = keepdim;
    return {mean, deviation};
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto saved = context->get_saved_variables();
    const auto dim = context->saved_data["dim"].toInt();
    const auto keepdim = context->saved_data["keepdim"].toBool();
    const auto grad = moments_backward(grads[0], grads[1], saved[0], saved[1], saved[2], dim, keepdim);
    return {grad, Variable(), Variable()};
  }
};

struct Affine : Function<Affine> {
  static at::Tensor forward(
      AutogradContext* context, const at::Tensor& self, const std::optional<at::Tensor>& scale,
      const std::optional<at::Scalar>& offset) {
    at::AutoDispatchBelowADInplaceOrView guard;
    context->save_for_backward({self, scale.value_or(at::Tensor())});
    return affine(self, scale, offset);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto saved = context->get_saved_variables();
    const auto &self = saved[0], &scale = saved[1];
    if (!scale.defined()) {
      return {grads[0], Variable(), Variable()};
    }
    return {at::sum_to(grads[0] * scale, self.sym_sizes()), at::sum_to(grads[0] * self, scale.sym_sizes()), Variable()};
  }
};

struct PadRight : Function<PadRight> {
  static at::Tensor forward(
      AutogradContext* context, const at::Tensor& self, c10::SymInt length, const at::Scalar& value) {
    at::AutoDispatchBelowADInplaceOrView guard;
    context->saved_data["length"] = self.sym_size(-1);
    return pad_right(self, length, value);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    return {grads[0].narrow_symint(-1, 0, context->saved_data["length"].toSymInt()), Variable(), Variable()};
  }
};

struct Sprinkle : Function<Sprinkle> {
  static variable_list forward(
      AutogradContext* context, const at::Tensor& self, double p, std::optional<at::Generator> generator) {
    at::AutoDispatchBelowADInplaceOrView guard;
    auto [values, mask] = sprinkle(self, p, std::move(generator));
    context->save_for_backward({mask});
    context->mark_non_differentiable({mask});
    return {values, mask};
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    return {grads[0] * context->get_saved_variables()[0], Variable(), Variable()};
  }
};

struct SoftClip : Function<SoftClip> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& self, double limit) {
    at::AutoDispatchBelowADInplaceOrView guard;
    const auto result = soft_clip(self, limit);
    context->save_for_backward({result});
    context->saved_data["limit"] = limit;
    return result;
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto result = context->get_saved_variables()[0];
    return {soft_clip_backward(grads[0], result, context->saved_data["limit"].toDouble()), Variable()};
  }
};

struct SoftClipBackward : Function<SoftClipBackward> {
  static at::Tensor forward(
      AutogradContext* context, const at::Tensor& grad_output, const at::Tensor& output, double limit) {
    at::AutoDispatchBelowADInplaceOrView guard;
    context->save_for_backward({grad_output, output});
    context->saved_data["limit"] = limit;
    return soft_clip_backward(grad_output, output, limit);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto saved = context->get_saved_variables();
    const auto limit = context->saved_data["limit"].toDouble();
    const auto output = grads[0] * saved[0] * saved[1] * (-2 / (limit * limit));
    return {soft_clip_backward(grads[0], saved[1], limit), output, Variable()};
  }
};

struct Scores : Function<Scores> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& query, const at::Tensor& key, double scale) {
    at::AutoDispatchBelowADInplaceOrView guard;
    context->save_for_backward({query, key});
    context->saved_data["scale"] = scale;
    return scores(query, key, scale);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    const auto saved = context->get_saved_variables();
    const auto scale = context->saved_data["scale"].toDouble();
    const auto query = grads[0].matmul(saved[1]) * scale;
    return {query, grads[0].transpose(-2, -1).matmul(saved[0]) * scale, Variable()};
  }
};

template <typename Class, typename... Arguments>
at::Tensor differentiable(Arguments... arguments) {
  return Class::apply(arguments...);
}

at::Tensor& gamma_autograd_(at::Tensor& self, double exponent) {
  GammaInplace::apply(self, exponent);
  return self;
}

at::Tensor& mix_autograd_(at::Tensor& self, const at::Tensor& other, const at::Scalar& weight) {
  MixInplace::apply(self, other, weight);
  return self;
}

at::Tensor weave_autograd(at::TensorList images, at::ArrayRef<at::Scalar> weights) {
  return Weave::apply(images.vec(), weights.vec());
}

std::vector<at::Tensor> tiles_autograd(const at::Tensor& self, int64_t size) {
  return Tiles::apply(self, size);
}

std::tuple<at::Tensor, at::Tensor> moments_autograd(const at::Tensor& self, int64_t dim, bool keepdim) {
  auto results = Moments::apply(self, dim, keepdim);
  return {results[0], results[1]};
}

std::tuple<at::Tensor, at::Tensor> sprinkle_autograd(
    const at::Tensor& self, double p, std::optional<at::Generator> generator) {
  auto results = Sprinkle::apply(self, p, std::move(generator));
  return {results[0], results[1]};
}

// ---- autocast ------------------------------------------------------------------------------------------------------

template <c10::DispatchKey key, c10::DeviceType device>
at::Tensor scores_autocast(const at::Tensor& query, const at::Tensor& other, double scale) {
  c10::impl::ExcludeDispatchKeyGuard guard(key);
  const auto dtype = at::autocast::get_autocast_dtype(device);
  return scores(
      at::autocast::cached_cast(dtype, query, device), at::autocast::cached_cast(dtype, other, device), scale);
}

}  // namespace
}  // namespace acme

// ---- registrations -------------------------------------------------------------------------------------------------

TORCH_LIBRARY(acme, m) {
  m.def("gamma(Tensor self, float exponent=2.2) -> Tensor");
  m.def("gamma_(Tensor(a!) self, float exponent=2.2) -> Tensor(a!)");
  m.def("gamma.out(Tensor self, float exponent=2.2, *, Tensor(a!) out) -> Tensor(a!)");
  m.def("mix(Tensor self, Tensor other, *, Scalar weight=0.5) -> Tensor");
  m.def("mix_(Tensor(a!) self, Tensor other, *, Scalar weight=0.5) -> Tensor(a!)");
  m.def("mix.out(Tensor self, Tensor other, *, Scalar weight=0.5, Tensor(a!) out) -> Tensor(a!)");
  m.def("patches(Tensor self, int size) -> Tensor");
  m.def("patches.out(Tensor self, int size, *, Tensor(a!) out) -> Tensor(a!)");
  m.def("rows(Tensor(a) self, SymInt start, SymInt length) -> Tensor(a)");
  m.def("rows_copy(Tensor self, SymInt start, SymInt length) -> Tensor", {at::Tag::view_copy});
  m.def("track(Tensor(a!) mean, Tensor value, *, float momentum=0.1) -> ()");
  m.def("weave(Tensor[] images, Scalar[] weights) -> Tensor");
  m.def("tiles(Tensor self, int size) -> Tensor[]");
  m.def("moments(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor mean, Tensor deviation)");
  m.def("affine(Tensor self, Tensor? scale=None, Scalar? offset=None) -> Tensor");
  m.def("pad_right(Tensor self, SymInt length, Scalar value=0) -> Tensor");
  m.def(
      "sprinkle(Tensor self, float p=0.5, *, Generator? generator=None) -> (Tensor values, Tensor mask)",
      {at::Tag::nondeterministic_seeded});
  m.def("soft_clip(Tensor self, float limit) -> Tensor");
  m.def("soft_clip_backward(Tensor grad_output, Tensor output, float limit) -> Tensor");
  m.def("scores(Tensor query, Tensor key, *, float scale=1.0) -> Tensor");
  m.def("attention(Tensor query, Tensor key, Tensor value, *, float scale=1.0) -> Tensor");
}

TORCH_LIBRARY_IMPL(acme, CPU, m) {
  m.impl("gamma", TORCH_FN(acme::native::gamma));
  m.impl("gamma_", TORCH_FN(acme::native::gamma_));
  m.impl("gamma.out", TORCH_FN(acme::native::gamma_out));
  m.impl("mix", TORCH_FN(acme::mix_cpu));
  m.impl("mix_", TORCH_FN(acme::mix_cpu_));
  m.impl("mix.out", TORCH_FN(acme::mix_out_cpu));
  m.impl("patches", TORCH_FN(acme::patches_cpu));
  m.impl("patches.out", TORCH_FN(acme::patches_out_cpu));
  m.impl("track", TORCH_FN(acme::native::track));
  m.impl("weave", TORCH_FN(acme::native::weave));
  m.impl("tiles", TORCH_FN(acme::native::tiles));
  m.impl("moments", TORCH_FN(acme::native::moments));
  m.impl("affine", TORCH_FN(acme::native::affine));
  m.impl("pad_right", TORCH_FN(acme::native::pad_right));
  m.impl("sprinkle", TORCH_FN(acme::native::sprinkle));
  m.impl("soft_clip", TORCH_FN(acme::native::soft_clip));
  m.impl("soft_clip_backward", TORCH_FN(acme::native::soft_clip_backward));
  m.impl("scores", TORCH_FN(acme::native::scores));
}

TORCH_LIBRARY_IMPL(acme, Meta, m) {
  m.impl("gamma", TORCH_FN(acme::gamma_meta));
  m.impl("gamma_", TORCH_FN(acme::gamma_meta_));
  m.impl("gamma.out", TORCH_FN(acme::gamma_out_meta));
  m.impl("mix", TORCH_FN(acme::mix_meta));
  m.impl("mix_", TORCH_FN(acme::mix_meta_));
  m.impl("mix.out", TORCH_FN(acme::mix_out_meta));
  m.impl("patches", TORCH_FN(acme::patches_meta));
  m.impl("patches.out", TORCH_FN(acme::patches_out_meta));
  m.impl("track", TORCH_FN(acme::track_meta));
  m.impl("weave", TORCH_FN(acme::weave_meta));
  m.impl("moments", TORCH_FN(acme::moments_meta));
  m.impl("affine", TORCH_FN(acme::affine_meta));
  m.impl("pad_right", TORCH_FN(acme::pad_right_meta));
  m.impl("sprinkle", TORCH_FN(acme::sprinkle_meta));
  m.impl("soft_clip", TORCH_FN(acme::soft_clip_meta));
  m.impl("soft_clip_backward", TORCH_FN(acme::soft_clip_backward_meta));
  m.impl("scores", TORCH_FN(acme::scores_meta));
}

TORCH_LIBRARY_IMPL(acme, CompositeExplicitAutograd, m) {
  m.impl("rows", TORCH_FN(acme::native::rows_symint));
}

TORCH_LIBRARY_IMPL(acme, CompositeExplicitAutogradNonFunctional, m) {
  m.impl("rows_copy", TORCH_FN(acme::native::rows_copy_symint));
}

TORCH_LIBRARY_IMPL(acme, CompositeImplicitAutograd, m) {
  m.impl("attention", TORCH_FN(acme::native::attention));
}

TORCH_LIBRARY_IMPL(acme, Autograd, m) {
  using namespace acme;
  m.impl("gamma", TORCH_FN((differentiable<Gamma, const at::Tensor&, double>)));
  m.impl("gamma_", TORCH_FN(gamma_autograd_));
  m.impl("mix", TORCH_FN((differentiable<Mix, const at::Tensor&, const at::Tensor&, const at::Scalar&>)));
  m.impl("mix_", TORCH_FN(mix_autograd_));
  m.impl("patches", TORCH_FN((differentiable<Patches, const at::Tensor&, int64_t>)));
  m.impl("rows", TORCH_FN((differentiable<Rows, const at::Tensor&, c10::SymInt, c10::SymInt>)));
  m.impl("weave", TORCH_FN(weave_autograd));
  m.impl("tiles", TORCH_FN(tiles_autograd));
  m.impl("moments", TORCH_FN(moments_autograd));
  m.impl("affine", TORCH_FN((differentiable<
                                Affine, const at::Tensor&, const std::optional<at::Tensor>&,
                                const std::optional<at::Scalar>&>)));
  m.impl("pad_right", TORCH_FN((differentiable<PadRight, const at::Tensor&, c10::SymInt, const at::Scalar&>)));
  m.impl("sprinkle", TORCH_FN(sprinkle_autograd));
  m.impl("soft_clip", TORCH_FN((differentiable<SoftClip, const at::Tensor&, double>)));
  m.impl("soft_clip_backward",
         TORCH_FN((differentiable<SoftClipBackward, const at::Tensor&, const at::Tensor&, double>)));
  m.impl("scores", TORCH_FN((differentiable<Scores, const at::Tensor&, const at::Tensor&, double>)));
}

TORCH_LIBRARY_IMPL(acme, AutocastCPU, m) {
  m.impl("scores", TORCH_FN((acme::scores_autocast<c10::DispatchKey::AutocastCPU, c10::DeviceType::CPU>)));
}

TORCH_LIBRARY_IMPL(acme, AutocastCUDA, m) {
  m.impl("scores", TORCH_FN((acme::scores_autocast<c10::DispatchKey::AutocastCUDA, c10::DeviceType::CUDA>)));
}
