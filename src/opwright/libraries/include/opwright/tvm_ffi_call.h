// Calls of kernels over borrowed tensors through TVM FFI, with nothing but its C header.
#pragma once

#include <opwright/view_call.h>

#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace opwright {

// A call failed of which TVM FFI knows the error.
struct RaisedByTvmFfi {};

inline void check_tvm_ffi(int status) {
  if (status != 0) {
    throw RaisedByTvmFfi();
  }
}

// Raises for arguments of other kinds than an operator takes.
[[noreturn]] inline void raise_type_error(std::initializer_list<const char*> texts) {
  auto** const parts = const_cast<const char**>(texts.begin());
  TVMFFIErrorSetRaisedFromCStrParts("TypeError", parts, static_cast<std::int32_t>(texts.size()));
  throw RaisedByTvmFfi();
}

// One call. `returned` are the results in the order of the schema: the number of a new one, or the complement of the
// place of the argument that is one.
class TvmFfiCall {
 public:
  TvmFfiCall(const Operator& op, const TVMFFIAny* arguments, std::int32_t count)
      : op_(op),
        arguments_(arguments),
        count_(count),
        made_(arena_.items<TVMFFIObjectHandle>(static_cast<std::size_t>(op.result_count))) {
    for (std::int32_t place = 0; place < op.result_count; ++place) {
      made_[place] = nullptr;
    }
  }

  TvmFfiCall(const TvmFfiCall&) = delete;
  TvmFfiCall& operator=(const TvmFfiCall&) = delete;

  ~TvmFfiCall() {
    for (std::int32_t place = 0; place < op_.result_count; ++place) {
      if (made_[place] != nullptr) {
        TVMFFIObjectDecRef(made_[place]);
      }
    }
  }

  void run(const std::int32_t* returned, std::int32_t returned_count, TVMFFIAny* result) {
    if (count_ > op_.argument_count) {
      char counts[64];
      std::snprintf(counts, sizeof(counts), " takes %d arguments, and got %d", op_.argument_count, count_);
      raise_type_error({op_.name, counts});
    }
    auto* const values = arena_.items<Value>(static_cast<std::size_t>(op_.argument_count));
    for (std::int32_t place = 0; place < op_.argument_count; ++place) {
      const Argument& argument = op_.arguments[place];
      if (place < count_) {
        values[place] = read(argument, arguments_[place]);
      } else if (argument.has_default) {
        values[place] = argument.default_value;
      } else {
        raise_type_error({op_.name, ": `", argument.name, "` is missing"});
      }
    }
    auto* const results =
        arena_.items<Result>(static_cast<std::size_t>(op_.result_count));
    op_.infer(values, results);
    set_layouts(op_, values, arena_);
    TensorView* const views = arena_.items<TensorView>(static_cast<std::size_t>(op_.result_count));
    for (std::int32_t place = 0; place < op_.result_count; ++place) {
      ForeignTensor tensor = result_tensor(results[place], arena_);
      made_[place] = allocated(tensor);
      tensor.data = TVMFFITensorGetDLTensorPtr(made_[place])->data;
      tensor.byte_offset = TVMFFITensorGetDLTensorPtr(made_[place])->byte_offset;
      views[place] = TensorView(tensor, stream(tensor));
    }
    run_kernel(op_, values, views, is_on_cpu_ ? KernelDevice::cpu : KernelDevice::cuda);
    give(returned, returned_count, result);
  }

 private:
  [[noreturn]] void refuse(const Argument& argument, const char* wanted) const {
    raise_type_error({op_.name, ": `", argument.name, "` has to be ", wanted});
  }

  Value read(const Argument& argument, const TVMFFIAny& any) {
    if (any.type_index == kTVMFFINone && argument.is_optional) {
      return Value();
    }
    switch (argument.kind) {
      case Kind::tensor: {
        TensorView* const view = arena_.items<TensorView>(1);
        *view = tensor(argument, any);
        return value_of(view, 1);
      }
      case Kind::integer:
        return value_of(integer(argument, any, "an integer"));
      case Kind::real:
        return value_of(real(argument, any));
      case Kind::boolean:
        if (any.type_index != kTVMFFIBool) {
          refuse(argument, "True or False");
        }
        return value_of(static_cast<std::int64_t>(any.v_int64 != 0));
      case Kind::text:
        return text(argument, any);
      default:
        return list(argument, any);
    }
  }

  // True is the number 1, as in Python.
  std::int64_t integer(const Argument& argument, const TVMFFIAny& any, const char* wanted) const {
    if (any.type_index != kTVMFFIInt && any.type_index != kTVMFFIBool) {
      refuse(argument, wanted);
    }
    return any.v_int64;
  }

  double real(const Argument& argument, const TVMFFIAny& any) const {
    return any.type_index == kTVMFFIFloat ? any.v_float64 : static_cast<double>(integer(argument, any, "a number"));
  }

  Value text(const Argument& argument, const TVMFFIAny& any) const {
    if (any.type_index == kTVMFFIRawStr) {
      return value_of(any.v_c_str, std::strlen(any.v_c_str));
    }
    if (any.type_index == kTVMFFISmallStr) {
      return value_of(any.v_bytes, any.small_str_len);
    }
    if (any.type_index != kTVMFFIStr) {
      refuse(argument, "a text");
    }
    const TVMFFIByteArray* const bytes = TVMFFIBytesGetByteArrayPtr(any.v_obj);
    return value_of(bytes->data, bytes->size);
  }

  Value list(const Argument& argument, const TVMFFIAny& any) {
    if (any.type_index == kTVMFFIShape && argument.kind == Kind::integers) {
      const TVMFFIShapeCell* const shape = TVMFFIShapeGetCellPtr(any.v_obj);
      return value_of(shape->data, shape->size);
    }
    if (any.type_index != kTVMFFIArray && any.type_index != kTVMFFIList) {
      refuse(argument, argument.kind == Kind::tensors ? "a list of tensors" : "a list");
    }
    const auto* const cell = reinterpret_cast<const TVMFFISeqCell*>(
        reinterpret_cast<const char*>(any.v_obj) + sizeof(TVMFFIObject));
    const auto* const items = static_cast<const TVMFFIAny*>(cell->data);
    const auto count = static_cast<std::size_t>(cell->size);
    if (argument.kind == Kind::tensors) {
      TensorView* const views = arena_.items<TensorView>(count);
      for (std::size_t item = 0; item < count; ++item) {
        views[item] = tensor(argument, items[item]);
      }
      return value_of(views, count);
    }
    void* const numbers = arena_.bytes(count * sizeof(std::int64_t));
    for (std::size_t item = 0; item < count; ++item) {
      if (argument.kind == Kind::reals) {
        static_cast<double*>(numbers)[item] = real(argument, items[item]);
      } else if (argument.kind == Kind::integers) {
        static_cast<std::int64_t*>(numbers)[item] = integer(argument, items[item], "a list of integers");
      } else if (items[item].type_index == kTVMFFIBool) {
        static_cast<bool*>(numbers)[item] = items[item].v_int64 != 0;
      } else {
        refuse(argument, "a list of True and False");
      }
    }
    return value_of(numbers, count);
  }

  TensorView tensor(const Argument& argument, const TVMFFIAny& any) {
    const DLTensor* from = nullptr;
    if (any.type_index == kTVMFFITensor) {
      from = TVMFFITensorGetDLTensorPtr(any.v_obj);
    } else if (any.type_index == kTVMFFIDLTensorPtr) {
      from = static_cast<const DLTensor*>(any.v_ptr);
    } else {
      refuse(argument, argument.kind == Kind::tensors ? "a list of tensors" : "a tensor");
    }
    ForeignTensor tensor;
    static_assert(sizeof(tensor) == sizeof(*from), "dlpack.h has another tensor");
    std::memcpy(static_cast<void*>(&tensor), from, sizeof(tensor));
    // NumPy gives arrays without elements strides that are none.
    if (tensor.strides == nullptr || TensorView(tensor, nullptr).numel() == 0) {
      set_dense_strides(tensor, arena_);
    }
    if (tensor.device_type == 3) {
      tensor.device_type = 1; // Memory of the host that is pinned for CUDA.
    } else if (tensor.device_type != 1 && tensor.device_type != 2 && tensor.device_type != 10) {
      op_.refuse(op_, {" takes tensors on the CPU and on CUDA alone"});
    }
    if (!has_device_) {
      has_device_ = true;
      is_on_cpu_ = tensor.device_type == 1;
    }
    return TensorView(tensor, stream(tensor));
  }

  static void* stream(const ForeignTensor& tensor) {
    return tensor.device_type == 1 ? nullptr : TVMFFIEnvGetStream(tensor.device_type, tensor.device_index);
  }

  // A new tensor: the framework of the caller makes it, if it has said how.
  TVMFFIObjectHandle allocated(const ForeignTensor& like) const {
    TVMFFIObjectHandle made = nullptr;
    if (TVMFFIEnvGetDLPackManagedTensorAllocator() != nullptr) {
      DLTensor prototype;
      std::memcpy(static_cast<void*>(&prototype), &like, sizeof(prototype));
      prototype.data = nullptr;
      prototype.strides = nullptr;
      check_tvm_ffi(TVMFFIEnvTensorAlloc(&prototype, &made));
      return made;
    }
    if (like.device_type != 1) {
      op_.refuse(
          op_, {" needs memory on the device, and no framework has said how to get it: pass tensors of one that does, "
                "such as PyTorch"});
    }
    // An object as TVM FFI's C++ header makes it, with the sizes, the strides and the elements behind it, the elements
    // at a multiple of 64. To ask for memory at such an address, or twice for memory, takes longer. Before the object
    // is the header of c_api.h whose pointer is null: the deleter of the object frees its memory.
    constexpr std::size_t before = 16;
    const TensorView view(like, nullptr);
    const auto rank = static_cast<std::size_t>(like.rank);
    const std::size_t head = before + sizeof(TVMFFIObject) + sizeof(DLTensor) + 2 * rank * sizeof(std::int64_t);
    const std::size_t bytes = static_cast<std::size_t>(view.numel() * view.element_size());
    char* const memory = static_cast<char*>(std::malloc(head + 64 + bytes));
    if (memory == nullptr) {
      op_.refuse(op_, {": there is no memory for a new tensor"});
    }
    std::memset(memory, 0, before);
    auto* const object = new (memory + before) TVMFFIObject();
    object->combined_ref_count = (std::uint64_t{1} << 32) + 1; // A strong and a weak one.
    object->type_index = kTVMFFITensor;
    object->deleter = [](void* self, int flags) {
      if ((flags & kTVMFFIObjectDeleterFlagBitMaskWeak) != 0) {
        std::free(static_cast<char*>(self) - before);
      }
    };
    DLTensor* const tensor = TVMFFITensorGetDLTensorPtr(object);
    auto* const sizes = reinterpret_cast<std::int64_t*>(tensor + 1);
    std::memcpy(static_cast<void*>(tensor), &like, sizeof(like));
    tensor->data = reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(memory) + head + 63) / 64 * 64);
    tensor->shape = sizes;
    tensor->strides = sizes + rank;
    for (std::size_t dim = 0; dim < rank; ++dim) {
      tensor->shape[dim] = like.sizes[dim];
      tensor->strides[dim] = like.strides[dim];
    }
    return object;
  }

  // The function that makes arrays, which lives as long as the process.
  static TVMFFIObjectHandle array_maker() {
    static const TVMFFIObjectHandle make = [] {
      TVMFFIObjectHandle found = nullptr;
      const TVMFFIByteArray name{"ffi.Array", 9};
      check_tvm_ffi(TVMFFIFunctionGetGlobal(&name, &found));
      return found;
    }();
    return make;
  }

  void give(const std::int32_t* returned, std::int32_t count, TVMFFIAny* result) {
    const auto any = [&](std::int32_t place) {
      TVMFFIAny value{};
      if (place < 0) {
        return arguments_[~place];
      }
      value.type_index = kTVMFFITensor;
      value.v_obj = static_cast<TVMFFIObject*>(made_[place]);
      return value;
    };
    TVMFFIAny none{};
    none.type_index = kTVMFFINone;
    *result = none;
    if (count == 1) {
      const TVMFFIAny value = any(*returned);
      if (*returned >= 0) {
        made_[*returned] = nullptr;
      } else if (value.type_index >= kTVMFFIStaticObjectBegin) {
        check_tvm_ffi(TVMFFIObjectIncRef(value.v_obj));
      }
      *result = value;
    } else if (count > 1) {
      TVMFFIAny* const values = arena_.items<TVMFFIAny>(static_cast<std::size_t>(count));
      for (std::int32_t place = 0; place < count; ++place) {
        values[place] = any(returned[place]);
      }
      check_tvm_ffi(TVMFFIFunctionCall(array_maker(), values, count, result));
    }
  }

  const Operator& op_;
  const TVMFFIAny* arguments_;
  std::int32_t count_;
  bool has_device_ = false;
  bool is_on_cpu_ = true;
  Arena arena_;
  TVMFFIObjectHandle* made_;
};

inline int tvm_ffi_call(
    const Operator& op, const std::int32_t* returned, std::int32_t returned_count, const TVMFFIAny* arguments,
    std::int32_t count, TVMFFIAny* result) {
  try {
    TvmFfiCall(op, arguments, count).run(returned, returned_count, result);
    return 0;
  } catch (const RaisedByTvmFfi&) {
    return -1;
  } catch (const std::exception& error) {
    TVMFFIErrorSetRaisedFromCStr("RuntimeError", error.what());
  } catch (...) {
    TVMFFIErrorSetRaisedFromCStr("RuntimeError", "a kernel raised something that is no std::exception");
  }
  return -1;
}

} // namespace opwright

// The function that TVM FFI finds by the name of the operator at a place of the table; what follows are its results.
#define OPWRIGHT_TVM_FFI_FUNCTION(table, name, place, count, ...)                                              \
  extern "C" OPWRIGHT_EXPORT int __tvm_ffi_##name(                                                             \
      void*, const TVMFFIAny* arguments, std::int32_t argument_count, TVMFFIAny* result) {                     \
    static const std::int32_t returned[] = {__VA_ARGS__};                                                      \
    return ::opwright::tvm_ffi_call(table()[place], returned, count, arguments, argument_count, result);       \
  }
