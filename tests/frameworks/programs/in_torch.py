"""The operators in an environment that has PyTorch alone."""

from __future__ import annotations

import importlib.util
import sys
from types import FrameType

import acme_views.torch as ops
import numpy as np
import pytest
import torch
import values
from torch.autograd import gradcheck
from torch.distributed import destroy_process_group, init_process_group
from torch.distributed._local_tensor import LocalTensorMode
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.library import opcheck
from torch.testing._internal.distributed.fake_pg import FakeStore


def test_other_frameworks_are_missing() -> None:
    """Each module says in a sentence what it needs."""
    assert importlib.util.find_spec("jax") is None
    for name, needed in (("jax", "install `jax`"), ("tvm_ffi", "install `apache-tvm-ffi`")):
        with pytest.raises(ImportError, match=needed):
            importlib.import_module(f"acme_views.{name}")


def test_values() -> None:
    """Results are those of NumPy, also for layouts that need a copy."""
    x, weight = torch.randn(4, 3, 8), torch.randn(8)
    for tensor in (x, x.transpose(0, 1), x[::2]):
        expected = values.rms_norm(tensor.numpy(), weight.numpy())
        np.testing.assert_allclose(ops.rms_norm(tensor, weight).numpy(), expected, rtol=1e-5, atol=1e-6)
    rows, segments = torch.randn(5, 3), torch.tensor([0, 1, 0, 3, 3])
    for weights in (None, torch.rand(5)):
        result = ops.segment_sum(rows, segments, weights, count=4)
        given = None if weights is None else weights.numpy()
        np.testing.assert_allclose(result.numpy(), values.segment_sum(rows.numpy(), segments, given, 4), rtol=1e-5)
    top = ops.top_k(torch.tensor([[1.0, 3.0, 2.0]]), 2)
    assert top.values.tolist() == [[3, 2]]
    assert top.indices.tolist() == [[1, 2]]
    assert top.indices.dtype == torch.int32
    summed = ops.weighted_sum([x, 2 * x], [1.0, 3.0])
    torch.testing.assert_close(summed, 7 * x)


def test_written_argument() -> None:
    """An argument that is written changes in place; memory that is shared is refused."""
    x, cos, sin = torch.randn(2, 5, 8), torch.randn(5, 4), torch.randn(5, 4)
    expected = values.rotary(x.numpy(), cos.numpy(), sin.numpy())
    assert ops.rotary_(x, cos, sin) is None
    np.testing.assert_allclose(x.numpy(), expected, rtol=1e-5, atol=1e-6)
    wide = torch.randn(2, 5, 16)[..., :8]
    expected = values.rotary(wide.numpy(), cos.numpy(), sin.numpy())
    ops.rotary_(wide, cos, sin)
    np.testing.assert_allclose(wide.numpy(), expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(RuntimeError, match="writes to `x`, elements of which share memory"):
        ops.rotary_(torch.randn(5, 8).expand(2, 5, 8), cos, sin)
    flat = torch.randn(40)
    with pytest.raises(RuntimeError, match="which shares memory with `cos`"):
        ops.rotary_(flat.view(1, 5, 8), flat[:20].view(5, 4), sin)


def test_described() -> None:
    """Kernels get every kind of argument, and defaults."""
    x = torch.arange(24, dtype=torch.float64).view(1, 2, 3, 4)
    assert ops.described(x, 7).tolist() == [123, 7, 0, 2117, 33, -1, 0, -1]
    called = ops.described(x, -7, True, "", [1, 2], more=[1.5, 2.5], flags=[True, False], times=9)
    assert called.tolist() == [123, -7, 1, -1, 21, 4.5, 210, 9]


def test_opcheck_and_gradcheck() -> None:
    """PyTorch's own checks of schemas, fakes, compiled programs and gradients."""
    x, weight = torch.randn(4, 8, requires_grad=True), torch.randn(8, requires_grad=True)
    rows, segments = torch.randn(5, 3), torch.tensor([0, 1, 0, 3, 3])
    library = torch.ops.acme_views
    opcheck(library.rms_norm.default, (x, weight))
    opcheck(library.rotary_.default, (torch.randn(2, 5, 8), torch.randn(5, 4), torch.randn(5, 4)))
    opcheck(library.top_k.default, (torch.randn(3, 6), 2))
    opcheck(library.segment_sum.default, (rows, segments, torch.rand(5)), {"count": 4})
    opcheck(library.weighted_sum.default, ([rows, rows], [1.0, 2.0]))
    wide = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    scale = torch.randn(5, dtype=torch.float64, requires_grad=True)
    assert gradcheck(ops.rms_norm, (wide, scale))
    weights = torch.rand(3, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda a, w: ops.segment_sum(a, torch.tensor([0, 1, 0]), w, count=2), (wide, weights))
    assert gradcheck(ops.scaled, (wide,))


def test_programs() -> None:
    """Compiled and exported programs, and vmap."""
    x, weight = torch.randn(4, 8), torch.randn(8)

    def program(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return ops.rms_norm(x, weight) * 2

    expected = program(x, weight)
    compiled = torch.compile(program, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x, weight), expected)

    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
            return program(x, weight)

    exported = torch.export.export(Module(), (x, weight)).module()
    torch.testing.assert_close(exported(x, weight), expected)
    batched = torch.func.vmap(ops.rms_norm, (0, None))(x, weight)
    torch.testing.assert_close(batched, ops.rms_norm(x, weight))


def test_distributed_tensors() -> None:
    """A sharded batch stays where it is, forward and backward, and nothing is gathered."""
    x, weight = torch.randn(8, 3, 16, dtype=torch.float64), torch.randn(16, dtype=torch.float64)
    plain = [x.clone().requires_grad_(), weight.clone().requires_grad_()]
    expected = ops.rms_norm(*plain)
    gradients = torch.autograd.grad(expected, plain, torch.ones_like(expected))
    init_process_group("fake", rank=0, world_size=4, store=FakeStore())
    try:
        with LocalTensorMode(4):
            mesh = init_device_mesh("cpu", (4,))
            sharded = distribute_tensor(x, mesh, [Shard(0)]).requires_grad_()
            whole = distribute_tensor(weight, mesh, [Replicate()]).requires_grad_()
            result = ops.rms_norm(sharded, whole)
            assert isinstance(result, DTensor)
            assert result.placements == (Shard(0),)
            torch.testing.assert_close(result.full_tensor().reconcile(), expected)
            own = torch.autograd.grad(result, [sharded, whole], torch.ones_like(result))
            assert own[0].placements == (Shard(0),)
            for gradient, other in zip(own, gradients, strict=True):
                torch.testing.assert_close(gradient.full_tensor().reconcile(), other)
    finally:
        destroy_process_group()


def test_calls_that_record_nothing_go_past_python() -> None:
    """The package has what the project's `fast_calls` asks for, which serves this release."""
    recording = importlib.import_module("acme_views._autograd")
    assert recording._fast is not None
    called: list[str] = []

    def traced(frame: FrameType, event: str, argument: object) -> None:
        called.extend([frame.f_code.co_name] if event == "call" and "acme_views" in frame.f_code.co_filename else [])

    library, angle = torch.ops.acme_views, torch.randn(6, 3)
    for operator, arguments in ((library.top_k, (2,)), (library.rotary_, (angle, angle))):
        for tensor in (torch.randn(6, 6), torch.randn(6, 6, requires_grad=True) * 1):
            called.clear()
            version = tensor._version
            sys.setprofile(traced)
            try:
                operator(tensor, *arguments)
            except NotImplementedError:
                assert tensor.requires_grad
            finally:
                sys.setprofile(None)
            is_past = f"_{operator._qualified_op_name.partition('::')[2]}_kernel" not in called
            assert is_past == (not tensor.requires_grad)
            assert tensor.requires_grad or tensor._version == version + (operator is library.rotary_)
    with torch.inference_mode():
        library.rotary_(torch.randn(6, 6), angle, angle)


def test_results_that_no_memory_holds() -> None:
    """A result is refused before a kernel writes to memory that it does not have, and so is a copy of an argument."""
    rows, segments = torch.zeros(0, 4), torch.zeros(0, dtype=torch.int64)
    for count in (2**57, 2**60, 2**62):
        with pytest.raises(RuntimeError, match="cannot be computed: no memory has room for so many elements"):
            ops.segment_sum(rows, segments, count=count)
    with pytest.raises(RuntimeError, match="segment_sum: there is no memory for a new tensor"):
        ops.segment_sum(rows, segments, count=2**46)
    with pytest.raises(RuntimeError, match="segment_gather: there is no memory for a new tensor"):
        ops.segment_gather(torch.zeros(1, 4).expand(2**58, 4), torch.zeros(1, dtype=torch.int64))
