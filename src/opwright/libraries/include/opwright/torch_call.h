// Calls of kernels over borrowed tensors from PyTorch, with nothing but the C functions of its stable interface.
#pragma once

#include <opwright/view_call.h>

#include <torch/csrc/stable/c/shim.h>

#include <cstdint>
#include <cstring>

namespace opwright {

inline void check_torch(AOTITorchError status) {
  if (status != 0) {
    throw ViewError("a function of PyTorch failed, and has printed why");
  }
}

// One call. What the values on the stack own belongs to the call, also if it is refused. `returned` are the results in the
// order of the schema: the number of a new one, or the complement of the place of the argument that is one.
class TorchCall {
 public:
  TorchCall(const Operator& op, StableIValue* stack)
      : op_(op),
        values_(arena_.items<Value>(op.argument_count)),
        owned_(arena_.items<void**>(op.argument_count)),
        made_(arena_.items<AtenTensorHandle>(op.result_count)) {
    for (std::int32_t place = 0; place < op.argument_count; ++place) {
      values_[place] = taken(op.arguments[place], stack[place], owned_[place]);
    }
    for (std::int32_t place = 0; place < op.result_count; ++place) {
      made_[place] = nullptr;
    }
  }

  TorchCall(const TorchCall&) = delete;
  TorchCall& operator=(const TorchCall&) = delete;

  ~TorchCall() {
    for (std::int32_t place = 0; place < op_.argument_count; ++place) {
      if (op_.arguments[place].kind == Kind::text) {
        if (owned_[place] != nullptr) {
          torch_delete_string(reinterpret_cast<StringHandle>(owned_[place]));
        }
      } else if (op_.arguments[place].holds_tensors()) {
        for (std::int64_t item = 0; item < values_[place].count; ++item) {
          aoti_torch_delete_tensor_object(tensor_at(place, item));
        }
      }
    }
    for (std::int32_t place = 0; place < op_.result_count; ++place) {
      if (made_[place] != nullptr) {
        aoti_torch_delete_tensor_object(made_[place]);
      }
    }
  }

  // Checks the arguments, makes the results, runs the kernel, and puts the results on the stack.
  void run(KernelDevice device, bool sets_device, const std::int32_t* returned, std::int32_t count, StableIValue* stack) {
    for (std::int32_t place = 0; place < op_.argument_count; ++place) {
      if (op_.arguments[place].holds_tensors() && values_[place].count >= 0) {
        set_views(place);
      }
    }
    const DeviceGuard guard(device, sets_device ? first_ : nullptr);
    auto* const results = arena_.items<Result>(op_.result_count);
    op_.infer(values_, results);
    for (std::int32_t place = 0; place < op_.argument_count; ++place) {
      set_layouts(place);
    }
    TensorView* const views = arena_.items<TensorView>(op_.result_count);
    for (std::int32_t place = 0; place < op_.result_count; ++place) {
      views[place] = new_tensor(result_tensor(results[place], arena_), results[place].dtype, made_[place]);
    }
    run_kernel(op_, values_, views, device);
    for (std::int32_t place = 0; place < count; ++place) {
      stack[place] = returned[place] < 0 ? again(~returned[place]) : of_handle(made_[returned[place]]);
    }
    for (std::int32_t place = 0; place < op_.result_count; ++place) {
      made_[place] = nullptr;
    }
  }

 private:
  // Makes the device of a tensor the current one.
  class DeviceGuard {
   public:
    DeviceGuard(KernelDevice device, const TensorView* tensor) {
      if (device != KernelDevice::cpu && tensor != nullptr) {
        check_torch(aoti_torch_create_device_guard(tensor->device().index, &guard_));
      }
    }

    DeviceGuard(const DeviceGuard&) = delete;
    DeviceGuard& operator=(const DeviceGuard&) = delete;

    ~DeviceGuard() {
      if (guard_ != nullptr) {
        aoti_torch_delete_device_guard(guard_);
      }
    }

   private:
    DeviceGuardHandle guard_ = nullptr;
  };

  static StableIValue of_handle(void* handle) {
    return reinterpret_cast<StableIValue>(handle);
  }

  // An optional value is a pointer to it.
  static void delete_value(StableIValue* value) {
#if TORCH_FEATURE_VERSION >= TORCH_VERSION_2_13_0
    torch_delete_stable_ivalue(value);
#else
    delete value;
#endif
  }

  static StableIValue* new_value() {
#if TORCH_FEATURE_VERSION >= TORCH_VERSION_2_13_0
    StableIValue* value = nullptr;
    check_torch(torch_new_stable_ivalue(&value));
    return value;
#else
    return new StableIValue();
#endif
  }

  static double real(StableIValue given) {
    double number = 0;
    std::memcpy(&number, &given, sizeof(number));
    return number;
  }

  // An argument, of which a tensor is a handle yet. What it owns is at `owned`: the handles of tensors, or that of a text.
  Value taken(const Argument& argument, StableIValue given, void**& owned) {
    owned = nullptr;
    if (argument.is_optional) {
      auto* const boxed = reinterpret_cast<StableIValue*>(given);
      if (boxed == nullptr) {
        return Value();
      }
      given = *boxed;
      delete_value(boxed);
    }
    switch (argument.kind) {
      case Kind::tensor:
        owned = arena_.items<void*>(1);
        *owned = reinterpret_cast<void*>(given);
        return value_of(owned, 1);
      case Kind::integer:
        return value_of(static_cast<std::int64_t>(given));
      case Kind::boolean:
        return value_of(static_cast<std::int64_t>((given & 0xff) != 0));
      case Kind::real:
        return value_of(real(given));
      case Kind::text: {
        const auto text = reinterpret_cast<StringHandle>(given);
        const char* data = nullptr;
        std::size_t length = 0;
        owned = reinterpret_cast<void**>(text);
        check_torch(torch_string_length(text, &length));
        check_torch(torch_string_c_str(text, &data));
        return value_of(data, length);
      }
      default:
        return list(argument.kind, reinterpret_cast<StableListHandle>(given), owned);
    }
  }

  Value list(Kind kind, StableListHandle list, void**& owned) {
    std::size_t count = 0;
    check_torch(torch_list_size(list, &count));
    void* const items = kind == Kind::tensors ? static_cast<void*>(arena_.items<void*>(count)) : arena_.bytes(count * sizeof(std::int64_t));
    for (std::size_t item = 0; item < count; ++item) {
      StableIValue given = 0;
      check_torch(torch_list_get_item(list, item, &given));
      if (kind == Kind::tensors) {
        static_cast<void**>(items)[item] = reinterpret_cast<void*>(given);
      } else if (kind == Kind::reals) {
        static_cast<double*>(items)[item] = real(given);
      } else if (kind == Kind::integers) {
        static_cast<std::int64_t*>(items)[item] = static_cast<std::int64_t>(given);
      } else {
        static_cast<bool*>(items)[item] = (given & 0xff) != 0;
      }
    }
    owned = kind == Kind::tensors ? static_cast<void**>(items) : nullptr;
    torch_delete_list(list);
    return value_of(items, count);
  }

  AtenTensorHandle tensor_at(std::int32_t place, std::int64_t item) const {
    return static_cast<AtenTensorHandle>(owned_[place][item]);
  }

  void set_views(std::int32_t place) {
    auto* const views = arena_.items<TensorView>(values_[place].count);
    for (std::int64_t item = 0; item < values_[place].count; ++item) {
      views[item] = view_of(op_.arguments[place], tensor_at(place, item));
    }
    values_[place].items = views;
    if (first_ == nullptr && values_[place].count > 0) {
      first_ = views;
    }
  }

  TensorView view_of(const Argument& argument, AtenTensorHandle handle) const {
    static const std::int32_t cpu = aoti_torch_device_type_cpu(), cuda = aoti_torch_device_type_cuda();
    ForeignTensor tensor;
    std::int64_t dims = 0;
    std::int32_t dtype = 0, type = 0;
    check_torch(aoti_torch_get_dtype(handle, &dtype));
    if (!set_known_dtype(tensor, dtype)) {
      bool is_defined = false;
      check_torch(aoti_torch_is_defined(handle, &is_defined));
      if (!is_defined) {
        // PyTorch passes None where the schema has a tensor.
        const char* const wanted = argument.kind == Kind::tensors ? "a list of tensors" : "a tensor";
        op_.refuse(op_, {": `", argument.name, "` has to be ", wanted});
      }
      set_dtype(tensor, dtype);
    }
    check_torch(aoti_torch_get_data_ptr(handle, &tensor.data));
    check_torch(aoti_torch_get_dim(handle, &dims));
    check_torch(aoti_torch_get_sizes(handle, &tensor.sizes));
    check_torch(aoti_torch_get_strides(handle, &tensor.strides));
    check_torch(aoti_torch_get_device_type(handle, &type));
    tensor.rank = static_cast<std::int32_t>(dims);
    if (type == cuda) {
      tensor.device_type = 2;
      check_torch(aoti_torch_get_device_index(handle, &tensor.device_index));
    } else if (type != cpu) {
      op_.refuse(op_, {" takes tensors on the CPU and on CUDA alone"});
    }
    return TensorView(tensor, stream(tensor));
  }

  static void* stream([[maybe_unused]] const ForeignTensor& tensor) {
    void* stream = nullptr;
#ifdef USE_CUDA
    if (tensor.device_type == 2) {
      check_torch(aoti_torch_get_current_cuda_stream(tensor.device_index, &stream));
    }
#endif
    return stream;
  }

  // Puts dense copies in the place of tensors that are not in the layout of their argument.
  void set_layouts(std::int32_t place) {
    const Layout layout = op_.arguments[place].layout;
    if (layout == Layout::any || !op_.arguments[place].holds_tensors()) {
      return;
    }
    auto* const views = static_cast<TensorView*>(const_cast<void*>(values_[place].items));
    for (std::int64_t item = 0; item < values_[place].count; ++item) {
      if (!has_layout(views[item], layout)) {
        ForeignTensor copy = views[item].foreign();
        set_dense_strides(copy, arena_, layout);
        AtenTensorHandle handle = nullptr;
        std::int32_t dtype = 0;
        check_torch(aoti_torch_get_dtype(tensor_at(place, item), &dtype));
        new_tensor(copy, dtype, handle);
        const AOTITorchError status = aoti_torch_copy_(handle, tensor_at(place, item), 0);
        // Sizes and strides are those of the tensor that owns them.
        views[item] = view_of(op_.arguments[place], handle);
        aoti_torch_delete_tensor_object(tensor_at(place, item));
        owned_[place][item] = handle;
        check_torch(status);
      }
    }
  }

  TensorView new_tensor(ForeignTensor tensor, std::int32_t dtype, AtenTensorHandle& handle) const {
    const bool is_on_cpu = tensor.device_type == 1;
    const std::int32_t type = is_on_cpu ? aoti_torch_device_type_cpu() : aoti_torch_device_type_cuda();
    const AOTITorchError status = aoti_torch_empty_strided(
        tensor.rank, tensor.sizes, tensor.strides, dtype, type, tensor.device_index, &handle);
    if (status != 0) {
      op_.refuse(op_, {": there is no memory for a new tensor"});
    }
    check_torch(aoti_torch_get_data_ptr(handle, &tensor.data));
    tensor.byte_offset = 0;
    return TensorView(tensor, stream(tensor));
  }

  // An argument as a result: the same tensor, or the same ones.
  StableIValue again(std::int32_t place) const {
    const auto same = [&](std::int64_t item) {
      AtenTensorHandle handle = nullptr;
      check_torch(aoti_torch_new_tensor_handle(tensor_at(place, item), &handle));
      return of_handle(handle);
    };
    const std::int64_t count = values_[place].count;
    if (count < 0) {
      return 0;
    }
    StableIValue value = 0;
    if (op_.arguments[place].kind == Kind::tensors) {
      StableListHandle list = nullptr;
      check_torch(torch_new_list_reserve_size(static_cast<std::size_t>(count), &list));
      for (std::int64_t item = 0; item < count; ++item) {
        check_torch(torch_list_push_back(list, same(item)));
      }
      value = of_handle(list);
    } else {
      value = same(0);
    }
    if (op_.arguments[place].is_optional) {
      StableIValue* const boxed = new_value();
      *boxed = value;
      return of_handle(boxed);
    }
    return value;
  }

  const Operator& op_;
  Arena arena_;
  Value* values_;
  void*** owned_;
  AtenTensorHandle* made_;
  const TensorView* first_ = nullptr;
};

// Registers schemas, or the kernels of a key, when the shared object is loaded.
class TorchLibrary {
 public:
  TorchLibrary(const char* name, const char* key, void (*fill)(const TorchLibrary& library)) {
    check_torch(
        key == nullptr ? aoti_torch_library_init_fragment(name, __FILE__, __LINE__, &library_)
                       : aoti_torch_library_init_impl(name, key, __FILE__, __LINE__, &library_));
    fill(*this);
  }

  TorchLibrary(const TorchLibrary&) = delete;
  TorchLibrary& operator=(const TorchLibrary&) = delete;

  ~TorchLibrary() {
    aoti_torch_delete_library_object(library_);
  }

  void def(const char* schema) const {
    check_torch(aoti_torch_library_def(library_, schema));
  }

#if TORCH_FEATURE_VERSION >= TORCH_VERSION_2_12_0
  void def(const char* schema, std::initializer_list<std::int32_t> tags) const {
    check_torch(torch_library_def_with_tags(library_, schema, tags.begin(), static_cast<std::int32_t>(tags.size())));
  }
#endif

  void impl(const char* name, void (*function)(StableIValue*, std::uint64_t, std::uint64_t)) const {
    check_torch(torch_library_impl(library_, name, function, TORCH_ABI_VERSION));
  }

 private:
  TorchLibraryHandle library_ = nullptr;
};

} // namespace opwright

// The function that PyTorch calls for the operator at a place of the table; what follows are its results.
#define OPWRIGHT_TORCH_FUNCTION(table, function, place, device, sets_device, count, ...)                            \
  static void function(StableIValue* stack, std::uint64_t, std::uint64_t) {                                         \
    static const std::int32_t returned[] = {__VA_ARGS__};                                                           \
    ::opwright::TorchCall(table()[place], stack)                                                                    \
        .run(::opwright::KernelDevice::device, sets_device, returned, count, stack);                                \
  }
