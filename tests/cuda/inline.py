"""Builds an operator with kernels in CUDA from texts, and a text with a mistake."""

from __future__ import annotations

import os
import tempfile

import pytest
import torch

import opwright

YAML = """
- func: inline_cuda::scale(Tensor self, float factor) -> Tensor
  outputs: like(self)
  dispatch: {CPU: scale_cpu, CUDA: scale_cuda}
"""
CPP = """
#include <ATen/ops/mul.h>
namespace inline_cuda::native {
at::Tensor scale_cpu(const at::Tensor& self, double factor) { return at::mul(self, factor); }
}
"""
CUDA = """
#include <ATen/ops/empty_like.h>
namespace inline_cuda::native {
__global__ void scale(float* out, const float* in, float factor, int64_t count) {
  const int64_t index = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (index < count) out[index] = factor * in[index];
}
at::Tensor scale_cuda(const at::Tensor& self, double factor) {
  at::Tensor out = at::empty_like(self);
  const int64_t count = self.numel();
  scale<<<(count + 255) / 256, 256>>>(out.mutable_data_ptr<float>(), self.const_data_ptr<float>(), factor, count);
  return out;
}
}
"""

with tempfile.TemporaryDirectory() as folder:
    os.environ["OPWRIGHT_CACHE_DIR"] = folder
    built = opwright.inline(YAML, CPP, cuda=CUDA)
    values = torch.randn(3, 4)
    torch.testing.assert_close(built.scale(values, 2.5), values * 2.5)
    assert "CUDA: registered" in torch._C._dispatch_dump("inline_cuda::scale")
    for wrong in ("index < cout", "index < missing(count)"):
        with pytest.raises(opwright.BuildFailed) as failed:
            opwright.inline(YAML, CPP, cuda=CUDA.replace("index < count", wrong))
        [diagnostic] = failed.value.diagnostics
        assert (diagnostic.code, str(diagnostic.span)) == ("E1203", "<inline cuda>:6:3"), failed.value
