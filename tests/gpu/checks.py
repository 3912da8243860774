"""The checks of the libraries on a device, each by its name: `python -m tests.gpu.checks NAME:LIBRARY` runs one."""

from __future__ import annotations

import ctypes
import importlib
import os
import re
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from types import ModuleType
from typing import Final

import pytest
import torch
from torch._dynamo.utils import counters
from torch.utils.checkpoint import checkpoint

DEVICE: Final = os.environ.get("DEVICE", "cuda")
TOLERANCE: Final = {torch.float64: 1e-9, torch.float32: 1e-5, torch.float16: 5e-3, torch.bfloat16: 4e-2}
Check = Callable[[ModuleType], None]
#: The checks, with whether they need a GPU.
CHECKS: Final[dict[str, tuple[Check, bool]]] = {}


def check(function: Check) -> Check:
    """Declare a check of every device, which gets the package of a library."""
    CHECKS[function.__name__] = function, False
    return function


def cuda_only(function: Check) -> Check:
    """Declare a check of CUDA."""
    CHECKS[function.__name__] = function, True
    return function


def names(device: str) -> list[str]:
    """The checks of a device."""
    return [name for name, (_, needs_cuda) in CHECKS.items() if device == "cuda" or not needs_cuda]


def made(*sizes: int, dtype: torch.dtype = torch.float32, grad: bool = False) -> torch.Tensor:
    """A random tensor on the device."""
    return torch.randn(*sizes, device=DEVICE, dtype=torch.float64).to(dtype).requires_grad_(grad)


def reference(x: torch.Tensor, w: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """What the operator computes, in float64."""
    x, w = x.double(), w.double()
    return x * (x.square().mean(-1, keepdim=True) + eps).rsqrt() * w


def close(value: torch.Tensor, wanted: torch.Tensor, dtype: torch.dtype | None = None) -> None:
    """Raise if a value differs by more than its dtype explains."""
    error = (value.double() - wanted.double()).norm() / wanted.double().norm().clamp_min(1e-30)
    assert error < TOLERANCE[dtype or value.dtype], f"relative error {error.item():.2e} in {value.dtype}"


@check
def values(ops: ModuleType) -> None:
    """Values, for all dtypes and for sizes from none to many."""
    for dtype in TOLERANCE:
        for sizes in ((1, 1), (3, 7), (5, 31), (2, 3, 1000), (4, 4097), (0, 8), (100000, 16)):
            x, w = made(*sizes, dtype=dtype), made(sizes[-1], dtype=dtype)
            y = ops.rms_norm(x, w)
            assert (y.dtype, y.shape, y.device) == (x.dtype, x.shape, x.device)
            if x.numel():
                close(y, reference(x, w))


@check
def strided(ops: ModuleType) -> None:
    """Arguments whose elements do not lie one after another."""
    for x in (made(8, 5).t(), made(6, 4, 10)[:, ::2], made(2, 3, 4, 5).to(memory_format=torch.channels_last)):
        w = made(2 * x.size(-1))[::2]
        close(ops.rms_norm(x, w), reference(x, w))


@check
def gradients(ops: ModuleType) -> None:
    """Gradients of both arguments, for all dtypes."""
    for dtype in TOLERANCE:
        x, w = made(9, 65, dtype=dtype, grad=True), made(65, dtype=dtype, grad=True)
        g = made(9, 65, dtype=dtype)
        got = torch.autograd.grad(ops.rms_norm(x, w), (x, w), g)
        xd, wd = x.detach().double().requires_grad_(), w.detach().double().requires_grad_()
        wanted = torch.autograd.grad(reference(xd, wd), (xd, wd), g.double())
        for value, want in zip(got, wanted, strict=True):
            close(value, want, dtype)


@check
def gradcheck(ops: ModuleType) -> None:
    """Gradients by differences, of one argument alone too, and none in no_grad."""
    x, w = made(3, 8, dtype=torch.float64, grad=True), made(8, dtype=torch.float64, grad=True)
    assert torch.autograd.gradcheck(ops.rms_norm, (x, w))
    for wanted in ((x,), (w,)):
        torch.autograd.grad(ops.rms_norm(x, w).sum(), wanted)
    with torch.no_grad():
        assert not ops.rms_norm(x, w).requires_grad


@check
def opcheck(ops: ModuleType) -> None:
    """The checks of PyTorch for operators."""
    operators = getattr(torch.ops, ops.__name__)
    for dtype in TOLERANCE:
        x, w = made(3, 8, dtype=dtype, grad=True), made(8, dtype=dtype, grad=True)
        torch.library.opcheck(operators.rms_norm.default, (x, w))
    rstd = made(3)
    torch.library.opcheck(operators.rms_norm_backward.default, (made(3, 8), made(3, 8), made(8), rstd))


@check
def compiled(ops: ModuleType) -> None:
    """Compiled with sizes that change, forward and backward."""
    for options in ({"dynamic": False}, {"dynamic": True}):
        torch._dynamo.reset()
        f = torch.compile(lambda x, w: ops.rms_norm(x * 2, w).relu(), fullgraph=True, **options)
        for n in (16, 24, 40):
            x, w = made(n, n, grad=True), made(n, grad=True)
            y = f(x, w)
            close(y.detach(), reference(x.detach() * 2, w.detach()).relu())
            got = torch.autograd.grad(y.sum(), (x, w))
            wanted = torch.autograd.grad(ops.rms_norm(x * 2, w).relu().sum(), (x, w))
            for value, want in zip(got, wanted, strict=True):
                close(value, want)


@cuda_only
def compiled_cuda_graphs(ops: ModuleType) -> None:
    """Compiled into graphs of CUDA, none of which is left out."""
    torch._dynamo.reset()
    f = torch.compile(lambda x, w: ops.rms_norm(x, w) + 1, fullgraph=True, mode="reduce-overhead")
    w = made(64, grad=True)
    for _ in range(5):
        torch.compiler.cudagraph_mark_step_begin()
        x = made(32, 64, grad=True)
        y = f(x, w)
        close(y.detach(), reference(x.detach(), w.detach()) + 1)
        got = torch.autograd.grad(y.sum(), (x, w))
        wanted = torch.autograd.grad(ops.rms_norm(x, w).sum(), (x, w))
        for value, want in zip(got, wanted, strict=True):
            close(value, want)
    assert not counters["inductor"].get("cudagraph_skips"), dict(counters["inductor"])


@cuda_only
def captured(ops: ModuleType) -> None:
    """A graph of forward and backward, replayed with other inputs."""
    x, w, g = made(64, 256, grad=True), made(256, grad=True), made(64, 256)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            torch.autograd.grad(ops.rms_norm(x, w), (x, w), g)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = ops.rms_norm(x, w)
        dx, dw = torch.autograd.grad(y, (x, w), g)
    for _ in range(3):
        with torch.no_grad():
            x.copy_(made(64, 256)), w.copy_(made(256)), g.copy_(made(64, 256))
        for each in (y, dx, dw):
            each.detach().fill_(float("nan"))
        graph.replay()
        close(y.detach(), reference(x.detach(), w.detach()))
        wanted = torch.autograd.grad(ops.rms_norm(x, w), (x, w), g)
        close(dx, wanted[0])
        close(dw, wanted[1])


@cuda_only
def on_another_stream(ops: ModuleType) -> None:
    """Kernels run on the current stream: behind what is queued there, and not on the default one."""
    main, side = torch.cuda.current_stream(), torch.cuda.Stream()
    x, w, new = made(512, 1024, grad=True), made(1024, grad=True), made(512, 1024)
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(200_000_000)
        with torch.no_grad():
            x.copy_(new)
        y = ops.rms_norm(x, w)
        dx, dw = torch.autograd.grad(y, (x, w), torch.ones_like(y))
        done = side.record_event()
    assert not done.query(), "the side stream did not wait: something synchronized"
    # The result is used on the main stream, and freed there.
    main.wait_event(done)
    for each in (y, dx, dw):
        each.record_stream(main)
    total = y.detach() + 0
    torch.cuda.synchronize()
    close(total, reference(new, w.detach()))
    xd, wd = new.double().requires_grad_(), w.detach().double().requires_grad_()
    wanted = torch.autograd.grad(reference(xd, wd).sum(), (xd, wd))
    close(dx, wanted[0])
    close(dw, wanted[1])


@cuda_only
def no_synchronization(ops: ModuleType) -> None:
    """A call waits for nothing on the device."""
    x, w = made(64, 64, grad=True), made(64, grad=True)
    torch.cuda.set_sync_debug_mode("error")
    try:
        torch.autograd.grad(ops.rms_norm(x, w).sum(), (x, w))
    finally:
        torch.cuda.set_sync_debug_mode("default")


@check
def autocast(ops: ModuleType) -> None:
    """Results in the lower precision, gradients in that of the arguments."""
    x, w = made(4, 16, grad=True), made(16, grad=True)
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        y = ops.rms_norm(x, w)
    assert y.dtype is torch.bfloat16, y.dtype
    gradients = torch.autograd.grad(y.float().sum(), (x, w))
    assert all(each.dtype is torch.float32 for each in gradients)


@check
def vmapped(ops: ModuleType) -> None:
    """Mapped over a dimension."""
    x, w = made(3, 4, 16), made(16)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        close(torch.vmap(ops.rms_norm, in_dims=(0, None))(x, w), reference(x, w))


@check
def wrong_dtype(ops: ModuleType) -> None:
    """Other dtypes are refused with words."""
    for x, w in ((made(3, 8), made(8, dtype=torch.float16)), (made(3, 8).int(), made(8).int())):
        with pytest.raises(RuntimeError, match="rms_norm"):
            ops.rms_norm(x, w)


@cuda_only
def tensors_of_two_devices(ops: ModuleType) -> None:
    """A weight on the CPU: an error with words, and the context of CUDA goes on. In a process of its own."""
    program = (
        f"import torch, {ops.__name__} as ops\n"
        "try:\n    ops.rms_norm(torch.randn(4, 8, device='cuda'), torch.randn(8)); torch.cuda.synchronize()\n"
        "except Exception as error:\n    print('first:', str(error)[:150].replace(chr(10), ' '))\n"
        "else:\n    print('first: no error')\n"
        "try:\n    torch.ones(1, device='cuda').sum().item()\n"
        "except Exception as error:\n    print('then the context is broken:', str(error)[:80].replace(chr(10), ' '))\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    text = run.stdout.strip().replace("\n", "; ") or run.stderr.strip()[-300:]
    assert "same device" in text, text
    assert "broken" not in text, text


@cuda_only
def large(ops: ModuleType) -> None:
    """More than 2^31 elements, and more than 2^32 bytes of them."""
    rows, n = 2**19 + 3, 4096
    x, w = torch.empty(rows, n, device=DEVICE, dtype=torch.bfloat16), made(n, dtype=torch.bfloat16)
    x[-2:].copy_(made(2, n)), x[:2].copy_(made(2, n)), x[2**18 : 2**18 + 2].copy_(made(2, n))
    y = ops.rms_norm(x, w)
    for part in (slice(0, 2), slice(-2, None), slice(2**18, 2**18 + 2)):
        close(y[part], reference(x[part], w))
    torch.cuda.empty_cache()


@check
def exported(ops: ModuleType) -> None:
    """Exported with a size that changes."""
    module = Model(ops)
    program = torch.export.export(module, (made(4, 16),), dynamic_shapes=({0: torch.export.Dim("n")},))
    close(
        program.module()(made(4, 16)) * 0 + program.module()(torch.ones(6, 16, device=DEVICE))[0],
        module(torch.ones(4, 16, device=DEVICE)),
    )
    print(
        "   operators of the graph:",
        sorted({str(node.target) for node in program.graph.nodes if ops.__name__ in str(node.target)}),
    )


class Model(torch.nn.Module):  # type: ignore[misc]
    """A module that calls the operator between others."""

    def __init__(self, ops: ModuleType) -> None:
        super().__init__()
        self.ops, self.weight = ops, torch.nn.Parameter(torch.linspace(0.5, 1.5, 16, device=DEVICE))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The module's result."""
        return self.ops.rms_norm(x.sin(), self.weight).cos()


@check
def aot_inductor(ops: ModuleType) -> None:
    """Compiled ahead of time; the native library is called through its C shim."""
    module = Model(ops).eval().requires_grad_(False)
    program = torch.export.export(module, (made(4, 16),))
    settings = {}
    if ops.__name__ == "norms":
        c_shims = importlib.import_module("norms._aoti").c_shims

        ctypes.CDLL(os.path.join(os.path.dirname(str(ops.__file__)), "_C.so"), mode=ctypes.RTLD_GLOBAL)
        settings = {"aot_inductor.custom_ops_to_c_shims": c_shims()}
    with tempfile.TemporaryDirectory() as folder, torch._inductor.config.patch(settings):
        path = torch._inductor.aoti_compile_and_package(program, package_path=os.path.join(folder, "m.pt2"))
        x = made(4, 16)
        close(torch._inductor.aoti_load_package(path)(x), module(x))
        with zipfile.ZipFile(path) as package:
            sources = "".join(
                package.read(each).decode() for each in package.namelist() if each.endswith(".wrapper.cpp")
            )
    if settings and sources:
        called = set(re.findall(r"AOTI_TORCH_ERROR_CODE_CHECK\((aoti_torch_\w*rms_norm\w*)", sources))
        assert called == {f"aoti_torch_{DEVICE}__rms_norm_saved"}, f"the C shim is not called, but {sorted(called)}"


@check
def checkpointed(ops: ModuleType) -> None:
    """Computed again in the backward pass."""
    x, w = made(8, 16, grad=True), made(16, grad=True)
    y = checkpoint(ops.rms_norm, x, w, use_reentrant=False)
    got = torch.autograd.grad(y.sum(), (x, w))
    wanted = torch.autograd.grad(ops.rms_norm(x, w).sum(), (x, w))
    for value, want in zip(got, wanted, strict=True):
        close(value, want)


@cuda_only
def memory(ops: ModuleType) -> None:
    """No result of a call is kept, and nothing is saved where nothing needs a gradient."""
    x, w = made(1024, 1024), made(1024)
    for grad in (False, True):
        x.requires_grad_(grad)
        ops.rms_norm(x, w)
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        for _ in range(20):
            ops.rms_norm(x, w)
        assert torch.cuda.memory_allocated() == before, torch.cuda.memory_allocated() - before


def main() -> None:
    """Run one check."""
    name, library = sys.argv[1].split(":")
    torch.manual_seed(0)
    CHECKS[name][0](importlib.import_module(library))


if __name__ == "__main__":
    main()
