// The kernels, for both C++ interfaces. They read and write elements one after the other.
#include <overlapping/kernels.h>

#include <cstdint>
#include <optional>
#include <vector>

#ifdef STABLE
#include <opwright/stable_call.h>
using torch::stable::Tensor;
using Tensors = torch::headeronly::HeaderOnlyArrayRef<Tensor>;
using Parts = const std::optional<Tensors>&;
#else
#include <ATen/ATen.h>
using at::Tensor;
using Tensors = at::TensorList;
using Parts = std::optional<Tensors>;
#endif

namespace {

// An element of a tensor, by its number in the order of the sizes.
float& element(const Tensor& tensor, int64_t number) {
  int64_t place = 0;
  for (int64_t dim = tensor.dim() - 1; dim >= 0; --dim) {
    place += number % tensor.sizes()[dim] * tensor.strides()[dim];
    number /= tensor.sizes()[dim];
  }
  return static_cast<float*>(tensor.mutable_data_ptr())[place];
}

} // namespace

namespace overlapping::native {

void reverse_into(const Tensor& src, Tensor& dst) {
  for (int64_t k = 0; k < dst.numel(); ++k) {
    element(dst, dst.numel() - 1 - k) = element(src, k);
  }
}

void accumulate(Tensor& total, const Tensor& other) {
#ifdef STABLE
  opwright::call<Tensor>("aten::maximum", "out", total, other, total);
  opwright::call<Tensor>("aten::minimum", "out", other, total, total);
#else
  at::maximum_out(total, total, other);
  at::minimum_out(total, other, total);
#endif
}

void split_into(const Tensor& src, Tensor& low, Tensor& high) {
  for (int64_t k = 0; k < low.numel(); ++k) {
    element(low, k) = element(src, k) - 1;
    element(high, k) = element(src, k) + 1;
  }
}

void spread(const std::optional<Tensor>& src, Tensors outs) {
  for (const Tensor& out : outs) {
    for (int64_t k = 0; k < out.numel(); ++k) {
      element(out, k) = (src.has_value() ? element(*src, (k + 1) % out.numel()) : 0) + k;
    }
  }
}

void gather_into(Tensor& dst, Parts parts) {
  int64_t place = 0;
  for (const Tensor& part : parts.has_value() ? *parts : Tensors()) {
    for (int64_t k = 0; k < part.numel(); ++k) {
      element(dst, place++) = element(part, k);
    }
  }
}

void rotate(Tensor& result, const Tensor& src) {
  for (int64_t k = 0; k < src.numel(); ++k) {
    element(result, (k + 1) % src.numel()) = element(src, k);
  }
}

void negate(Tensor& result, const Tensor& self) {
  for (int64_t k = 0; k < self.numel(); ++k) {
    element(result, k) = -element(self, k);
  }
}

void shift_into(const Tensor& src, Tensor& dst) {
  std::vector<float> values;
  for (int64_t k = 0; k < src.numel(); ++k) {
    values.push_back(element(src, k) + 1);
  }
  for (int64_t k = 0; k < src.numel(); ++k) {
    element(dst, k) = values[k];
  }
}

Tensor update(const Tensor& x, const std::optional<Tensor>& total) {
  for (int64_t k = 0; total.has_value() && k < x.numel(); ++k) {
    element(*total, k) += element(x, k);
  }
#ifdef STABLE
  return opwright::call<Tensor>("aten::neg", "", x);
#else
  return at::neg(x);
#endif
}

} // namespace overlapping::native
