// The kernels of the library. Tensors of the device have no memory: results are arguments, and errors show values.
#include <implementing/kernels.h>

#include <stdexcept>
#include <string>
#include <tuple>

#ifdef STABLE
using Tensor = torch::stable::Tensor;
#else
using Tensor = at::Tensor;
#endif

namespace implementing {
namespace native {

Tensor gamma(const Tensor& self, double exponent) {
  if (exponent == 7) {
    throw std::runtime_error("the kernel got 7");
  }
  return self;
}

void track(Tensor& mean, const Tensor& value, double momentum) {
  throw std::runtime_error("momentum " + std::to_string(momentum));
}

std::tuple<Tensor, Tensor> moments(const Tensor& self, int64_t dim, bool keepdim) {
  return {self, self};
}

} // namespace native
} // namespace implementing
