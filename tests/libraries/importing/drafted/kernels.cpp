#include "kernels.h"
#include <ATen/ATen.h>

static int64_t count = 0;
int64_t calls() { return count; }

at::Tensor mix_cpu(const at::Tensor& a, const at::Tensor& b) { return a * a * b; }
std::tuple<at::Tensor, at::Tensor> mix_backward(const at::Tensor& g, const at::Tensor& a, const at::Tensor& b, c10::SymInt n) {
  ++count;
  return {g * 2 * a * b * n, g * a * a};
}
std::vector<at::Tensor> mix_gradients(const at::Tensor& g, const at::Tensor& a, const at::Tensor& b) {
  ++count;
  return {g * 2 * a * b, g * a * a};
}
std::tuple<at::Tensor, at::Tensor> pair_cpu(const at::Tensor& a, const at::Tensor& b) { return {a * b, a + b}; }
at::Tensor plus_cpu(const at::Tensor& a, const at::Tensor& b) { return a * 2 + b * 3; }
at::Tensor shrink_cpu(const at::Tensor& self, int64_t dim, double by, bool negate, std::string mode) {
  auto sum = self.sum(dim, true) * by;
  return negate ? -sum : sum;
}
std::tuple<at::Tensor, at::Tensor> places_cpu(const at::Tensor& self) { return {self.argmax(1), self.amax(1)}; }
at::Tensor masked_cpu(const at::Tensor& self, const std::optional<at::Tensor>& mask, const at::Tensor& offset) {
  return (mask.has_value() ? self * *mask : self * 5) + offset;
}

namespace vision::ops {
at::Tensor roi_cpu(const at::Tensor& input, const at::Tensor& rois, double scale, int64_t height) {
  return input * rois.sum() * scale * height;
}
std::tuple<at::Tensor, at::Tensor> pool_cpu(const at::Tensor& input, const at::Tensor& rois) {
  auto mapping = input.argsort(0, false);
  return {input.gather(0, mapping) * rois, mapping};
}
namespace detail {
at::Tensor roi_backward_cpu(const at::Tensor& grad, const at::Tensor& rois, double scale, int64_t height, int64_t rows) {
  ++count;
  return grad * rois.sum() * scale * height + rows;
}
at::Tensor pool_backward(const at::Tensor& grad, const at::Tensor& rois, const at::Tensor& mapping, at::IntArrayRef sizes) {
  return at::zeros(sizes, grad.options()).scatter(0, mapping, grad * rois);
}
}  // namespace detail
}  // namespace vision::ops
