// Operators on rows, columns and other parts of tensors.

#include <AcmeNativeFunctions.h>

#include <ATen/WrapDimUtils.h>
#include <ATen/WrapDimUtilsMulti.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/copy.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/resolve_conj.h>
#include <ATen/ops/zeros.h>

#include "host.h"
#include "loops.h"

namespace acme::native {
namespace {

// Writes beta * bias + alpha * left @ right. No bias stands for zeros.
void multiply_matrices(
    const at::Tensor& bias,
    const at::Tensor& left,
    const at::Tensor& right,
    const at::Scalar& beta,
    const at::Scalar& alpha,
    const at::Tensor& out) {
  const at::Tensor added = bias.defined() && beta.toComplexDouble() != 0.0 ? bias.expand_as(out) : at::Tensor();
  with_value_type(out.scalar_type(), [&](auto zero) {
    using Value = decltype(zero);
    const Elements<Value> rows(left), columns(right), results(out);
    for (int64_t row = 0; row < out.size(0); ++row) {
      for (int64_t column = 0; column < out.size(1); ++column) {
        Value total = zero;
        for (int64_t index = 0; index < left.size(1); ++index) {
          total += rows.get(row * left.stride(0) + index * left.stride(1)) *
              columns.get(index * right.stride(0) + column * right.stride(1));
        }
        total *= alpha.to<Value>();
        if (added.defined()) {
          const int64_t position = row * added.stride(0) + column * added.stride(1);
          total += beta.to<Value>() * Elements<Value>(added).get(position);
        }
        results.set(row * out.stride(0) + column * out.stride(1), total);
      }
    }
  });
}

// PyTorch passes tensors that are conjugated lazily to products of matrices, because some devices can conjugate while
// they multiply. This one cannot.
void multiply_resolved_matrices(
    const at::Tensor& bias,
    const at::Tensor& left,
    const at::Tensor& right,
    const at::Scalar& beta,
    const at::Scalar& alpha,
    const at::Tensor& out) {
  TORCH_CHECK(
      left.dtype() == right.dtype(), "expected m1 and m2 to have the same dtype, but got: ", left.dtype(),
      " != ", right.dtype());
  const at::Tensor added = bias.defined() ? bias.resolve_conj() : bias;
  const at::Tensor result = out.resolve_conj();
  multiply_matrices(added, left.resolve_conj(), right.resolve_conj(), beta, alpha, result);
  if (!result.is_same(out)) {
    out.copy_(result);
  }
}

}  // namespace

void Kernels::structured_mm_out::impl(const at::Tensor& self, const at::Tensor& mat2, const at::Tensor& out) {
  multiply_resolved_matrices(at::Tensor(), self, mat2, 0, 1, out);
}

void Kernels::structured_addmm_out::impl(
    const at::Tensor& self,
    const at::Tensor& mat1,
    const at::Tensor& mat2,
    const at::Scalar& beta,
    const at::Scalar& alpha,
    const at::Tensor& out) {
  multiply_resolved_matrices(self, mat1, mat2, beta, alpha, out);
}

void Kernels::structured_sum_out::impl(
    const at::Tensor& self,
    at::OptionalIntArrayRef dim,
    bool keepdim,
    std::optional<at::ScalarType> /*dtype*/,
    const at::Tensor& out) {
  // Totals have 64 bits. A dimension that is summed has one total, which the view of them repeats.
  const auto type = out.is_complex() ? at::kComplexDouble : out.is_floating_point() ? at::kDouble : at::kLong;
  at::Tensor totals = at::zeros(out.sizes(), out.options().dtype(type));
  at::Tensor repeated = totals;
  if (!keepdim) {
    const auto is_summed = at::dim_list_to_bitset(dim, self.dim());
    for (int64_t index = 0; index < self.dim(); ++index) {
      if (is_summed[static_cast<size_t>(index)]) {
        repeated = repeated.unsqueeze(index);
      }
    }
  }
  repeated = repeated.expand_as(self);
  auto iterator = at::TensorIteratorConfig()
                      .set_check_mem_overlap(false)
                      .check_all_same_dtype(false)
                      .resize_outputs(false)
                      .add_output(repeated)
                      .add_const_input(repeated)
                      .add_const_input(self)
                      .build();
  with_value_type(type, [&](auto zero) {
    using Value = decltype(zero);
    const auto loop = [&](char** data, const int64_t* strides, int64_t size) {
      for (int64_t index = 0; index < size; ++index) {
        *reinterpret_cast<Value*>(data[0] + index * strides[0]) +=
            c10::fetch_and_cast<Value>(self.scalar_type(), data[2] + index * strides[2]);
      }
    };
    iterator.serial_for_each(loop, {0, iterator.numel()});
  });
  out.copy_(totals);
}

// Adds along the last dimension alone.
void Kernels::structured_cumsum_out::impl(
    const at::Tensor& self,
    int64_t dim,
    std::optional<at::ScalarType> /*dtype*/,
    const at::Tensor& out) {
  TORCH_CHECK(self.dim() > 0 && at::maybe_wrap_dim(dim, self.dim()) == self.dim() - 1, "only the last dimension");
  const at::Tensor source = self.contiguous();
  const at::Tensor totals = out.is_contiguous() ? out : at::empty(out.sizes(), out.options());
  const int64_t columns = self.size(-1);
  with_value_type(out.scalar_type(), [&](auto zero) {
    const Elements<decltype(zero)> values(source), results(totals);
    auto total = zero;
    for (int64_t position = 0; position < source.numel(); ++position) {
      total = values.get(position) + (position % columns == 0 ? zero : total);
      results.set(position, total);
    }
  });
  if (!totals.is_same(out)) {
    out.copy_(totals);
  }
}

// PyTorch's shape function has found the dimension, and which tensors count.
void Kernels::structured_cat_out::impl(
    const at::ITensorListRef& tensors,
    int64_t dim,
    int64_t /*valid*/,
    bool /*all_contiguous*/,
    bool /*all_same_dtype*/,
    bool /*all_same_sizes_and_stride*/,
    at::MemoryFormat /*memory_format*/,
    const at::Tensor& out) {
  int64_t start = 0;
  for (const at::Tensor& tensor : tensors) {
    // A tensor without elements may have any number of dimensions.
    if (tensor.numel() > 0) {
      out.narrow(dim, start, tensor.size(dim)).copy_(tensor);
      start += tensor.size(dim);
    }
  }
}

// The loop of the device needs rows without gaps, so its shape function asks for a contiguous result.
void Kernels::structured_tril_out::meta(const at::Tensor& self, int64_t /*diagonal*/) {
  TORCH_CHECK(self.dim() >= 2, "tril: acme needs a matrix, and not a tensor of ", self.dim(), " dimensions");
  set_output_strided(0, self.sizes(), c10::contiguous_strides(self.sizes()), self.options());
}

void Kernels::structured_tril_out::impl(const at::Tensor& self, int64_t diagonal, const at::Tensor& out) {
  const at::Tensor source = self.contiguous();
  const int64_t rows = self.size(-2), columns = self.size(-1);
  with_value_type(self.scalar_type(), [&](auto zero) {
    const Elements<decltype(zero)> values(source), results(out);
    for (int64_t position = 0; position < source.numel(); ++position) {
      const int64_t row = position / columns % rows, column = position % columns;
      results.set(position, column - row <= diagonal ? values.get(position) : zero);
    }
  });
}

at::Tensor& Kernels::index_select_out(const at::Tensor& self, int64_t dim, const at::Tensor& index, at::Tensor& out) {
  TORCH_CHECK(
      out.scalar_type() == self.scalar_type(), "index_select(): self and result must have the same scalar type");
  const at::Tensor values = at::index_select(host_view(self), dim, host_view(index));
  at::native::resize_output(out, values.sizes());
  host_view(out).copy_(values);
  return out;
}

}  // namespace acme::native
