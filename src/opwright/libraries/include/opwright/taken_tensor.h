#pragma once
// A tensor among the arguments of a call that another call takes over, with nothing but PyTorch's stable C++ API.

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <utility>

namespace opwright {

// A `torch::stable::Tensor` cannot be given away: each call that gets one makes a reference of its own, which takes as
// long as the checks of a call.
class TakenTensor {
 public:
  explicit TakenTensor(AtenTensorHandle handle) : handle_(handle) {}
  TakenTensor(TakenTensor&& other) noexcept : handle_(other.release()) {}
  TakenTensor& operator=(TakenTensor&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~TakenTensor() {
    if (handle_ != nullptr) {
      aoti_torch_delete_tensor_object(handle_);
    }
  }

  AtenTensorHandle get() const {
    return handle_;
  }

  bool defined() const {
    bool defined = false;
    TORCH_ERROR_CODE_CHECK(aoti_torch_is_defined(handle_, &defined));
    return defined;
  }

  // Gives the tensor away.
  AtenTensorHandle release() {
    return std::exchange(handle_, nullptr);
  }

 private:
  AtenTensorHandle handle_;
};

} // namespace opwright
