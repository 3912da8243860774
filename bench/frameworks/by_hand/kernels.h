// The kernels of tests/frameworks/project over pointers and sizes, as an author who writes all glue by hand shares them.
#pragma once

#include <acme_views/kernels.h>

namespace by_hand {

// A dense tensor on the CPU, whatever framework owns it.
template <class Item>
class Dense {
 public:
  Dense(const Item* data, const int64_t* sizes, int64_t rank) {
    tensor_.data = const_cast<Item*>(data);
    tensor_.rank = static_cast<int32_t>(rank);
    tensor_.type_code = std::is_floating_point_v<Item> ? 2 : 0;
    tensor_.type_bits = 8 * sizeof(Item);
    std::copy(sizes, sizes + rank, sizes_);
    for (int64_t dim = rank, stride = 1; dim-- > 0; stride *= sizes[dim]) {
      strides_[dim] = stride;
    }
  }

  opwright::TensorView view() {
    tensor_.sizes = sizes_;
    tensor_.strides = strides_;
    return {tensor_, nullptr};
  }

 private:
  opwright::ForeignTensor tensor_;
  int64_t sizes_[8], strides_[8];
};

} // namespace by_hand
