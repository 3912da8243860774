// Calls of kernels over borrowed tensors from PyTorch, with nothing but its stable C++ API.
#pragma once

#include <opwright/view_call.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/tensor.h>

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace opwright {

// A call of an operator: its arguments in their order, then the kernel, then its results. `Arguments` and `Results` are
// their numbers.
template <std::size_t Arguments, std::size_t Results>
class OPWRIGHT_HIDDEN TorchCall {
 public:
  explicit TorchCall(const Operator& op) : op_(op) {}

  void add(const torch::stable::Tensor& tensor) {
    add_tensors(&tensor, 1, [](const torch::stable::Tensor& item) { return item.get(); });
  }

  void add(const std::optional<torch::stable::Tensor>& tensor) {
    if (tensor.has_value() && tensor->defined()) {
      add(*tensor);
    } else {
      ++count_;
    }
  }

  void add(torch::headeronly::HeaderOnlyArrayRef<torch::stable::Tensor> tensors) {
    add_tensors(tensors.data(), tensors.size(), [](const torch::stable::Tensor& item) { return item.get(); });
  }

  void add(const std::vector<torch::stable::Tensor>& tensors) {
    add_tensors(tensors.data(), tensors.size(), [](const torch::stable::Tensor& item) { return item.get(); });
  }

  void add(std::int64_t number) {
    values_[count_++] = value_of(number);
  }

  void add(bool number) {
    values_[count_++] = value_of(static_cast<std::int64_t>(number));
  }

  void add(double number) {
    values_[count_++] = value_of(number);
  }

  void add(std::string_view text) {
    values_[count_++] = value_of(text.data(), text.size());
  }

  template <class Item>
  void add(torch::headeronly::HeaderOnlyArrayRef<Item> list) {
    values_[count_++] = value_of(list.data(), list.size());
  }

  // A list of booleans has no array of its own.
  void add(const std::vector<bool>& list) {
    auto* items = static_cast<bool*>(arena_.bytes(list.size()));
    std::copy(list.begin(), list.end(), items);
    values_[count_++] = value_of(items, list.size());
  }

  template <class Item>
  void add(const std::optional<Item>& value) {
    if (value.has_value()) {
      add(*value);
    } else {
      ++count_;
    }
  }

  // Checks the arguments, makes the results and runs the kernel.
  void run(KernelDevice device) {
    op_.infer(values_.data(), results_.data());
    for (const Copied& wanted : copied_) {
      TensorView& view = *wanted.view;
      if (!has_layout(view, wanted.layout)) {
        copies_.push_back(in_layout(wanted.tensor, wanted.layout, view.dim()));
        view = view_of(copies_.back().get());
      }
    }
    std::array<TensorView, Results == 0 ? 1 : Results> views;
    for (std::size_t place = 0; place < Results; ++place) {
      Result& result = results_[place];
      ForeignTensor tensor = result_tensor(result, arena_);
      AtenTensorHandle handle = nullptr;
      const bool is_on_cpu = result.device_type == 1;
      const std::int32_t type = is_on_cpu ? aoti_torch_device_type_cpu() : aoti_torch_device_type_cuda();
      TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(
          tensor.rank, tensor.sizes, tensor.strides, result.dtype, type, result.device_index, &handle));
      made_[place] = torch::stable::Tensor(handle);
      TORCH_ERROR_CODE_CHECK(aoti_torch_get_data_ptr(handle, &tensor.data));
      views[place] = TensorView(tensor, stream(tensor.device_type, tensor.device_index));
    }
    run_kernel(op_, values_.data(), views.data(), device);
  }

  torch::stable::Tensor result(std::size_t place) const {
    return *made_[place];
  }

 private:
  // A tensor that the kernel gets in a layout.
  struct Copied {
    TensorView* view;
    AtenTensorHandle tensor;
    Layout layout;
  };

  // PyTorch passes None where the schema has a tensor.
  void check_given(AtenTensorHandle handle) const {
    bool is_defined = false;
    TORCH_ERROR_CODE_CHECK(aoti_torch_is_defined(handle, &is_defined));
    if (!is_defined) {
      const Argument& argument = op_.arguments[count_];
      const char* const wanted = argument.kind == Kind::tensors ? "a list of tensors" : "a tensor";
      throw std::runtime_error(std::string(op_.name) + ": `" + argument.name + "` has to be " + wanted);
    }
  }

  template <class Item, class Handle>
  void add_tensors(const Item* tensors, std::size_t count, Handle handle) {
    TensorView* const views = count == 1 && count_ < first_.size() ? &first_[count_] : arena_.views(count);
    const Layout layout = op_.arguments[count_].layout;
    for (std::size_t item = 0; item < count; ++item) {
      check_given(handle(tensors[item]));
      views[item] = view_of(handle(tensors[item]));
      if (layout != Layout::any) {
        copied_.push_back({views + item, handle(tensors[item]), layout});
      }
    }
    values_[count_++] = value_of(views, count);
  }

  TensorView view_of(AtenTensorHandle handle) {
    ForeignTensor tensor;
    std::int64_t dims = 0;
    std::int32_t dtype = 0, type = 0;
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_data_ptr(handle, &tensor.data));
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_dim(handle, &dims));
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_sizes(handle, &tensor.sizes));
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_strides(handle, &tensor.strides));
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(handle, &dtype));
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(handle, &type));
    tensor.rank = static_cast<std::int32_t>(dims);
    set_dtype(tensor, dtype);
    if (type == aoti_torch_device_type_cuda()) {
      tensor.device_type = 2;
      TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_index(handle, &tensor.device_index));
    } else if (type != aoti_torch_device_type_cpu()) {
      throw std::runtime_error(std::string(op_.name) + " takes tensors on the CPU and on CUDA alone");
    }
    return TensorView(tensor, stream(tensor.device_type, tensor.device_index));
  }

  static void* stream([[maybe_unused]] std::int32_t type, [[maybe_unused]] std::int32_t index) {
    void* stream = nullptr;
#ifdef USE_CUDA
    if (type == 2) {
      TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_cuda_stream(index, &stream));
    }
#endif
    return stream;
  }

  static torch::stable::Tensor in_layout(AtenTensorHandle tensor, Layout layout, std::int64_t dims) {
    AtenTensorHandle copy = nullptr;
    if (layout == Layout::channels_last && (dims == 4 || dims == 5)) {
      const std::int32_t format =
          dims == 4 ? aoti_torch_memory_format_channels_last() : aoti_torch_memory_format_channels_last_3d();
      TORCH_ERROR_CODE_CHECK(aoti_torch_clone_preserve_strides(tensor, &copy));
      torch::stable::Tensor same(copy);
      std::array<StableIValue, 2> stack{
          torch::stable::detail::from(same),
          torch::stable::detail::from(static_cast<torch::headeronly::MemoryFormat>(format))};
      TORCH_ERROR_CODE_CHECK(torch_call_dispatcher("aten::contiguous", "", stack.data(), TORCH_ABI_VERSION));
      return torch::stable::detail::to<torch::stable::Tensor>(stack[0]);
    }
    std::int64_t *sizes = nullptr, *own = nullptr;
    std::int32_t dtype = 0, type = 0, index = 0;
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_sizes(tensor, &sizes));
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_strides(tensor, &own));
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(tensor, &dtype));
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(tensor, &type));
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_index(tensor, &index));
    std::array<std::int64_t, 64> strides;
    std::int64_t stride = 1;
    for (std::int64_t dim = dims; dim-- > 0;) {
      strides[static_cast<std::size_t>(dim)] = stride;
      stride *= sizes[dim] > 1 ? sizes[dim] : 1;
    }
    TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(dims, sizes, strides.data(), dtype, type, index, &copy));
    torch::stable::Tensor made(copy);
    TORCH_ERROR_CODE_CHECK(aoti_torch_copy_(copy, tensor, 0));
    return made;
  }

  const Operator& op_;
  std::array<Value, Arguments == 0 ? 1 : Arguments> values_;
  std::array<TensorView, Arguments == 0 ? 1 : Arguments> first_;
  std::array<Result, Results == 0 ? 1 : Results> results_;
  std::array<std::optional<torch::stable::Tensor>, Results == 0 ? 1 : Results> made_;
  std::size_t count_ = 0;
  std::vector<Copied> copied_;
  std::vector<torch::stable::Tensor> copies_;
  Arena arena_;
};

} // namespace opwright
