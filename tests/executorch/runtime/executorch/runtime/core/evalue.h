// A small stand-in for ExecuTorch's runtime: what generated registrations use, with values that tests can look at.
#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#define ET_RUNTIME_NAMESPACE runtime
#define ET_PRIsize_t "zu"
#define ET_LOG(level, ...) ((void)0)
#define EXECUTORCH_SCOPE_PROF(name) ((void)0)
#define ET_KERNEL_CHECK_MSG(context, condition, error, result, ...) \
  do {                                                              \
    if (!(condition)) {                                             \
      (context).fail(torch::executor::Error::error);                \
      return;                                                       \
    }                                                               \
  } while (false)

namespace torch {
namespace executor {

enum class Error { Ok, Internal, InvalidProgram };
enum class ScalarType : int8_t { Float = 6 };
enum class MemoryFormat : int8_t { Contiguous };

template <typename T>
class ArrayRef {
 public:
  ArrayRef() = default;
  ArrayRef(const std::vector<T>& items) : items_(items) {}
  size_t size() const { return items_.size(); }
  T operator[](size_t index) const { return items_[index]; }

 private:
  std::vector<T> items_;
};

template <typename T>
class Span {
 public:
  Span(T* first, size_t count) : first_(first), count_(count) {}
  size_t size() const { return count_; }
  T& operator[](size_t index) const { return first_[index]; }

 private:
  T* first_;
  size_t count_;
};

struct Tensor {
  double value = 0;
};
struct Scalar {
  double value = 0;
};
using TensorList = ArrayRef<Tensor>;

struct EValue {
  std::variant<std::monostate, Tensor, Scalar, int64_t, double, bool, std::string, ScalarType, std::vector<Tensor>,
               std::vector<int64_t>, std::vector<double>, std::vector<bool>, std::vector<std::optional<Tensor>>>
      held;

  EValue() = default;
  template <typename T>
  explicit EValue(T value) : held(std::move(value)) {}

  template <typename T>
  std::conditional_t<std::is_same_v<T, Tensor>, Tensor&, T> to() {
    if constexpr (std::is_same_v<T, std::string_view>) {
      return std::get<std::string>(held);
    } else {
      return std::get<T>(held);
    }
  }
  template <typename T>
  std::optional<T> toOptional() {
    if (std::holds_alternative<std::monostate>(held)) {
      return std::nullopt;
    }
    if constexpr (std::is_same_v<T, ArrayRef<int64_t>>) {
      return toIntList();
    } else {
      return to<T>();
    }
  }
  TensorList toTensorList() { return std::get<std::vector<Tensor>>(held); }
  ArrayRef<int64_t> toIntList() { return std::get<std::vector<int64_t>>(held); }
  ArrayRef<double> toDoubleList() { return std::get<std::vector<double>>(held); }
  ArrayRef<bool> toBoolList() { return std::get<std::vector<bool>>(held); }
  ArrayRef<std::optional<Tensor>> toListOptionalTensor() {
    return std::get<std::vector<std::optional<Tensor>>>(held);
  }
};

struct EventTracer {};

struct KernelRuntimeContext {
  Error error = Error::Ok;
  void fail(Error reason) { error = reason; }
  EventTracer* internal_event_tracer() { return nullptr; }
};

using OpFunction = void (*)(KernelRuntimeContext&, Span<EValue*>);

struct Kernel {
  const char* name;
  const char* key;
  OpFunction op;
  Kernel(const char* name, OpFunction op) : name(name), key(""), op(op) {}
  Kernel(const char* name, const char* key, OpFunction op) : name(name), key(key), op(op) {}
};

} // namespace executor
} // namespace torch

namespace executorch {
namespace runtime {
using torch::executor::Error;
using torch::executor::Kernel;

inline std::map<std::string, torch::executor::OpFunction>& registry() {
  static std::map<std::string, torch::executor::OpFunction> kernels;
  return kernels;
}

struct KernelSpan {
  const Kernel* first;
  size_t count;
};

inline Error register_kernels(KernelSpan kernels) {
  for (size_t index = 0; index < kernels.count; ++index) {
    const Kernel& kernel = kernels.first[index];
    registry()[std::string(kernel.name) + " " + kernel.key] = kernel.op;
  }
  return Error::Ok;
}

namespace internal {
struct EventTracerProfileOpScope {
  EventTracerProfileOpScope(torch::executor::EventTracer*, const char*) {}
};
inline void event_tracer_log_evalue(torch::executor::EventTracer*, torch::executor::EValue&) {}
} // namespace internal
} // namespace runtime
} // namespace executorch
