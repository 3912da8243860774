//! call
// Calls an operator through the dispatcher, with all its arguments. The results begin at the first item of the stack.
template <typename... Arguments>
std::array<StableIValue, (sizeof...(Arguments) < 8 ? 8 : sizeof...(Arguments))> call(
    const char* name, const char* overload, const Arguments&... arguments) {
  std::array<StableIValue, (sizeof...(Arguments) < 8 ? 8 : sizeof...(Arguments))> stack{
      torch::stable::detail::from(arguments)...};
  STABLE_TORCH_ERROR_CODE_CHECK(torch_call_dispatcher(name, overload, stack.data(), TORCH_ABI_VERSION));
  return stack;
}

//! filled
// A tensor without dimensions that holds a value of one of the C++ types of tensors.
template <typename Value>
Tensor filled(Value value) {
  const ScalarType dtype = torch::headeronly::CppTypeToScalarType<Value>::value;
  const Tensor result = torch::stable::empty({}, dtype);
  *static_cast<Value*>(result.mutable_data_ptr()) = value;
  return result;
}

//! promoted
inline int number_category(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Bool:
      return 0;
    case ScalarType::Byte:
    case ScalarType::Char:
    case ScalarType::Short:
    case ScalarType::Int:
    case ScalarType::Long:
    case ScalarType::UInt16:
    case ScalarType::UInt32:
    case ScalarType::UInt64:
      return 1;
    case ScalarType::ComplexHalf:
    case ScalarType::ComplexFloat:
    case ScalarType::ComplexDouble:
      return 3;
    default:
      return 2;
  }
}

// The dtype of an operator with a tensor and numbers: that of the tensor, unless the kind of a number (boolean, integer,
// real, complex) is above it.
template <typename... Values>
ScalarType promoted(const Tensor& self, const Values&...) {
  constexpr int category = std::max(
      {0, (std::is_floating_point_v<Values> ? 2 : std::is_integral_v<Values> && !std::is_same_v<Values, bool>)...});
  return category <= number_category(self.scalar_type()) ? self.scalar_type()
      : category == 1                                    ? ScalarType::Long
                                                         : torch::stable::empty({}).scalar_type();
}

//! number filled promoted
// A number as an operand beside a tensor, as with `at::Scalar`, which the dispatcher does not take from stable code. It
// is exact beside a tensor with dimensions, which a tensor without dimensions does not promote.
template <typename Value>
auto number(const Tensor& other, const Value& value) {
  if constexpr (std::is_same_v<Value, Tensor> || std::is_same_v<Value, std::nullopt_t>) {
    return value;
  } else {
    const Tensor exact = [&] {
      if constexpr (std::is_same_v<Value, bool>) {
        return filled<bool>(value);
      } else if constexpr (std::is_integral_v<Value>) {
        return filled<int64_t>(static_cast<int64_t>(value));
      } else {
        return filled<double>(static_cast<double>(value));
      }
    }();
    const ScalarType dtype = promoted(other, value);
    return other.dim() > 0 && dtype == other.scalar_type() ? exact : torch::stable::to(exact, dtype);
  }
}

//! fill_ filled promoted
// Refuses a number that the dtype cannot hold, as `at::Scalar` does: a negative integer wraps around without signs.
template <typename Value>
Tensor fill_(const Tensor& self, const Value& value) {
  const auto shown = static_cast<double>(value);
  if constexpr (std::is_integral_v<Value> && !std::is_same_v<Value, bool>) {
    const ScalarType dtype = self.scalar_type();
    if (number_category(dtype) == 1) {
      // The number is checked as a double, which does not hold all integers.
      const bool wraps = value < 0 &&
          (dtype == ScalarType::Byte || dtype == ScalarType::UInt16 || dtype == ScalarType::UInt32 ||
           dtype == ScalarType::UInt64);
      torch::stable::fill_(torch::stable::empty({0}, dtype), wraps ? -shown : shown);
      call("aten::fill_", "Tensor", self, filled<int64_t>(static_cast<int64_t>(value)));
      return self;
    }
  }
  return torch::stable::fill_(self, shown);
}

//! checked fill_
// Refuses numbers that a dtype cannot hold, also those that a fill of one element takes for a small real dtype.
template <typename... Values>
ScalarType checked(ScalarType dtype, const Values&... values) {
  const auto check = [dtype](const auto& value) {
    if constexpr (!std::is_same_v<decltype(value), const std::nullopt_t&>) {
      fill_(torch::stable::empty({0}, dtype), value);
    }
  };
  (check(values), ...);
  return dtype;
}

//! bounds promoted checked
// The dtype of bounds. PyTorch does not clamp booleans to booleans, and looks at no other bound if one is no number.
template <typename... Values>
ScalarType bounds(const Tensor& self, const Values&... values) {
  const ScalarType dtype = promoted(self, values...);
  STD_TORCH_CHECK(dtype != ScalarType::Bool, "\"clamp_scalar_cpu\" not implemented for 'Bool'");
  const auto is_nan = [](const auto& value) {
    if constexpr (std::is_floating_point_v<std::decay_t<decltype(value)>>) {
      return value != value;
    }
    return false;
  };
  return (is_nan(values) || ...) ? dtype : checked(dtype, values...);
}

//! converted fill_
// A number as a tensor of a dtype.
template <typename Value>
auto converted(ScalarType dtype, const Value& value) {
  if constexpr (std::is_same_v<Value, std::nullopt_t>) {
    return value;
  } else {
    return fill_(torch::stable::empty({}, dtype), value);
  }
}

//! full fill_
template <typename Value>
Tensor full(
    Numbers size,
    const Value& value,
    std::optional<ScalarType> dtype = std::nullopt,
    std::optional<torch::headeronly::Layout> layout = std::nullopt,
    std::optional<Device> device = std::nullopt,
    std::optional<bool> pin_memory = std::nullopt) {
  if (!dtype && std::is_integral_v<Value>) {
    dtype = std::is_same_v<Value, bool> ? ScalarType::Bool : ScalarType::Long;
  }
  return fill_(torch::stable::empty(size, dtype, layout, device, pin_memory), value);
}

//! full_like fill_
template <typename Value>
Tensor full_like(
    const Tensor& self,
    const Value& value,
    std::optional<ScalarType> dtype = std::nullopt,
    std::optional<torch::headeronly::Layout> layout = std::nullopt,
    std::optional<Device> device = std::nullopt,
    std::optional<bool> pin_memory = std::nullopt,
    std::optional<torch::headeronly::MemoryFormat> memory_format = std::nullopt) {
  const auto stack = call("aten::empty_like", "", self, dtype, layout, device, pin_memory, memory_format);
  return fill_(to<Tensor>(stack[0]), value);
}

//! assigned number
// Writes the result of an operator that changes its tensor, which has to be able to hold numbers of that kind.
inline Tensor assigned(Tensor self, const Tensor& result) {
  STD_TORCH_CHECK(
      number_category(result.scalar_type()) <= number_category(self.scalar_type()),
      "result type ",
      torch::headeronly::toString(result.scalar_type()),
      " can't be cast to the desired output type ",
      torch::headeronly::toString(self.scalar_type()));
  return torch::stable::copy_(self, result);
}

//! add number
// The sum of tensors. `aten::add` takes a number, so the dispatcher does not call it for stable code: `subtract` serves
// real and complex tensors, and integers are added by the sum over a new dimension.
inline Tensor add_tensors(const Tensor& self, const Tensor& other, bool is_difference) {
  const ScalarType dtype =
      to<ScalarType>(call("aten::result_type", "Tensor", self, other)[0]);
  if (number_category(dtype) > 1) {
    // PyTorch subtracts no booleans.
    const auto real = [&](const Tensor& tensor) {
      return tensor.scalar_type() == ScalarType::Bool ? torch::stable::to(tensor, dtype) : tensor;
    };
    return torch::stable::subtract(real(self), real(other), is_difference ? 1 : -1);
  }
  Tensor second = torch::stable::to(other, dtype, std::nullopt, self.device());
  if (is_difference) {
    second = to<Tensor>(call("aten::neg", "", second)[0]);
  }
  const std::array<Tensor, 2> both{torch::stable::to(self, dtype), second};
  const auto equal = to<std::vector<Tensor>>(
      call("aten::broadcast_tensors", "", torch::headeronly::HeaderOnlyArrayRef<Tensor>(both))[0]);
  const auto stacked = to<Tensor>(
      call("aten::stack", "", torch::headeronly::HeaderOnlyArrayRef<Tensor>(equal), int64_t(0))[0]);
  const std::array<int64_t, 1> first{0};
  return torch::stable::sum(stacked, Numbers(first), false, dtype);
}

template <typename Other>
Tensor add(const Tensor& self, const Other& other) {
  if (!std::is_same_v<Other, Tensor> && self.dim() == 0) {
    return torch::stable::squeeze(add(torch::stable::unsqueeze(self, 0), other), 0);
  }
  return add_tensors(self, number(self, other), false);
}

//! sub add
template <typename Other>
Tensor sub(const Tensor& self, const Other& other) {
  bool is_boolean = self.scalar_type() == ScalarType::Bool || std::is_same_v<Other, bool>;
  if constexpr (std::is_same_v<Other, Tensor>) {
    is_boolean |= other.scalar_type() == ScalarType::Bool;
  }
  STD_TORCH_CHECK(!is_boolean, "Subtraction, the `-` operator, with a bool tensor is not supported");
  if (!std::is_same_v<Other, Tensor> && self.dim() == 0) {
    return torch::stable::squeeze(sub(torch::stable::unsqueeze(self, 0), other), 0);
  }
  return add_tensors(self, number(self, other), true);
}

//! add_ add assigned
template <typename Other>
Tensor add_(const Tensor& self, const Other& other) {
  return assigned(self, add(self, other));
}

//! sub_ sub assigned
template <typename Other>
Tensor sub_(const Tensor& self, const Other& other) {
  return assigned(self, sub(self, other));
}

//! arange
// The integers from one number to before another one.
inline Tensor arange(
    int64_t start,
    int64_t end,
    int64_t step,
    std::optional<ScalarType> dtype = std::nullopt,
    std::optional<torch::headeronly::Layout> = std::nullopt,
    std::optional<Device> device = std::nullopt,
    std::optional<bool> = std::nullopt) {
  STD_TORCH_CHECK(step != 0 && (step > 0 ? end >= start : end <= start), "bounds and step of arange are inconsistent");
  STD_TORCH_CHECK(dtype != ScalarType::Bool, "\"arange\" not implemented for 'Bool'");
  const std::array<int64_t, 1> size{(end - start + step - (step > 0 ? 1 : -1)) / step};
  const Tensor result = torch::stable::empty(size, ScalarType::Long);
  for (int64_t index = 0; index < size[0]; ++index) {
    static_cast<int64_t*>(result.mutable_data_ptr())[index] = start + index * step;
  }
  return torch::stable::to(result, dtype.value_or(ScalarType::Long), std::nullopt, device);
}

template <typename... Options, std::enable_if_t<(!std::is_integral_v<Options> && ...), int> = 0>
Tensor arange(int64_t start, int64_t end, const Options&... options) {
  return arange(start, end, int64_t(1), options...);
}

template <typename... Options, std::enable_if_t<(!std::is_integral_v<Options> && ...), int> = 0>
Tensor arange(int64_t end, const Options&... options) {
  return arange(int64_t(0), end, int64_t(1), options...);
}

//! from_blob
// A tensor over memory of the caller, contiguous.
inline Tensor from_blob(
    void* data,
    Numbers sizes,
    std::optional<ScalarType> dtype = std::nullopt,
    std::optional<Device> device = std::nullopt) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t dim = sizes.size(); dim > 1; --dim) {
    strides[dim - 2] = strides[dim - 1] * std::max<int64_t>(sizes[dim - 1], 1);
  }
  return torch::stable::from_blob(
      data,
      sizes,
      strides,
      device.value_or(Device(torch::headeronly::DeviceType::CPU)),
      dtype.value_or(ScalarType::Float));
}

//! tensor_of
// A tensor with one dimension that holds these values.
template <typename Value>
Tensor tensor_of(std::initializer_list<Value> values) {
  const std::array<int64_t, 1> size{static_cast<int64_t>(values.size())};
  const Tensor result = torch::stable::empty(size, torch::headeronly::CppTypeToScalarType<Value>::value);
  std::copy(values.begin(), values.end(), static_cast<Value*>(result.mutable_data_ptr()));
  return result;
}

//! item checked
// The value of a tensor with one element, which the type of the value has to be able to hold.
template <typename Value>
Value item(const Tensor& self) {
  STD_TORCH_CHECK(self.numel() == 1, "a Tensor with ", self.numel(), " elements cannot be converted to Scalar");
  const auto read = [&self](auto value) {
    const Tensor host = torch::stable::to(
        self,
        torch::headeronly::CppTypeToScalarType<decltype(value)>::value,
        std::nullopt,
        Device(torch::headeronly::DeviceType::CPU));
    return *static_cast<const decltype(value)*>(host.const_data_ptr());
  };
  constexpr ScalarType dtype = torch::headeronly::CppTypeToScalarType<Value>::value;
  if (number_category(self.scalar_type()) == 1) {
    checked(dtype, read(int64_t()));
  } else if (number_category(self.scalar_type()) == 2) {
    checked(dtype, read(double()));
  }
  return read(Value());
}

//! indexed item promoted
// What indices in braces do before `aten::index`: a tensor without dimensions selects or, if it is a boolean, takes
// all or nothing along a new dimension.
inline std::vector<std::optional<Tensor>> remaining(Tensor& self, const std::vector<Tensor>& indices) {
  std::vector<std::optional<Tensor>> places;
  for (const Tensor& index : indices) {
    const auto dim = static_cast<int64_t>(places.size());
    const ScalarType dtype = index.scalar_type();
    if (index.dim() > 0 || number_category(dtype) > 1) {
      places.emplace_back(index);
    } else if (dtype == ScalarType::Bool || dtype == ScalarType::Byte) {
      self = torch::stable::unsqueeze(self, dim);
      const std::array<int64_t, 1> size{item<bool>(index)};
      Tensor place = torch::stable::empty(size, ScalarType::Long, std::nullopt, self.device());
      places.emplace_back(torch::stable::zero_(place));
    } else {
      self = torch::stable::select(self, dim, item<int64_t>(index));
    }
  }
  return places;
}

inline Tensor indexed(Tensor self, const std::vector<Tensor>& indices) {
  const auto places = remaining(self, indices);
  return places.empty() ? self
                        : to<Tensor>(call(
                              "aten::index",
                              "Tensor",
                              self,
                              torch::headeronly::HeaderOnlyArrayRef<std::optional<Tensor>>(places))[0]);
}

//! index_put indexed full
// Writes a value through indices in braces.
template <typename Value>
Tensor index_put(const Tensor& whole, const std::vector<Tensor>& indices, const Value& value) {
  Tensor self = whole;
  const auto places = remaining(self, indices);
  Tensor source;
  if constexpr (std::is_same_v<Value, Tensor>) {
    source = value;
  } else {
    source = full({}, value, self.scalar_type());
  }
  while (source.dim() > 0 && source.size(0) == 1) {
    source = torch::stable::select(source, 0, 0);
  }
  if (places.empty()) {
    torch::stable::copy_(self, source);
  } else {
    const torch::headeronly::HeaderOnlyArrayRef<std::optional<Tensor>> given(places);
    call("aten::index_put_", "", self, given, source, false);
  }
  return whole;
}

//! opmath_type
// The type in which values of a type are computed: float for the small ones.
template <typename Value>
struct OpMathType {
  using type = Value;
};
template <>
struct OpMathType<torch::headeronly::Half> {
  using type = float;
};
template <>
struct OpMathType<torch::headeronly::BFloat16> {
  using type = float;
};
template <>
struct OpMathType<torch::headeronly::Float8_e5m2> {
  using type = float;
};
template <>
struct OpMathType<torch::headeronly::Float8_e4m3fn> {
  using type = float;
};
template <typename Value>
using opmath_type = typename OpMathType<Value>::type;

//! GRAIN_SIZE
// The number of elements for which PyTorch starts another thread.
constexpr int64_t GRAIN_SIZE = 32768;

//! get_thread_num
// The number of the thread in a parallel region.
inline int64_t get_thread_num() {
  uint32_t number = 0;
  STABLE_TORCH_ERROR_CODE_CHECK(torch_get_thread_idx(&number));
  return number;
}

//! accessor
template <typename Value, size_t dims>
auto accessor(const Tensor& self) {
  STD_TORCH_CHECK(self.dim() == dims, "TensorAccessor expected ", dims, " dims but tensor has ", self.dim());
  return torch::headeronly::HeaderOnlyTensorAccessor<Value, dims>(
      self.mutable_data_ptr<Value>(), self.sizes().data(), self.strides().data());
}

//! text
// A list of numbers, or a device, in a message.
inline std::string text(const Device& device) {
  static constexpr const char* names[] = {"cpu", "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip",
                                          "fpga", "maia", "xla", "vulkan", "metal", "xpu", "mps",
                                          "meta", "hpu", "ve", "lazy", "ipu", "mtia", "privateuseone"};
  const auto type = static_cast<size_t>(device.type());
  const std::string name = type < std::size(names) ? names[type] : "device";
  return device.has_index() ? name + ":" + std::to_string(device.index()) : name;
}

inline std::string text(Numbers numbers) {
  std::string result = "[";
  for (const int64_t number : numbers) {
    result += (result.size() > 1 ? ", " : "") + std::to_string(number);
  }
  return result + "]";
}

//! current_cuda_stream
#if __has_include(<cuda_runtime_api.h>)
extern "C" AOTI_TORCH_EXPORT AOTITorchError aoti_torch_get_current_cuda_stream(int32_t device_index, void** ret_stream);

// The stream of CUDA in which work for a device is queued now.
inline cudaStream_t current_cuda_stream(int32_t device = -1) {
  void* stream = nullptr;
  STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_cuda_stream(
      device < 0 ? torch::stable::accelerator::getCurrentDeviceIndex() : device, &stream));
  return static_cast<cudaStream_t>(stream);
}
#endif

//! addmm
// The sum of a tensor and a product of matrices. `aten::addmm` takes numbers, so the dispatcher does not call it for
// stable code: `linear` of matrices is the same call.
inline Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2) {
  return to<Tensor>(call("aten::linear", "", mat1, torch::stable::transpose(mat2, 0, 1), std::optional<Tensor>(self))[0]);
}

//! addmm_ addmm
inline Tensor addmm_(const Tensor& self, const Tensor& mat1, const Tensor& mat2) {
  Tensor target = self;
  return torch::stable::copy_(target, addmm(self, mat1, mat2));
}

//! CheckedFrom
using CheckedFrom = const char*;

//! TensorArg
// A tensor with its name and position among the arguments, for messages; position 0 has a name only.
struct TensorArg {
  Tensor tensor;
  const char* name;
  int pos;
  const Tensor* operator->() const { return &tensor; }
  const Tensor& operator*() const { return tensor; }
  std::string text() const {
    const std::string quoted = std::string("'") + name + "'";
    return pos == 0 ? quoted : "argument #" + std::to_string(pos) + " " + quoted;
  }
};

// Compares each defined tensor with the first one.
template <typename Check>
void check_all_same(CheckedFrom from, const std::vector<TensorArg>& tensors, Check check) {
  const TensorArg* first = nullptr;
  for (const TensorArg& other : tensors) {
    if (!other->defined()) {
      continue;
    }
    if (first != nullptr) {
      check(from, *first, other);
    } else {
      first = &other;
    }
  }
}

//! checkSameType CheckedFrom TensorArg text
inline void checkSameType(CheckedFrom from, const TensorArg& first, const TensorArg& second) {
  const auto type = [](const Tensor& tensor) {
    const std::string module = tensor.is_cpu() ? "torch." : "torch." + text(Device(tensor.device().type())) + ".";
    return module + torch::headeronly::toString(tensor.scalar_type()) + "Tensor";
  };
  STD_TORCH_CHECK(
      first->device().type() == second->device().type() && first->scalar_type() == second->scalar_type(),
      "Expected tensor for ", first.text(), " to have the same type as tensor for ", second.text(), "; but type ",
      type(*first), " does not equal ", type(*second), " (while checking arguments for ", from, ")");
}

//! checkAllSameType checkSameType
inline void checkAllSameType(CheckedFrom from, const std::vector<TensorArg>& tensors) {
  check_all_same(from, tensors, checkSameType);
}

//! checkSameGPU CheckedFrom TensorArg
inline void checkSameGPU(CheckedFrom from, const TensorArg& first, const TensorArg& second) {
  std::string on_cpu;
  for (const TensorArg* argument : {&first, &second}) {
    on_cpu += (*argument)->is_cpu() ? "Tensor for " + argument->text() + " is on CPU, " : "";
  }
  STD_TORCH_CHECK(on_cpu.empty(), on_cpu, "but expected it to be on GPU (while checking arguments for ", from, ")");
  STD_TORCH_CHECK(
      first->get_device() == second->get_device(),
      "Expected tensor for ", first.text(), " to have the same device as tensor for ", second.text(), "; but device ",
      first->get_device(), " does not equal ", second->get_device(), " (while checking arguments for ", from, ")");
}

//! checkAllSameGPU checkSameGPU
inline void checkAllSameGPU(CheckedFrom from, const std::vector<TensorArg>& tensors) {
  check_all_same(from, tensors, checkSameGPU);
}
