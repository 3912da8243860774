// Calls of kernels over borrowed tensors from JAX, with nothing but the C header of XLA's foreign function interface.
#pragma once

#include <opwright/view_call.h>

#include <xla/ffi/api/c_api.h>

#include <cstdint>
#include <cstring>

namespace opwright {

inline XLA_FFI_Error* jax_error(const XLA_FFI_Api* api, const char* message) {
  XLA_FFI_Error_Create_Args arguments{};
  arguments.struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE;
  arguments.message = message;
  arguments.errc = XLA_FFI_Error_Code_INVALID_ARGUMENT;
  return api->XLA_FFI_Error_Create(&arguments);
}

inline std::int32_t torch_dtype(XLA_FFI_DataType dtype) {
  switch (dtype) {
    case XLA_FFI_DataType_PRED: return 11;
    case XLA_FFI_DataType_S8: return 1;
    case XLA_FFI_DataType_S16: return 2;
    case XLA_FFI_DataType_S32: return 3;
    case XLA_FFI_DataType_S64: return 4;
    case XLA_FFI_DataType_U8: return 0;
    case XLA_FFI_DataType_U16: return 27;
    case XLA_FFI_DataType_U32: return 28;
    case XLA_FFI_DataType_U64: return 29;
    case XLA_FFI_DataType_F16: return 5;
    case XLA_FFI_DataType_F32: return 6;
    case XLA_FFI_DataType_F64: return 7;
    case XLA_FFI_DataType_BF16: return 15;
    case XLA_FFI_DataType_C64: return 9;
    case XLA_FFI_DataType_C128: return 10;
    case XLA_FFI_DataType_F8E5M2: return 23;
    case XLA_FFI_DataType_F8E4M3FN: return 24;
    case XLA_FFI_DataType_F8E5M2FNUZ: return 25;
    case XLA_FFI_DataType_F8E4M3FNUZ: return 26;
    case XLA_FFI_DataType_F8E8M0FNU: return 44;
    default: return -1;
  }
}

// Runs the kernel of an operator in a call of XLA. The attribute `opwright_counts` has the number of tensors of each
// argument that holds tensors, -1 for None, if an operator has optional tensors or lists; others are by their names.
class JaxCall {
 public:
  JaxCall(const Operator& op, KernelDevice device, XLA_FFI_CallFrame* frame) : op_(op), device_(device), frame_(frame) {}

  void run() {
    Value* const values = arena_.items<Value>(static_cast<std::size_t>(op_.argument_count));
    const std::int64_t* counts = nullptr;
    const std::int32_t at = attribute("opwright_counts", 15);
    if (at >= 0) {
      counts = static_cast<const std::int64_t*>(static_cast<const XLA_FFI_Array*>(frame_->attrs.attrs[at])->data);
    }
    if (device_ == KernelDevice::cuda) {
      XLA_FFI_Stream_Get_Args arguments{};
      arguments.struct_size = XLA_FFI_Stream_Get_Args_STRUCT_SIZE;
      arguments.ctx = frame_->ctx;
      if (XLA_FFI_Error* error = frame_->api->XLA_FFI_Stream_Get(&arguments)) {
        destroy(error);
        throw ViewError("XLA has no stream for this call");
      }
      stream_ = arguments.stream;
    }
    std::int64_t operand = 0, written = 0;
    for (std::int32_t place = 0; place < op_.argument_count; ++place) {
      const Argument& argument = op_.arguments[place];
      values[place] = Value();
      if (!argument.holds_tensors()) {
        set_attribute(values[place], argument);
        continue;
      }
      const std::int64_t count = counts == nullptr ? 1 : *counts++;
      if (count < 0) {
        continue;
      }
      if (operand + count > frame_->args.size) {
        throw ViewError("XLA passes fewer arrays than the operator takes");
      }
      TensorView* const views = arena_.items<TensorView>(static_cast<std::size_t>(count));
      for (std::int64_t item = 0; item < count; ++item) {
        const auto* buffer = static_cast<const XLA_FFI_Buffer*>(frame_->args.args[operand++]);
        if (argument.is_written) {
          // XLA puts the result where the argument is; elsewhere the kernel would change a value that it only reads.
          const auto* result = static_cast<const XLA_FFI_Buffer*>(frame_->rets.rets[op_.result_count + written++]);
          if (result->data != buffer->data) {
            op_.refuse(op_, {": XLA did not alias `", argument.name, "` and its result"});
          }
          buffer = result;
        }
        views[item] = view(*buffer);
      }
      values[place] = value_of(views, static_cast<std::size_t>(count));
    }
    set_layouts(op_, values, arena_);
    TensorView* const results = arena_.items<TensorView>(static_cast<std::size_t>(op_.result_count));
    for (std::int32_t place = 0; place < op_.result_count; ++place) {
      results[place] = view(*static_cast<const XLA_FFI_Buffer*>(frame_->rets.rets[place]));
    }
    run_kernel(op_, values, results, device_);
  }

 private:
  std::int32_t attribute(const char* name, std::size_t length) const {
    for (std::int64_t place = 0; place < frame_->attrs.size; ++place) {
      const XLA_FFI_ByteSpan& other = *frame_->attrs.names[place];
      if (other.len == length && std::memcmp(other.ptr, name, length) == 0) {
        return static_cast<std::int32_t>(place);
      }
    }
    return -1;
  }

  void set_attribute(Value& value, const Argument& argument) {
    const std::int32_t place = attribute(argument.name, std::strlen(argument.name));
    if (place < 0) {
      return;
    }
    const void* const given = frame_->attrs.attrs[place];
    switch (frame_->attrs.types[place]) {
      case XLA_FFI_AttrType_SCALAR: {
        const void* const number = static_cast<const XLA_FFI_Scalar*>(given)->value;
        if (argument.kind == Kind::real) {
          value = value_of(*static_cast<const double*>(number));
        } else if (argument.kind == Kind::boolean) {
          value = value_of(static_cast<std::int64_t>(*static_cast<const bool*>(number)));
        } else {
          value = value_of(*static_cast<const std::int64_t*>(number));
        }
        break;
      }
      case XLA_FFI_AttrType_STRING: {
        const auto& text = *static_cast<const XLA_FFI_ByteSpan*>(given);
        // A list without items, and one of booleans, is a text: XLA has no attributes of them.
        value = value_of(text.ptr, text.len);
        break;
      }
      case XLA_FFI_AttrType_ARRAY: {
        const auto& list = *static_cast<const XLA_FFI_Array*>(given);
        value = value_of(list.data, list.size);
        break;
      }
      default:
        op_.refuse(op_, {": the attribute `", argument.name, "` has a form that the operator does not take"});
    }
  }

  TensorView view(const XLA_FFI_Buffer& buffer) {
    ForeignTensor tensor;
    tensor.data = buffer.data;
    tensor.device_type = device_ == KernelDevice::cpu ? 1 : 2;
    tensor.rank = static_cast<std::int32_t>(buffer.rank);
    tensor.sizes = buffer.dims;
    set_dtype(tensor, torch_dtype(buffer.dtype));
    set_dense_strides(tensor, arena_);
    return TensorView(tensor, stream_);
  }

  void destroy(XLA_FFI_Error* error) const {
    XLA_FFI_Error_Destroy_Args arguments{};
    arguments.struct_size = XLA_FFI_Error_Destroy_Args_STRUCT_SIZE;
    arguments.error = error;
    frame_->api->XLA_FFI_Error_Destroy(&arguments);
  }

  const Operator& op_;
  KernelDevice device_;
  XLA_FFI_CallFrame* frame_;
  void* stream_ = nullptr;
  Arena arena_;
};

inline XLA_FFI_Error* jax_call(const Operator& op, KernelDevice device, XLA_FFI_CallFrame* frame) {
  // XLA asks once for the version of the interface, before any call.
  for (XLA_FFI_Extension_Base* extension = frame->extension_start; extension != nullptr; extension = extension->next) {
    if (extension->type == XLA_FFI_Extension_Metadata) {
      XLA_FFI_Metadata& metadata = *reinterpret_cast<XLA_FFI_Metadata_Extension*>(extension)->metadata;
      metadata.api_version.major_version = XLA_FFI_API_MAJOR;
      metadata.api_version.minor_version = XLA_FFI_API_MINOR;
      metadata.traits = 0;
      return nullptr;
    }
  }
  if (frame->stage != XLA_FFI_ExecutionStage_EXECUTE) {
    return jax_error(frame->api, "the operator has no code for this stage of a program");
  }
  try {
    JaxCall(op, device, frame).run();
    return nullptr;
  } catch (const std::exception& error) {
    return jax_error(frame->api, error.what());
  } catch (...) {
    return jax_error(frame->api, "a kernel raised something that is no std::exception");
  }
}

// Checks the arguments of a call, whose tensors have no memory, and says what its results are. Gives whether they may
// be, else the message is what refuses them.
inline bool jax_infer(const Operator& op, const Value* values, Result* results, char* message, std::size_t size) {
  try {
    op.infer(values, results);
    return true;
  } catch (const std::exception& error) {
    std::strncpy(message, error.what(), size - 1);
    message[size - 1] = 0;
    return false;
  }
}

} // namespace opwright

// The functions that JAX calls for the operator at a place of the table: one for each device.
#define OPWRIGHT_JAX_HANDLER(table, handler, place, device)                                  \
  extern "C" OPWRIGHT_EXPORT XLA_FFI_Error* handler(XLA_FFI_CallFrame* frame) {              \
    return ::opwright::jax_call(table()[place], ::opwright::KernelDevice::device, frame); \
  }
