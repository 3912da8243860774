// The kernels; some call operators of the library by their C++ functions.
#include <written/kernels.h>
#include <written/ops.h>

#include <ATen/ops/add.h>
#include <ATen/ops/div.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/neg.h>

using at::Tensor;

namespace written::native {

void accumulate(const Tensor& x, Tensor& total) {
  total.add_(x);
}

Tensor add_to(const Tensor& x, Tensor& total) {
  written::accumulate(x, total);
  return total;
}

void copy_out(const Tensor& x, Tensor& out) {
  out.copy_(x);
}

Tensor& halve_(Tensor& self) {
  return self.div_(2);
}

void clear_(Tensor& self) {
  self.zero_();
}

Tensor doubled(const Tensor& x, const std::optional<Tensor>& out) {
  return out.has_value() ? out->copy_(at::mul(x, 2)) : at::mul(x, 2);
}

c10::complex<double> rotate(c10::complex<double> z, c10::complex<double> by) {
  return z * by;
}

c10::complex<double> sum_of(
    c10::List<c10::complex<double>> z,
    c10::complex<double> by,
    std::optional<c10::complex<double>> last,
    c10::List<c10::complex<double>> more,
    c10::List<bool> mask) {
  c10::complex<double> sum = by * last.value_or(0) + static_cast<double>(mask.size());
  for (c10::complex<double> item : z) sum += item;
  for (c10::complex<double> item : more) sum += item;
  return sum;
}

// The C++ function of the library has the defaults of the schema.
c10::complex<double> sum_of_defaults() {
  return written::sum_of();
}

Tensor total(c10::Dict<std::string, Tensor> parts) {
  return at::add(parts.at("half"), parts.at("rest"));
}

c10::Dict<std::string, Tensor> parts(const Tensor& x) {
  c10::Dict<std::string, Tensor> parts;
  parts.insert("half", at::div(x, 2));
  parts.insert("rest", at::div(x, 2));
  return parts;
}

std::tuple<int64_t, Tensor> counted(std::tuple<int64_t, Tensor> pair) {
  const auto& [count, x] = pair;
  return {count + x.numel(), written::total(written::parts(x))};
}

std::vector<int64_t> kept(at::IntArrayRef numbers, c10::List<bool> mask) {
  std::vector<int64_t> kept;
  for (size_t at = 0; at < numbers.size(); ++at) {
    if (mask.get(at)) {
      kept.push_back(numbers[at]);
    }
  }
  return kept;
}

c10::IValue same(c10::IValue value) {
  return value;
}

Tensor negated(const Tensor& x) {
  return at::neg(std::get<1>(written::counted({1, x})));
}

Tensor blend(const Tensor& x, const Tensor& y, double weight, at::IntArrayRef shift) {
  return at::add(at::add(at::mul(x, weight), at::mul(y, 1 - weight)), shift[0] + shift[1]);
}

c10::SymInt sum_of_group(const c10::List<c10::SymInt>& group) {
  c10::SymInt sum = 0;
  for (const c10::SymInt item : group) {
    sum += item;
  }
  return sum;
}

c10::SymInt sum_of_groups(const c10::List<c10::List<c10::SymInt>>& groups) {
  c10::SymInt sum = 0;
  for (const c10::List<c10::SymInt> group : groups) {
    sum += sum_of_group(group);
  }
  return sum;
}

Tensor total_of(
    const Tensor& x,
    c10::List<c10::List<c10::SymInt>> groups,
    c10::List<std::optional<c10::SymInt>> sizes,
    c10::List<std::optional<c10::List<c10::SymInt>>> rest,
    c10::List<std::optional<at::Scalar>> by,
    at::ArrayRef<at::DeviceIndex> places,
    std::optional<c10::List<c10::List<c10::SymInt>>> more) {
  c10::SymInt sum = sum_of_groups(groups) + (more.has_value() ? sum_of_groups(*more) : c10::SymInt(0));
  for (const std::optional<c10::SymInt> size : sizes) {
    sum += size.value_or(100);
  }
  for (const std::optional<c10::List<c10::SymInt>> group : rest) {
    sum += group.has_value() ? sum_of_group(*group) : c10::SymInt(1000);
  }
  double all = static_cast<double>(sum.guard_int(__FILE__, __LINE__));
  for (const std::optional<at::Scalar> scalar : by) {
    all += scalar.value_or(0.25).toDouble();
  }
  for (const at::DeviceIndex place : places) {
    all += 0.0625 * place;
  }
  return at::add(x, all);
}

Tensor total_again(
    const Tensor& x,
    c10::List<c10::List<c10::SymInt>> groups,
    c10::List<std::optional<c10::SymInt>> sizes,
    c10::List<std::optional<c10::List<c10::SymInt>>> rest,
    c10::List<std::optional<at::Scalar>> by,
    at::ArrayRef<at::DeviceIndex> places,
    std::optional<c10::List<c10::List<c10::SymInt>>> more) {
  return written::total_of(x, groups, sizes, rest, by, places, more);
}

Tensor& add_total_(Tensor& self, c10::List<c10::List<c10::SymInt>> groups) {
  return self.add_(sum_of_groups(groups).guard_int(__FILE__, __LINE__));
}

Tensor& add_total_again_(Tensor& self, c10::List<c10::List<c10::SymInt>> groups) {
  return written::add_total_(self, groups);
}

void store(const Tensor& x, std::optional<at::TensorList> caches) {
  for (const Tensor& cache : caches.value_or(at::TensorList())) {
    cache.copy_(x);
  }
}

}  // namespace written::native
