// Kernels for the operators of operators.yaml, and a program that calls them as ExecuTorch's runtime does.
#include <cstdio>
#include <stdexcept>

#include "Functions.h"
#include "RegisterKernels.h"

namespace acme {
namespace native {
using namespace torch::executor;

Tensor& add_out(KernelRuntimeContext&, const Tensor& self, const Tensor& other, const Scalar& alpha, Tensor& out) {
  out.value = self.value + alpha.value * other.value;
  return out;
}

Tensor& abs_out(KernelRuntimeContext&, const Tensor& self, Tensor& out) {
  out.value = self.value < 0 ? -self.value : self.value;
  return out;
}

Tensor& every_out(
    KernelRuntimeContext&,
    TensorList tensors,
    ArrayRef<std::optional<Tensor>> maybe,
    ArrayRef<int64_t> sizes,
    ArrayRef<double> factors,
    ArrayRef<bool> mask,
    std::optional<ArrayRef<int64_t>> dims,
    const std::optional<Tensor>& weight,
    const std::optional<Scalar>& scalar,
    std::string_view name,
    ScalarType dtype,
    std::optional<double> p,
    bool flag,
    Tensor& out) {
  out.value = tensors[1].value + maybe[1]->value + sizes[0] + factors[0] + mask[1] + (*dims)[0] + weight->value +
      scalar->value + name.size() + static_cast<int>(dtype) + p.has_value() + flag;
  return out;
}

std::tuple<Tensor&, Tensor&> two_out(KernelRuntimeContext&, const Tensor& self, Tensor& first, Tensor& second) {
  first.value = self.value + 1;
  second.value = self.value + 2;
  return {first, second};
}

int64_t count(KernelRuntimeContext&, const Tensor& self, int64_t by) {
  return static_cast<int64_t>(self.value) * by;
}

Tensor& fail_out(KernelRuntimeContext&, const Tensor&, Tensor&) {
  throw std::runtime_error("no");
}

void fill_out(KernelRuntimeContext&, int64_t, TensorList) {}

Tensor now(KernelRuntimeContext&) {
  return Tensor{42};
}
} // namespace native
} // namespace acme

using torch::executor::EValue;
using torch::executor::Scalar;
using torch::executor::Tensor;

namespace {

// Calls a kernel, and gives the error; the last of the values takes the result.
int call(const char* name, std::vector<EValue>& values) {
  std::vector<EValue*> stack;
  for (EValue& value : values) {
    stack.push_back(&value);
  }
  torch::executor::KernelRuntimeContext context;
  executorch::runtime::registry().at(name)(context, {stack.data(), stack.size()});
  return static_cast<int>(context.error);
}

double tensor(EValue& value) {
  return value.to<Tensor>().value;
}

} // namespace

int main() {
#ifdef MANUAL_REGISTRATION
  if (torch::executor::register_all_kernels() != torch::executor::Error::Ok) {
    return 1;
  }
#endif
  int error;
  std::vector<EValue> add{EValue(Tensor{1}), EValue(Tensor{2}), EValue(Scalar{10}), EValue(Tensor{}), EValue()};
  error = call("aten::add.out ", add);
  std::printf("add %d %g\n", error, tensor(add[3]));
  add.pop_back();
  error = call("aten::add.out ", add);
  std::printf("short %d\n", error);
  std::vector<EValue> abs{EValue(Tensor{-3}), EValue(Tensor{}), EValue()};
  error = call("aten::abs.out v1/7;0|7;0", abs);
  std::printf("abs %d %g\n", error, tensor(abs[1]));
  std::vector<EValue> every{
      EValue(std::vector<Tensor>{{0}, {1}}), EValue(std::vector<std::optional<Tensor>>{std::nullopt, Tensor{10}}),
      EValue(std::vector<int64_t>{100}),     EValue(std::vector<double>{0.5}),
      EValue(std::vector<bool>{false, true}), EValue(std::vector<int64_t>{1000}),
      EValue(Tensor{10000}),                 EValue(Scalar{100000}),
      EValue(std::string("four")),           EValue(torch::executor::ScalarType::Float),
      EValue(),                              EValue(true),
      EValue(Tensor{}),                      EValue()};
  error = call("acme::every.out ", every);
  std::printf("every %d %.1f\n", error, tensor(every[12]));
  std::vector<EValue> two{EValue(Tensor{5}), EValue(Tensor{}), EValue(Tensor{}), EValue()};
  error = call("acme::two.out ", two);
  std::printf("two %d %g %g\n", error, tensor(two[1]), tensor(two[2]));
  std::vector<EValue> count{EValue(Tensor{5}), EValue(int64_t{3}), EValue()};
  error = call("acme::count ", count);
  std::printf("count %d %d\n", error, static_cast<int>(count[2].to<int64_t>()));
  std::vector<EValue> fail{EValue(Tensor{5}), EValue(Tensor{}), EValue()};
  error = call("acme::fail.out ", fail);
  std::printf("fail %d\n", error);
  std::vector<EValue> fill{EValue(int64_t{3}), EValue(std::vector<Tensor>{{1}, {2}}), EValue()};
  error = call("acme::fill.out ", fill);
  std::printf("fill %d\n", error);
  std::vector<EValue> now{EValue()};
  error = call("acme::now ", now);
  std::printf("now %d %g\n", error, tensor(now[0]));
}
