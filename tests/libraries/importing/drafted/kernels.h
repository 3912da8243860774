#pragma once
#include <ATen/core/Tensor.h>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

at::Tensor mix_cpu(const at::Tensor& a, const at::Tensor& b);
std::tuple<at::Tensor, at::Tensor> mix_backward(const at::Tensor& g, const at::Tensor& a, const at::Tensor& b, c10::SymInt n);
std::vector<at::Tensor> mix_gradients(const at::Tensor& g, const at::Tensor& a, const at::Tensor& b);
std::tuple<at::Tensor, at::Tensor> pair_cpu(const at::Tensor& a, const at::Tensor& b);
at::Tensor plus_cpu(const at::Tensor& a, const at::Tensor& b);
at::Tensor shrink_cpu(const at::Tensor& self, int64_t dim, double by, bool negate, std::string mode);
std::tuple<at::Tensor, at::Tensor> places_cpu(const at::Tensor& self);
at::Tensor masked_cpu(const at::Tensor& self, const std::optional<at::Tensor>& mask, const at::Tensor& offset);
int64_t calls();

namespace vision::ops {
at::Tensor roi_cpu(const at::Tensor& input, const at::Tensor& rois, double scale, int64_t height);
std::tuple<at::Tensor, at::Tensor> pool_cpu(const at::Tensor& input, const at::Tensor& rois);
namespace detail {
at::Tensor roi_backward_cpu(const at::Tensor& grad, const at::Tensor& rois, double scale, int64_t height, int64_t rows);
at::Tensor roi_backward_symint(const at::Tensor& grad, const at::Tensor& rois, double scale, c10::SymInt height, c10::SymInt rows);
at::Tensor pool_backward(const at::Tensor& grad, const at::Tensor& rois, const at::Tensor& mapping, at::IntArrayRef sizes);
}  // namespace detail
}  // namespace vision::ops
