// The kernels, which return, write or read what the entries do not say, and honest ones.
#include <audited/kernels.h>

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <memory>
#include <tuple>
#include <vector>

#ifdef STABLE
#include <torch/csrc/stable/ops.h>
#include <torch/headeronly/core/ScalarType.h>
using Tensor = torch::stable::Tensor;
using Tensors = torch::headeronly::HeaderOnlyArrayRef<Tensor>;
static Tensor make(const Tensor& like, std::vector<int64_t> sizes) {
  return torch::stable::new_empty(like, sizes);
}
static Tensor make_double(const Tensor& like, std::vector<int64_t> sizes) {
  return torch::stable::new_zeros(like, sizes, torch::headeronly::ScalarType::Double);
}
static Tensor transposed(const Tensor& tensor) {
  return torch::stable::transpose(tensor, 0, 1);
}
static Tensor first_row(const Tensor& tensor) {
  Tensor copy = tensor;
  return torch::stable::narrow(copy, 0, 0, 1);
}
static Tensor flat(const Tensor& tensor) {
  return torch::stable::contiguous(tensor);
}
static int64_t thread_count() {
  return torch::stable::get_num_threads();
}
#else
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
using Tensor = at::Tensor;
using Tensors = at::TensorList;
static Tensor make(const Tensor& like, std::vector<int64_t> sizes) {
  return at::empty(sizes, like.options());
}
static Tensor make_double(const Tensor& like, std::vector<int64_t> sizes) {
  return at::zeros(sizes, like.options().dtype(at::kDouble));
}
static Tensor transposed(const Tensor& tensor) {
  return tensor.transpose(0, 1);
}
static Tensor first_row(const Tensor& tensor) {
  return tensor.narrow(0, 0, 1);
}
static Tensor flat(const Tensor& tensor) {
  return tensor.contiguous();
}
static int64_t thread_count() {
  return at::get_num_threads();
}
#endif

static std::vector<int64_t> sizes_of(const Tensor& tensor) {
  return {tensor.sizes().begin(), tensor.sizes().end()};
}

static float* data(const Tensor& tensor) {
  return static_cast<float*>(const_cast<void*>(static_cast<const void*>(tensor.data_ptr())));
}

// A contiguous result with x + by.
static Tensor plus(const Tensor& x, float by) {
  Tensor result = make(x, sizes_of(x)), source = flat(x);
  for (int64_t place = 0; place < x.numel(); ++place) {
    data(result)[place] = data(source)[place] + by;
  }
  return result;
}

static Tensor filled(const Tensor& like, std::vector<int64_t> sizes) {
  Tensor result = make(like, sizes);
  for (int64_t place = 0; place < result.numel(); ++place) {
    data(result)[place] = 1;
  }
  return result;
}

static void change_first(const Tensor& tensor) {
  if (tensor.numel() > 0) {
    data(tensor)[0] += 1;
  }
}

namespace audited {
namespace native {

Tensor strides_transposed(const Tensor& x) {
  return transposed(filled(x, {x.size(1), x.size(0)}));
}

Tensor dtype_wider(const Tensor& x) {
  return make_double(x, sizes_of(x));
}

Tensor shape_longer(const Tensor& x) {
  return filled(x, {x.size(0) + 1});
}

Tensor shape_swapped(const Tensor& x) {
  return filled(x, {x.size(1), x.size(0)});
}

std::tuple<Tensor, Tensor> shape_of_second(const Tensor& x) {
  return {plus(x, 1), filled(x, {x.size(1)})};
}

Tensor rank_higher(const Tensor& x) {
  return filled(x, {x.size(0), 1});
}

Tensor writes_first(const Tensor& x) {
  change_first(x);
  return plus(x, 1);
}

Tensor writes_second(const Tensor& x, const Tensor& weight) {
  change_first(weight);
  return plus(x, 1);
}

Tensor writes_item(const Tensor& x, Tensors tensors) {
  change_first(tensors[1]);
  return plus(x, 1);
}

Tensor writes_optional(const Tensor& x, const std::optional<Tensor>& bias) {
  if (bias.has_value()) {
    change_first(*bias);
  }
  return plus(x, 1);
}

void writes_outside(Tensor& out, const Tensor& x) {
  const int64_t stride = out.sizes().size() == 1 && out.size(0) > 1 ? out.stride(0) : 1;
  for (int64_t place = 0; place + 1 < stride * out.size(0); ++place) {
    data(out)[place] = 2;
  }
}

Tensor alias_of_argument(const Tensor& x) {
  return x;
}

Tensor alias_of_part(const Tensor& x) {
  return x.size(0) > 0 ? first_row(x) : filled(x, {1, x.size(1)});
}

std::tuple<Tensor, Tensor> alias_of_results(const Tensor& x) {
  const Tensor result = plus(x, 1);
  return {result, result};
}

Tensor unwritten_result(const Tensor& x) {
  Tensor result = make(x, sizes_of(x)), source = flat(x);
  for (int64_t place = 1; place < x.numel(); ++place) {
    data(result)[place] = data(source)[place];
  }
  return result;
}

Tensor unwritten_tensor(const Tensor& x) {
  const Tensor work = make(x, {4});
  return plus(x, data(work)[3]);
}

Tensor unwritten_heap(const Tensor& x) {
  const std::unique_ptr<float[]> work(new float[1024]);
  return plus(x, work[1000]);
}

Tensor counts_threads(const Tensor& x) {
  return plus(x, 1.0f / thread_count());
}

Tensor counts_calls(const Tensor& x) {
  static int count = 0;
  return plus(x, ++count);
}

Tensor stops_gradients(const Tensor& x) {
  aoti_torch_grad_mode_set_enabled(false);
  return plus(x, 1);
}

Tensor honest_sum(const Tensor& x) {
  return plus(x, 1);
}

#ifdef STABLE
Tensor adds_to_out(const Tensor& x, Tensor& out) {
#else
Tensor& adds_to_out(const Tensor& x, Tensor& out) {
#endif
  const Tensor source = plus(x, 1);
  if (out.is_contiguous()) {
    for (int64_t place = 0; place < x.numel(); ++place) {
      data(out)[place] += data(source)[place];
    }
  }
  return out;
}

std::tuple<Tensor, Tensor> honest_pair(const Tensor& x, const std::optional<Tensor>& bias) {
  return {filled(x, {x.size(1), x.size(0)}), filled(x, {x.size(0)})};
}

void honest_write(Tensor& out, const Tensor& x) {
  const int64_t stride = out.size(0) > 1 ? out.stride(0) : 1;
  for (int64_t place = 0; place < out.size(0); ++place) {
    data(out)[place * stride] = 2;
  }
}

Tensor honest_view(const Tensor& x) {
  return transposed(x);
}

} // namespace native
} // namespace audited
