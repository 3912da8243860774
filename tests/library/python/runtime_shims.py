"""Compiles a model ahead of time with the C shims of a library, and runs it.

Takes the shared object of the library, the folder of its Python package, and a folder to write to.
"""

from __future__ import annotations

import ctypes
import sys
from zipfile import ZipFile

import torch
import torch._inductor

shared_object, packages, folder = sys.argv[1:]
ctypes.CDLL(shared_object, mode=ctypes.RTLD_GLOBAL)
torch.ops.load_library(shared_object)
sys.path.insert(0, packages)

from acme._aoti import c_shims  # type: ignore[import-not-found]  # noqa: E402


class Model(torch.nn.Module):  # type: ignore[misc]
    """Operators with a shim and without one, between operators of PyTorch."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Results of every kind."""
        low, high = torch.ops.acme.blend(x, y, [3, 4], weight=0.25, device="cpu")
        alone = torch.ops.acme.blend(x.relu(), None, [])
        scaled = torch.ops.acme.scale(high.sin(), 3.0, [x.shape[0], 2, 2])
        return low, high, *alone, scaled, torch.ops.acme.abs(x), *_values_of_all_types(x)


def _values_of_all_types(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Results that differ if an argument is not passed exactly: C has no type for all values of some."""
    large, whole = 2**53 + 1, x.to(torch.int64)
    named = {"layout": torch.strided, "format": torch.channels_last}
    first = torch.ops.acme.exact(
        x, -large, x.shape[0] * 2**40, 1e300, True, torch.int8, [large, 1 - 2**63], [0.1, 5e-324], [True, False]
    )
    second = torch.ops.acme.exact(x, 0, 1, -0.5, False, torch.bool, [], [], [False, True], large, 0.1, **named)
    shifted = torch.ops.acme.shift(whole, large) + 1, torch.ops.acme.shift(whole, 1, large)
    return *first, *second, *shifted, torch.ops.acme.worded(x, "a\\nb")


def _inputs(rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(rows, 4), torch.randn(rows, 4)


model = Model()
rows = torch.export.Dim("rows", min=2, max=64)
program = torch.export.export(model, _inputs(3), dynamic_shapes=({0: rows}, {0: rows}))
with torch._inductor.config.patch({"aot_inductor.custom_ops_to_c_shims": c_shims()}):
    package = torch._inductor.aoti_compile_and_package(program, package_path=f"{folder}/model.pt2")
compiled = torch._inductor.aoti_load_package(package)
for count in (3, 5):
    inputs = _inputs(count)
    torch.testing.assert_close(tuple(compiled(*inputs)), model(*inputs))

with ZipFile(package) as archive:
    text = "".join(archive.read(name).decode() for name in archive.namelist() if name.endswith(".wrapper.cpp"))
print("aoti_torch_cpu_blend", text.count("AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cpu_blend("))
print("aoti_torch_cpu_exact", text.count("AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cpu_exact("))
print("aoti_torch_cpu_scale", text.count("AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cpu_scale("))
print("proxy executor", text.count("aoti_torch_proxy_executor_call_function(proxy_executor"))
