// Calls of operators whose kernels get borrowed tensors (`abi: dlpack`): the values of a call, and the table of operators
// through which each framework reaches the same checks and kernels. Nothing of any framework is included here.
#pragma once

#include <opwright/tensor_view.h>

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <new>

#if defined(_WIN32)
#define OPWRIGHT_EXPORT __declspec(dllexport)
#define OPWRIGHT_HIDDEN
#else
#define OPWRIGHT_EXPORT __attribute__((visibility("default")))
#define OPWRIGHT_HIDDEN __attribute__((visibility("hidden")))
#endif

namespace opwright {

// What an argument is, and in which layout the kernel gets a tensor.
enum class Kind : std::int32_t { tensor, tensors, integer, real, boolean, text, integers, reals, booleans };
enum class Layout : std::int32_t { any, contiguous, aligned, channels_last, last_contiguous };

// An argument of a call. A list has `count` items; None has -1. Numbers of lists are `int64_t`, `double` and `bool`.
struct Value {
  std::int64_t count = -1;
  union {
    const void* items = nullptr;
    std::int64_t integer;
    double real;
  };
};

inline Value value_of(std::int64_t number) {
  Value value;
  value.count = 1;
  value.integer = number;
  return value;
}

inline Value value_of(double number) {
  Value value;
  value.count = 1;
  value.real = number;
  return value;
}

inline Value value_of(const void* items, std::size_t count) {
  Value value;
  value.count = static_cast<std::int64_t>(count);
  value.items = items;
  return value;
}

// An argument of an operator. `default_value` is that of calls that leave it out, if it `has_default`.
struct Argument {
  const char* name;
  Kind kind;
  bool is_optional;
  bool is_written;
  Layout layout;
  bool has_default;
  Value default_value;

  bool holds_tensors() const {
    return kind == Kind::tensor || kind == Kind::tensors;
  }
};

// PyTorch, which has no tensors with more dimensions, and JAX agree on this limit.
constexpr std::int32_t kMostDimensions = 64;

// A result that the framework makes before the kernel runs.
struct Result {
  std::int32_t dtype;
  std::int32_t device_type;
  std::int32_t device_index;
  std::int32_t rank;
  std::int64_t sizes[kMostDimensions];
};

// The devices of kernels, and the place of each in `Operator::kernels`.
enum class KernelDevice : std::int32_t { cpu, cuda };

class Arena;

// An operator. `infer` checks the arguments of a call and says what its results are, `copied` gives a tensor in the
// layout of an argument, `check_values` looks at elements of tensors if a program asks for it, and is null for operators
// that take all values, and `kernels` are null for devices without one. All raise `std::exception`, and `refuse` does
// nothing else: it makes the message of the name of the operator and some texts.
struct Operator {
  const char* name;
  const Argument* arguments;
  std::int32_t argument_count;
  std::int32_t result_count;
  void (*infer)(const Value* arguments, Result* results);
  TensorView (*copied)(const Operator& op, const Argument& argument, const TensorView& tensor, Arena& arena);
  void (*refuse)(const Operator& op, std::initializer_list<const char*> texts);
  void (*check_values)(const Value* arguments);
  void (*kernels[2])(const Value* arguments, const TensorView* results);
};

// Sets code, bits and lanes of a dtype as dlpack.h numbers them. Gives false for dtypes that kernels do not take.
inline bool set_known_dtype(ForeignTensor& tensor, std::int32_t dtype) {
  struct Row {
    std::uint8_t code;
    std::uint8_t bits;
  };
  static constexpr Row rows[] = {{1, 8}, {0, 8}, {0, 16}, {0, 32}, {0, 64}, {2, 16}, {2, 32}, {2, 64}, {5, 32},
                                 {5, 64}, {5, 128}, {6, 8}, {0, 0}, {0, 0}, {0, 0}, {4, 16}};
  Row row{0, 0};
  if (dtype >= 0 && dtype < 16) {
    row = rows[dtype];
  } else if (dtype >= 23 && dtype <= 26) {
    row = {static_cast<std::uint8_t>(dtype == 23 ? 12 : dtype == 24 ? 10 : dtype == 25 ? 13 : 11), 8};
  } else if (dtype >= 27 && dtype <= 29) {
    row = {1, static_cast<std::uint8_t>(16 << (dtype - 27))};
  } else if (dtype == 44) {
    row = {14, 8};
  }
  tensor.type_code = row.code;
  tensor.type_bits = row.bits;
  tensor.type_lanes = 1;
  return row.bits != 0;
}

inline void set_dtype(ForeignTensor& tensor, std::int32_t dtype) {
  if (!set_known_dtype(tensor, dtype)) {
    throw ViewError("kernels of libraries with `abi: dlpack` take no tensors of this dtype");
  }
}

// Memory for the time of a call: numbers and views that stay where they are, and bytes that are freed.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  ~Arena() {
    while (blocks_ != nullptr) {
      Block* const block = blocks_;
      blocks_ = block->next;
      std::free(block);
    }
  }

  // Items that have no values yet.
  template <class Item>
  Item* items(std::size_t count) {
    static_assert(std::is_trivially_copyable_v<Item> && alignof(Item) <= 8);
    return static_cast<Item*>(taken(count * sizeof(Item)));
  }

  // Aligned for every dtype and for vector instructions.
  void* bytes(std::size_t count) {
    used_ = (used_ + 63) / 64 * 64;
    return taken(count);
  }

 private:
  struct Block {
    Block* next;
  };

  // What most calls need is in the arena itself: to ask for memory takes as long as the checks of a call.
  void* taken(std::size_t count) {
    const std::size_t start = used_;
    if (count > sizeof(first_) - start) {
      return block(count);
    }
    used_ += (count + 7) / 8 * 8;
    return first_ + start;
  }

  void* block(std::size_t count) {
    auto* const block = static_cast<Block*>(std::malloc(count + sizeof(Block) + 64));
    if (block == nullptr) {
      throw ViewError("there is no memory for a call");
    }
    block->next = blocks_;
    blocks_ = block;
    return reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(block + 1) + 63) / 64 * 64);
  }

  alignas(64) unsigned char first_[4096];
  std::size_t used_ = 0;
  Block* blocks_ = nullptr;
};

// The strides of a dense tensor in a layout.
inline void set_dense_strides(ForeignTensor& tensor, Arena& arena, Layout layout = Layout::contiguous) {
  const std::int32_t dims = tensor.rank;
  const bool is_last = layout == Layout::channels_last && (dims == 4 || dims == 5);
  tensor.strides = arena.items<std::int64_t>(static_cast<std::size_t>(dims));
  std::int64_t stride = 1;
  for (std::int32_t step = 0; step < dims; ++step) {
    const std::int32_t dim = !is_last ? dims - 1 - step : step == 0 ? 1 : step == dims - 1 ? 0 : dims - step;
    tensor.strides[dim] = stride;
    stride *= tensor.sizes[dim] > 1 ? tensor.sizes[dim] : 1;
  }
}

inline bool has_layout(const TensorView& tensor, Layout layout) {
  const std::int64_t dims = tensor.dim();
  switch (layout) {
    case Layout::contiguous:
      return tensor.is_contiguous();
    case Layout::aligned:
      return tensor.is_contiguous() && reinterpret_cast<std::uintptr_t>(tensor.address()) % 16 == 0;
    case Layout::last_contiguous:
      return dims == 0 || tensor.size(-1) == 1 || tensor.stride(-1) == 1 || tensor.numel() == 0;
    case Layout::channels_last: {
      if (dims != 4 && dims != 5) {
        return false;
      }
      std::int64_t expected = 1;
      for (std::int64_t step = 0; step < dims; ++step) {
        const std::int64_t dim = step == 0 ? 1 : step == dims - 1 ? 0 : dims - step;
        if (tensor.size(dim) != 1 && tensor.stride(dim) != expected) {
          return tensor.numel() == 0;
        }
        expected *= tensor.size(dim);
      }
      return true;
    }
    default:
      return true;
  }
}

// Brings the tensors of a call, which are copies of the caller's views, into their layouts.
inline void set_layouts(const Operator& op, Value* values, Arena& arena) {
  for (std::int32_t place = 0; place < op.argument_count; ++place) {
    const Argument& argument = op.arguments[place];
    if (argument.layout != Layout::any && argument.holds_tensors() && values[place].count > 0) {
      auto* views = static_cast<TensorView*>(const_cast<void*>(values[place].items));
      for (std::int64_t item = 0; item < values[place].count; ++item) {
        if (!has_layout(views[item], argument.layout)) {
          views[item] = op.copied(op, argument, views[item], arena);
        }
      }
    }
  }
}

// A tensor of the sizes and dtype of a result.
inline ForeignTensor result_tensor(Result& result, Arena& arena) {
  ForeignTensor tensor;
  tensor.device_type = result.device_type;
  tensor.device_index = result.device_index;
  tensor.rank = result.rank;
  tensor.sizes = result.sizes;
  set_dtype(tensor, result.dtype);
  set_dense_strides(tensor, arena);
  return tensor;
}

inline void run_kernel(const Operator& op, const Value* values, const TensorView* results, KernelDevice device) {
  const auto kernel = op.kernels[static_cast<int>(device)];
  if (kernel == nullptr) {
    op.refuse(op, {" has no kernel for ", device == KernelDevice::cpu ? "the CPU" : "CUDA"});
  }
  if (op.check_values != nullptr) {
    op.check_values(values);
  }
  kernel(values, results);
}

} // namespace opwright
