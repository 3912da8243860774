// Borrowed tensors: what kernels of libraries with `abi: dlpack` get, whatever framework calls them. Nothing of any
// framework is included here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <type_traits>

namespace opwright {

// An error with a text that lives as long as the program. `std::runtime_error` takes longer to compile than all of this.
class ViewError : public std::exception {
 public:
  explicit ViewError(const char* text) : text_(text) {}

  const char* what() const noexcept override {
    return text_;
  }

 private:
  const char* text_;
};

// Dtypes, with the numbers that PyTorch gives them.
enum class Dtype : std::int8_t {
  Byte = 0, Char = 1, Short = 2, Int = 3, Long = 4, Half = 5, Float = 6, Double = 7, ComplexHalf = 8, ComplexFloat = 9,
  ComplexDouble = 10, Bool = 11, BFloat16 = 15, Float8_e5m2 = 23, Float8_e4m3fn = 24, Float8_e5m2fnuz = 25,
  Float8_e4m3fnuz = 26, UInt16 = 27, UInt32 = 28, UInt64 = 29, Float8_e8m0fnu = 44, Undefined = -1
};

// Numbers or tensors that somebody else owns.
template <class Item>
class Span {
 public:
  Span() = default;
  Span(const Item* items, std::size_t count) : items_(items), count_(count) {}

  const Item* begin() const {
    return items_;
  }

  const Item* end() const {
    return items_ + count_;
  }

  const Item* data() const {
    return items_;
  }

  std::size_t size() const {
    return count_;
  }

  bool empty() const {
    return count_ == 0;
  }

  const Item& operator[](std::size_t index) const {
    return items_[index];
  }

 private:
  const Item* items_ = nullptr;
  std::size_t count_ = 0;
};

// The layout of `DLTensor` in dlpack.h, which is the same in all of its versions.
struct ForeignTensor {
  void* data = nullptr;
  std::int32_t device_type = 1;
  std::int32_t device_index = 0;
  std::int32_t rank = 0;
  std::uint8_t type_code = 2;
  std::uint8_t type_bits = 32;
  std::uint16_t type_lanes = 1;
  std::int64_t* sizes = nullptr;
  std::int64_t* strides = nullptr;
  std::uint64_t byte_offset = 0;
};

// A device as dlpack.h numbers its types: 1 is the CPU, 2 CUDA, 10 ROCm.
struct ViewDevice {
  std::int32_t type;
  std::int32_t index;

  bool is_cpu() const {
    return type == 1;
  }
};

template <class Item>
constexpr Dtype dtype_of() {
  if constexpr (std::is_same_v<Item, bool>) {
    return Dtype::Bool;
  } else if constexpr (std::is_same_v<Item, float>) {
    return Dtype::Float;
  } else if constexpr (std::is_same_v<Item, double>) {
    return Dtype::Double;
  } else if constexpr (std::is_integral_v<Item> && std::is_signed_v<Item>) {
    return sizeof(Item) == 1 ? Dtype::Char : sizeof(Item) == 2 ? Dtype::Short : sizeof(Item) == 4 ? Dtype::Int : Dtype::Long;
  } else if constexpr (std::is_integral_v<Item>) {
    return sizeof(Item) == 1 ? Dtype::Byte : sizeof(Item) == 2 ? Dtype::UInt16
        : sizeof(Item) == 4                                    ? Dtype::UInt32
                                                               : Dtype::UInt64;
  } else {
    return Dtype::Undefined;
  }
}

// A tensor that a framework owns, for the time of a call. It has strides, counted in elements, whatever its layout.
class TensorView {
 public:
  TensorView() = default;
  TensorView(const ForeignTensor& tensor, void* stream) : tensor_(tensor), stream_(stream) {}

  std::int64_t dim() const {
    return tensor_.rank;
  }

  Span<std::int64_t> sizes() const {
    return {tensor_.sizes, static_cast<std::size_t>(tensor_.rank)};
  }

  Span<std::int64_t> strides() const {
    return {tensor_.strides, static_cast<std::size_t>(tensor_.rank)};
  }

  // Size and stride of a dimension, which may be counted from the end.
  std::int64_t size(std::int64_t dim) const {
    return tensor_.sizes[dim < 0 ? dim + tensor_.rank : dim];
  }

  std::int64_t stride(std::int64_t dim) const {
    return tensor_.strides[dim < 0 ? dim + tensor_.rank : dim];
  }

  std::int64_t numel() const {
    // A tensor without elements may have sizes whose product has more than 64 bits.
    std::uint64_t count = 1;
    for (const std::int64_t size : sizes()) {
      count *= static_cast<std::uint64_t>(size);
    }
    return static_cast<std::int64_t>(count);
  }

  std::int64_t element_size() const {
    return (tensor_.type_bits * tensor_.type_lanes + 7) / 8;
  }

  Dtype dtype() const {
    const int bits = tensor_.type_bits;
    if (tensor_.type_lanes != 1) {
      return Dtype::Undefined;
    }
    switch (tensor_.type_code) {
      case 0: return bits == 8 ? Dtype::Char : bits == 16 ? Dtype::Short : bits == 32 ? Dtype::Int : bits == 64 ? Dtype::Long : Dtype::Undefined;
      case 1: return bits == 8 ? Dtype::Byte : bits == 16 ? Dtype::UInt16 : bits == 32 ? Dtype::UInt32 : bits == 64 ? Dtype::UInt64 : Dtype::Undefined;
      case 2: return bits == 32 ? Dtype::Float : bits == 64 ? Dtype::Double : bits == 16 ? Dtype::Half : Dtype::Undefined;
      case 4: return bits == 16 ? Dtype::BFloat16 : Dtype::Undefined;
      case 5: return bits == 64 ? Dtype::ComplexFloat : bits == 128 ? Dtype::ComplexDouble : bits == 32 ? Dtype::ComplexHalf : Dtype::Undefined;
      case 6: return bits == 8 ? Dtype::Bool : Dtype::Undefined;
      case 10: return Dtype::Float8_e4m3fn;
      case 11: return Dtype::Float8_e4m3fnuz;
      case 12: return Dtype::Float8_e5m2;
      case 13: return Dtype::Float8_e5m2fnuz;
      case 14: return Dtype::Float8_e8m0fnu;
      default: return Dtype::Undefined;
    }
  }

  ViewDevice device() const {
    return {tensor_.device_type, tensor_.device_index};
  }

  // The first element, without a look at the dtype.
  void* address() const {
    return static_cast<char*>(tensor_.data) + tensor_.byte_offset;
  }

  // The first element. `Item` is the C++ type of the dtype, or one of the same size that C++ has no standard type for.
  template <class Item>
  Item* data() const {
    if constexpr (dtype_of<Item>() != Dtype::Undefined) {
      if (dtype() != dtype_of<Item>()) {
        throw ViewError("the data of a tensor are asked for as another dtype");
      }
    } else if (static_cast<std::int64_t>(sizeof(Item)) != element_size()) {
      throw ViewError("the data of a tensor are asked for as items of another size");
    }
    return static_cast<Item*>(address());
  }

  bool is_contiguous() const {
    std::int64_t expected = 1;
    for (std::int64_t dim = tensor_.rank; dim-- > 0;) {
      const std::int64_t size = tensor_.sizes[dim];
      if (size == 0) {
        return true;
      }
      if (size != 1 && tensor_.strides[dim] != expected) {
        return numel() == 0;
      }
      expected *= size;
    }
    return true;
  }

  // The stream of the call on the device, such as a `cudaStream_t`; null on the CPU.
  void* stream() const {
    return stream_;
  }

  // The same tensor for code that includes dlpack.h: `static_cast<const DLTensor*>(view.dltensor())`.
  const void* dltensor() const {
    return &tensor_;
  }

  const ForeignTensor& foreign() const {
    return tensor_;
  }

 private:
  ForeignTensor tensor_;
  void* stream_ = nullptr;
};

// Calls `function(Item())` with the type of the list that is the dtype of the tensor. Raises for other dtypes.
template <class... Items, class Function>
void dispatch(const TensorView& tensor, Function function) {
  const Dtype dtype = tensor.dtype();
  const bool is_called = ((dtype == dtype_of<Items>() && (function(Items()), true)) || ...);
  if (!is_called) {
    throw ViewError("the kernel is not written for this dtype");
  }
}

} // namespace opwright
