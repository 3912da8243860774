// The kernels of steady.yaml: no header of PyTorch but those of the stable API.
#include <steady/kernels.h>
#include <opwright/stable_call.h>
#include <torch/csrc/stable/ops.h>

#include <algorithm>

using torch::stable::Tensor;

Tensor steady::native::doubled_cpu(const Tensor& self, int64_t times) {
  Tensor result = opwright::call("aten::clone", "", self, std::optional<torch::headeronly::MemoryFormat>());
  auto* data = static_cast<float*>(result.mutable_data_ptr());
  for (int64_t i = 0; i < result.numel(); ++i) {
    for (int64_t time = 0; time < times; ++time) {
      data[i] *= 2;
    }
  }
  return result;
}

Tensor steady::native::clear_cpu(
    Tensor& self,
    torch::headeronly::HeaderOnlyArrayRef<Tensor> others,
    std::optional<torch::headeronly::HeaderOnlyArrayRef<int64_t>> kept) {
  auto* data = static_cast<float*>(self.mutable_data_ptr());
  for (int64_t i = 0; i < self.numel(); ++i) {
    bool keep = false;
    if (kept.has_value()) {
      for (int64_t index : *kept) {
        keep |= index == i;
      }
    }
    if (!keep) {
      data[i] = static_cast<float>(others.size());
    }
  }
  return self;
}

void steady::native::record_cpu(Tensor& self, const Tensor& value) {
  torch::stable::copy_(self, value);
}

std::tuple<Tensor, int64_t> steady::native::choose_cpu(
    const Tensor& self,
    const std::optional<Tensor>& other,
    std::string_view mode,
    int64_t index) {
  return {torch::stable::clone(mode == "other" && other.has_value() ? *other : self), index};
}

Tensor steady::native::joined_cpu(torch::headeronly::HeaderOnlyArrayRef<Tensor> tensors, int64_t dim) {
  std::vector<int64_t> sizes(tensors[0].sizes().begin(), tensors[0].sizes().end());
  sizes[dim] = 0;
  for (const Tensor& tensor : tensors) {
    sizes[dim] += tensor.size(dim);
  }
  return torch::stable::new_zeros(tensors[0], sizes, torch::headeronly::ScalarType::Float);
}

std::tuple<Tensor, Tensor> steady::native::framed_cpu(
    const Tensor& self,
    const Tensor& other,
    int64_t width,
    std::optional<torch::headeronly::HeaderOnlyArrayRef<int64_t>> dims,
    bool wide) {
  std::vector<int64_t> frame(other.sizes().begin(), other.sizes().end());
  frame[0] = wide && width > self.size(0) ? width : self.size(0);
  std::vector<int64_t> sums;
  for (int64_t i = 0; i < self.dim(); ++i) {
    bool reduced = !dims.has_value();
    for (int64_t dim : dims.value_or(torch::headeronly::HeaderOnlyArrayRef<int64_t>())) {
      reduced |= dim == i;
    }
    sums.push_back(reduced ? 1 : std::max(self.size(i), other.size(i)));
  }
  return {
      torch::stable::new_zeros(self, frame),
      torch::stable::new_zeros(self, sums, torch::headeronly::ScalarType::Double)};
}

std::vector<Tensor> steady::native::parts(
    const Tensor& self,
    torch::headeronly::HeaderOnlyArrayRef<int64_t> starts,
    bool flag,
    double unused) {
  std::vector<Tensor> results;
  Tensor source = self;
  for (int64_t start : starts) {
    results.push_back(torch::stable::narrow(source, 0, start, flag ? 2 : 1));
  }
  return results;
}

std::string steady::native::described(
    torch::headeronly::ScalarType dtype,
    std::optional<torch::headeronly::Layout> layout,
    std::optional<torch::stable::Device> device,
    std::optional<torch::headeronly::MemoryFormat> memory_format) {
  std::string text = dtype == torch::headeronly::ScalarType::Float ? "float" : "other";
  text += layout.has_value() ? " layout" : "";
  text += device.has_value() ? " device" : "";
  return text + (memory_format.has_value() ? " format" : "");
}

int64_t steady::native::counted(std::vector<bool> flags, std::optional<std::vector<bool>> more) {
  int64_t count = std::count(flags.begin(), flags.end(), true);
  return more ? count + std::count(more->begin(), more->end(), true) : count;
}

std::tuple<int64_t, std::vector<std::string>> steady::native::listed(
    std::vector<std::optional<Tensor>> tensors,
    std::vector<std::string> names,
    std::vector<std::vector<int64_t>> groups,
    std::vector<std::optional<int64_t>> sizes,
    std::optional<std::vector<std::string>> more) {
  int64_t sum = 0;
  for (const auto& tensor : tensors) {
    sum += tensor.has_value() ? tensor->numel() : 100;
  }
  for (const auto& group : groups) {
    sum += group.size() * 1000;
  }
  for (const auto& size : sizes) {
    sum += size.value_or(10000);
  }
  for (const auto& name : more.value_or(std::vector<std::string>())) {
    names.push_back(name);
  }
  return {sum, names};
}
