// What generated code calls, and PyTorch has, but does not export: whoever builds outside PyTorch has to bring it.
#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/generated/VariableType.h>

namespace at::functionalization::impl {

Tensor create_functional_tensor_with_view_meta(
    const Tensor& view_to_wrap, const Tensor& base, const std::shared_ptr<ViewMeta>& meta, int64_t out_idx) {
  TORCH_CHECK(out_idx == 0, "the library has no views with several results");
  return at::detail::make_tensor<FunctionalTensorWrapper>(view_to_wrap, unsafeGetFunctionalWrapper(base), meta);
}

void set_sizes_strides_offset(const Tensor& out, const Tensor& meta_out) {
  out.unsafeGetTensorImpl()->set_sizes_and_strides(
      meta_out.sym_sizes(), meta_out.sym_strides(), meta_out.sym_storage_offset());
}

}  // namespace at::functionalization::impl

namespace torch::autograd::VariableType {

at::Tensor& unpack(at::Tensor& tensor, const char* name, int position) {
  TORCH_CHECK(tensor.defined(), "argument ", name, " at position ", position, " has no tensor");
  return tensor;
}

const at::Tensor& unpack(const at::Tensor& tensor, const char* name, int position) {
  TORCH_CHECK(tensor.defined(), "argument ", name, " at position ", position, " has no tensor");
  return tensor;
}

}  // namespace torch::autograd::VariableType
