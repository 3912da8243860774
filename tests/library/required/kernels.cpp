// The kernels, which read memory by the sizes that the entries require.
#include <required/kernels.h>

#include <cmath>
#include <cstring>
#include <tuple>
#include <vector>

#ifdef STABLE
#include <opwright/stable_call.h>
#include <torch/csrc/stable/ops.h>
#include <torch/headeronly/core/ScalarType.h>
using Tensor = torch::stable::Tensor;
using OptionalTensor = std::optional<Tensor>;
using Tensors = torch::headeronly::HeaderOnlyArrayRef<Tensor>;
static Tensor make(const Tensor& like, std::vector<int64_t> sizes) {
  return torch::stable::new_zeros(like, sizes);
}
static Tensor make_double(const Tensor& like, std::vector<int64_t> sizes) {
  return torch::stable::new_zeros(like, sizes, torch::headeronly::ScalarType::Double);
}
using Written = Tensor;
#define DTYPE torch::headeronly::ScalarType
#define CHECK STD_TORCH_CHECK
#else
#include <ATen/core/Tensor.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/result_type.h>
#include <ATen/ops/zeros.h>
#include <required/ops.h>
using Tensor = at::Tensor;
using OptionalTensor = std::optional<Tensor>;
using Tensors = at::TensorList;
static Tensor make(const Tensor& like, std::vector<int64_t> sizes) {
  return at::zeros(sizes, like.options());
}
static Tensor make_double(const Tensor& like, std::vector<int64_t> sizes) {
  return at::zeros(sizes, like.options().dtype(at::kDouble));
}
using Written = Tensor&;
#define DTYPE at::ScalarType
#define CHECK TORCH_CHECK
#endif

static std::vector<int64_t> sizes_of(const Tensor& tensor) {
  return {tensor.sizes().begin(), tensor.sizes().end()};
}

template <class T>
static T* data(const Tensor& tensor) {
  return static_cast<T*>(const_cast<void*>(static_cast<const void*>(tensor.data_ptr())));
}

template <class T>
static void norm_rows(const Tensor& x, const Tensor& weight, double eps, const Tensor& result) {
  const int64_t count = x.size(x.dim() - 1);
  const int64_t rows = count == 0 ? 0 : x.numel() / count;
  for (int64_t row = 0; row < rows; ++row) {
    const T* in = data<T>(x) + row * count;
    T sum = 0;
    for (int64_t place = 0; place < count; ++place) {
      sum += in[place] * in[place];
    }
    const T scale = 1 / std::sqrt(sum / count + static_cast<T>(eps));
    for (int64_t place = 0; place < count; ++place) {
      data<T>(result)[row * count + place] = in[place] * scale * data<T>(weight)[place];
    }
  }
}

template <class T>
static void norm_rows_backward(
    const Tensor& grad, const Tensor& x, const Tensor& weight, double eps, const Tensor& x_grad,
    const Tensor& weight_grad) {
  const int64_t count = x.size(x.dim() - 1);
  const int64_t rows = count == 0 ? 0 : x.numel() / count;
  for (int64_t row = 0; row < rows; ++row) {
    const T* in = data<T>(x) + row * count;
    const T* out = data<T>(grad) + row * count;
    T sum = 0, product = 0;
    for (int64_t place = 0; place < count; ++place) {
      sum += in[place] * in[place];
      product += out[place] * data<T>(weight)[place] * in[place];
    }
    const T scale = 1 / std::sqrt(sum / count + static_cast<T>(eps));
    for (int64_t place = 0; place < count; ++place) {
      data<T>(x_grad)[row * count + place] =
          scale * out[place] * data<T>(weight)[place] - in[place] * scale * scale * scale * product / count;
      data<T>(weight_grad)[place] += out[place] * in[place] * scale;
    }
  }
}

namespace required {
namespace native {

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  CHECK(x.is_contiguous() && weight.is_contiguous(), "the kernel got other strides");
  Tensor result = make(x, sizes_of(x));
  x.scalar_type() == DTYPE::Float ? norm_rows<float>(x, weight, eps, result)
                                  : norm_rows<double>(x, weight, eps, result);
  return result;
}

Tensor plain_norm(const Tensor& x, const Tensor& weight, double eps) {
  CHECK(reinterpret_cast<std::uintptr_t>(data<void>(x)) % 16 == 0, "the kernel got another address");
  return rms_norm(x, weight, eps);
}

std::tuple<Tensor, Tensor> rms_norm_backward(
    const Tensor& grad, const Tensor& x, const Tensor& weight, double eps) {
  Tensor x_grad = make(x, sizes_of(x)), weight_grad = make(weight, sizes_of(weight));
  x.scalar_type() == DTYPE::Float ? norm_rows_backward<float>(grad, x, weight, eps, x_grad, weight_grad)
                                  : norm_rows_backward<double>(grad, x, weight, eps, x_grad, weight_grad);
  return {x_grad, weight_grad};
}

std::tuple<Tensor, std::vector<Tensor>> both_of(const Tensor& x, Tensors others, double scale) {
  Tensor scaled = make(x, sizes_of(x));
  for (int64_t place = 0; place < x.numel(); ++place) {
    data<double>(scaled)[place] = data<double>(x)[place] * scale;
  }
  std::vector<Tensor> rest;
  for (const Tensor& other : others) {
    rest.push_back(make(other, sizes_of(other)));
    for (int64_t place = 0; place < other.numel(); ++place) {
      data<double>(rest.back())[place] = data<double>(other)[place] * data<double>(other)[place];
    }
  }
  return {scaled, rest};
}

Tensor elsewhere(const Tensor& x) {
  return x;
}

Tensor pool(
    const Tensor& image, int64_t height, const OptionalTensor& bias, const OptionalTensor& scale,
    std::optional<int64_t> width) {
  return make(image, {image.size(0), image.size(1), height, image.size(4) / 2});
}

Tensor joined(Tensors tensors, const Tensor& scale) {
  for (const Tensor& tensor : tensors) {
    CHECK(tensor.is_contiguous(), "the kernel got other strides");
  }
  std::vector<int64_t> sizes = sizes_of(scale);
  sizes.insert(sizes.begin(), static_cast<int64_t>(tensors.size()));
  return make_double(scale, sizes);
}

Tensor first_of(Tensors tensors) {
  return make(tensors[0], {tensors[0].size(0)});
}

Tensor plus(const Tensor& p, const Tensor& q) {
  std::vector<int64_t> sizes = sizes_of(p.dim() < q.dim() ? q : p);
  const Tensor& shorter = p.dim() < q.dim() ? p : q;
  for (int64_t place = 1; place <= shorter.dim(); ++place) {
    int64_t& size = sizes[sizes.size() - place];
    const int64_t other = shorter.size(shorter.dim() - place);
    size = size == 1 ? other : size;
  }
#ifdef STABLE
  return make(p, sizes);
#else
  return at::zeros(sizes, p.options().dtype(at::result_type(p, q)));
#endif
}

Written halve_(Tensor& self, const Tensor& mask) {
  return self;
}

Tensor over(const Tensor& x, const Tensor& plane, int64_t dim) {
  return make(x, sizes_of(plane));
}

Written triple_(Tensor& self) {
  CHECK(self.is_contiguous(), "the kernel got other strides");
  for (int64_t place = 0; place < self.numel(); ++place) {
    data<float>(self)[place] *= 3;
  }
  return self;
}

Tensor triple(const Tensor& self) {
  Tensor result = make(self, sizes_of(self));
  for (int64_t place = 0; place < self.numel(); ++place) {
    data<float>(result)[place] = 3 * data<float>(self)[place];
  }
  return result;
}

void shift_into(Tensor& result, const Tensor& self, const Tensor& by) {
  if (result.is_contiguous()) {
    std::memset(data<void>(result), 0, result.numel() * result.element_size());
  }
}

Tensor windows(const Tensor& x, int64_t width) {
  auto sizes = sizes_of(x);
  sizes.back() -= width - 1;
  sizes.push_back(width);
  return make(x, sizes);
}

Written triple_out(const Tensor& self, Tensor& out) {
  CHECK(self.is_contiguous() && out.numel() == self.numel(), "the kernel got other strides or sizes");
  return out;
}

Written summed_out(const Tensor& self, const OptionalTensor& scale, bool wide, Tensor& out) {
  return out;
}

Written chained_out(Tensors tensors, Tensor& out) {
  return out;
}

Tensor column_sums(const Tensor& x, const Tensor& by) {
  Tensor result = make(x, {x.size(-1)});
  for (int64_t place = 0; place < x.numel(); ++place) {
    data<float>(result)[place % x.size(-1)] += data<float>(x)[place] * data<float>(by)[place];
  }
  return result;
}

Written raised_(Tensor& self, const Tensor& by) {
  return self;
}

Tensor twice(const Tensor& x, const Tensor& weight) {
#ifdef STABLE
  return opwright::call("aten::mul", "Tensor", x, weight);
#else
  return x * weight;
#endif
}

Tensor nested(const Tensor& x, const Tensor& weight) {
#ifdef STABLE
  return opwright::call("required::rms_norm", "", x, weight, 1e-6);
#else
  return required::rms_norm(x, weight, 1e-6);
#endif
}

} // namespace native
} // namespace required
