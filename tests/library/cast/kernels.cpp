#include <cast/kernels.h>

#include <ATen/ops/empty.h>

namespace cast::native {
namespace {

at::Tensor dtypes(std::initializer_list<at::ScalarType> values) {
  auto result = at::empty({static_cast<int64_t>(values.size())}, at::TensorOptions(at::kLong));
  std::transform(values.begin(), values.end(), result.mutable_data_ptr<int64_t>(), [](at::ScalarType value) {
    return static_cast<int64_t>(value);
  });
  return result;
}

} // namespace

at::Tensor lower(const at::Tensor& self, const std::optional<at::Tensor>& other, at::TensorList list) {
  return dtypes({self.scalar_type(), other.has_value() ? other->scalar_type() : at::kBool, list[0].scalar_type()});
}

at::Tensor full(const at::Tensor& self, const std::optional<at::Tensor>& other, at::TensorList list) {
  return lower(self, other, list);
}

at::Tensor widest(const at::Tensor& self, const std::optional<at::Tensor>& other, at::TensorList list) {
  return lower(self, other, list);
}

at::Tensor chosen(const at::Tensor& self, std::optional<at::ScalarType> dtype) {
  return dtypes({dtype.value_or(at::kBool)});
}

at::Tensor appended(const at::Tensor& self, int64_t n) {
  return dtypes({at::kBool});
}

at::Tensor appended_dtype(const at::Tensor& self, int64_t n, at::ScalarType dtype) {
  return dtypes({dtype});
}

at::Tensor composite(const at::Tensor& self) {
  return dtypes({self.scalar_type()});
}

std::tuple<at::Tensor, at::Tensor> mixed(
    const at::Tensor& self, const std::optional<at::Tensor>& other, at::TensorList list, const at::Tensor& boxes) {
  const at::ScalarType optional = other.has_value() ? other->scalar_type() : at::kBool;
  return {boxes.add(1), dtypes({self.scalar_type(), optional, list[0].scalar_type(), boxes.scalar_type()})};
}

std::tuple<at::Tensor, at::Tensor, std::vector<at::Tensor>> aligned(const at::Tensor& self, const at::Tensor& boxes) {
  return {self.add(boxes), dtypes({self.scalar_type(), boxes.scalar_type()}), {self, boxes}};
}

} // namespace cast::native
