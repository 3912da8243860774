// The kernels that the author of the library wrote. They call PyTorch's operators, which run below autograd.
#include <ATen/TensorOperators.h>
#include <ATen/ops/ceil.h>
#include <ATen/ops/empty_like.h>
#include <graded/kernels.h>
#include <graded/ops.h>

namespace graded::native {

at::Tensor scale(const at::Tensor& self, double factor) {
  return self.mul(factor);
}

at::Tensor& scale_(at::Tensor& self, double factor) {
  return self.mul_(factor);
}

at::Tensor& scale_out(const at::Tensor& self, double factor, at::Tensor& out) {
  return out.copy_(self.mul(factor));
}

at::Tensor cube(const at::Tensor& self) {
  return self * self * self;
}

at::Tensor& cube_(at::Tensor& self) {
  return self.copy_(self * self * self);
}

at::Tensor& cube_out(const at::Tensor& self, at::Tensor& out) {
  return out.copy_(self * self * self);
}

at::Tensor squash(const at::Tensor& self) {
  return self.tanh();
}

at::Tensor& squash_(at::Tensor& self) {
  return self.tanh_();
}

std::tuple<at::Tensor, at::Tensor> polar(const at::Tensor& x, const at::Tensor& y) {
  return {(x * x + y * y).sqrt(), y.atan2(x)};
}

std::tuple<at::Tensor&, at::Tensor&> polar_out(
    const at::Tensor& x, const at::Tensor& y, at::Tensor& radius, at::Tensor& angle) {
  const auto [new_radius, new_angle] = polar(x, y);
  radius.copy_(new_radius);
  angle.copy_(new_angle);
  return {radius, angle};
}

std::tuple<at::Tensor, at::Tensor> largest(const at::Tensor& self) {
  return {self.max(), self.argmax()};
}

at::Tensor total(at::TensorList tensors) {
  at::Tensor sum = tensors[0].clone();
  for (const at::Tensor& tensor : tensors.slice(1)) {
    sum.add_(tensor);
  }
  return sum;
}

at::Tensor affine(
    const at::Tensor& self, const at::Tensor& weight, const std::optional<at::Tensor>& bias, const at::Scalar& alpha) {
  const at::Tensor product = self * weight * alpha;
  return bias.has_value() && bias->defined() ? product + *bias : product;
}

at::Tensor row(const at::Tensor& self, int64_t index) {
  return self.select(0, index);
}

at::Tensor window_symint(const at::Tensor& self, c10::SymInt start, c10::SymInt length) {
  return self.narrow_symint(0, start, length);
}

std::vector<at::Tensor> bands(const at::Tensor& self, int64_t count) {
  const int64_t height = self.size(0) / count;
  std::vector<at::Tensor> results;
  for (int64_t index = 0; index < count; ++index) {
    results.push_back(self.narrow(0, index * height, height));
  }
  return results;
}

at::Tensor turned(const at::Tensor& self) {
  return self.t();
}

at::Tensor& turned_(at::Tensor& self) {
  return self.t_();
}

at::Tensor shaped_symint(const at::Tensor& self, c10::SymIntArrayRef sizes, std::optional<std::string_view> order) {
  return self.view_symint(sizes);
}

at::Tensor steps(const at::Tensor& self) {
  return self.ceil();
}

c10::Dict<std::string, at::Tensor> named(const at::Tensor& self) {
  c10::Dict<std::string, at::Tensor> tensors;
  tensors.insert("steps", self.ceil());
  return tensors;
}

at::Tensor& steps_(at::Tensor& self) {
  return self.ceil_();
}

void scale_all(at::TensorList tensors, double factor) {
  for (const at::Tensor& tensor : tensors) {
    tensor.mul_(factor);
  }
}

void accumulate(const at::Tensor& self, at::Tensor& sum, at::TensorList counts) {
  sum.add_(self);
  for (const at::Tensor& count : counts) {
    count.add_(1);
  }
}

at::Tensor swap(const at::Tensor& self, at::Tensor& state) {
  at::Tensor before = state.clone();
  state.copy_(self);
  return before;
}

std::tuple<at::Tensor, at::Tensor> raise_to(const at::Tensor& self, at::Tensor& least) {
  at::Tensor is_taken = self.gt(least).to(self.scalar_type());
  least.copy_(self.maximum(least));
  return {least, is_taken};
}

std::tuple<at::Tensor, at::Tensor> raised_by(at::Tensor& least, const at::Tensor& self) {
  return raise_to(self, least);
}

}  // namespace graded::native
