"""A library as authors write it by hand, in the forms that they use. Tests import it."""

from __future__ import annotations

BINDINGS = r"""
#include <torch/library.h>
#include "kernels.h"

#define JOIN(A, B) A##B

namespace {
at::Tensor hidden(const at::Tensor& x) { return x; }
}  // namespace

namespace mine {
int64_t count(at::Tensor x, std::optional<std::string> name);
}

/* TORCH_LIBRARY(commented, m) { m.def("out(Tensor x) -> Tensor"); } */
TORCH_LIBRARY_FRAGMENT(acme, ops) {
  // The schema is in pieces, and has a quotation.
  ops.def(
      "scale(Tensor x, float by,"
      "      str mode=\"a\") -> Tensor", {at::Tag::pt2_compliant_tag});
  ops.impl("scale", torch::kCPU, &scale);
  ops.impl("scale", torch::dispatch(c10::DispatchKey::CUDA, TORCH_FN(fast::scale)));
#ifdef WITH_MORE
  ops.def(TORCH_SELECTIVE_SCHEMA("acme::fill(Tensor! out) -> ()"));
  ops.impl(TORCH_SELECTIVE_NAME("acme::fill"), c10::DispatchKey::CPU, TORCH_FN(fill));
#if VERSION >= 12
  ops.impl("fill", c10::kCUDA, &fill_cuda);
#else
  ops.def("older(Tensor x) -> Tensor", old::older);
#endif
#endif
  ops.def("count", &mine::count);
  ops.def("twice(Tensor x) -> Tensor", [](const at::Tensor& x) { return x + x; });
  ops.def("hidden(Tensor x) -> Tensor").impl("hidden", at::kCPU, hidden);
#if 0
  ops.def("never(Tensor x) -> Tensor");
#endif
}

TORCH_LIBRARY_IMPL(acme, Meta, m) {
  m.impl("scale", scale_meta);
  m.impl("absent", &absent);
}

static auto registry = torch::RegisterOperators("acme::first", &first)
    .op("acme::second(Tensor x) -> Tensor", &first);

TORCH_LIBRARY_EXPAND(JOIN(PREFIX, _more), more) { more.def("last() -> int[]", &last); }
"""

HEADER = """
#ifndef KERNELS_H
#define KERNELS_H
#define API __attribute__((visibility("default")))
using handle_t = int64_t;
at::Tensor scale(const at::Tensor& x, double by, std::string mode);
namespace fast { at::Tensor scale(const at::Tensor& x, double by, std::string mode); }
at::Tensor scale_meta(const at::Tensor& x, double by, std::string mode);
void fill(at::Tensor& out);
void fill_cuda(at::Tensor& out);
ACME_API std::tuple<at::Tensor, handle_t> first(const std::vector<at::Tensor>& xs, bool flag = false);
std::vector<int64_t> last();
#endif
"""

EXPECTED = """\
# From bindings.cpp.
namespace: acme
kernel_namespace: "::"
kernel_signatures: declared
includes:  # their folders have to be on the include path
- kernels.h
- acme_kernels.h
operators:
- func: scale(Tensor x, float by, str mode="a") -> Tensor
  tags: [pt2_compliant_tag]
  dispatch: {CPU: scale, CUDA: fast::scale, Meta: scale_meta}
- func: fill(Tensor! out) -> ()
  if: defined(WITH_MORE)
  dispatch: {CPU: fill, CUDA: {kernel: fill_cuda, if: "VERSION >= 12"}}
- func: older(Tensor x) -> Tensor
  if: defined(WITH_MORE) && !(VERSION >= 12)
  dispatch: {CompositeImplicitAutograd: old::older}
# bindings.cpp:32: the schema is the one that PyTorch infers
- func: count(Tensor _0, str? _1) -> int _0
  alias_analysis: conservative
  dispatch: {CompositeImplicitAutograd: mine::count}
# bindings.cpp:33: the kernels stay by hand, because of `[](const at::Tensor&x){return x+x;}`
- func: twice(Tensor x) -> Tensor
  manual_kernel_registration: True
# bindings.cpp:34: `hidden` can only be named in its own file: move it out of its anonymous namespace
- func: hidden(Tensor x) -> Tensor
  dispatch: CPU
# bindings.cpp:45: the schema is the one that PyTorch infers
- func: first(Tensor[] _0, bool _1) -> (Tensor _0, int _1)
  alias_analysis: conservative
- func: second(Tensor x) -> Tensor
  dispatch: {CompositeImplicitAutograd: first}
- func: acme_more::last() -> int[]
"""

STABLE = """
#include <torch/csrc/stable/library.h>
STABLE_TORCH_LIBRARY_FRAGMENT(acme, m) {
#ifndef USE_ROCM
  m.def("scale(Tensor x, float by) -> Tensor");
  m.def("twice(Tensor x) -> Tensor");
  m.def("offsets(int[][] sizes) -> ()");
#endif
}
#ifndef USE_ROCM
STABLE_TORCH_LIBRARY_IMPL(acme, CUDA, m) {
  m.impl("scale", TORCH_BOX(&scale));
  m.impl("twice", TORCH_BOX(&twice));
  m.impl("offsets", TORCH_BOX(&offsets));
}
#endif
"""

PYTHON = """
import torch
from typing import Optional
from torch.library import Library, custom_op as defined_by, register_fake

lib = Library("acme", "FRAGMENT")
lib.define("cut(Tensor x) -> Tensor", tags=(torch.Tag.core,))
lib.impl("cut", lambda x: x, "CUDA")
torch.library.define("acme::paste", "(Tensor x, Tensor(a!) y) -> ()")


@defined_by("acme::glue", mutates_args={"y"}, device_types="cpu")
def glue(x: torch.Tensor, y: Optional[torch.Tensor], n: int = 2, *, mode: str = "a") -> list[torch.Tensor]:
    return [x]


@register_fake("acme::glue")
def _(x, y, n=2, *, mode="a"):
    return [x]


@defined_by("acme::unknown", mutates_args=())
def unknown(x):
    return x
"""
