"""What holds for the kernels of acme.yaml on the device, in all forms of the operators."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch

from tests.backend.checks import calls

if TYPE_CHECKING:
    from typing import Any

    #: A call of an operator with tensors, on any device.
    Call = Callable[..., Any]


def on(device: str, value: Any) -> Any:  # noqa: ANN401
    """A value with its tensors on a device; those without dimensions and lists of tensors too."""
    if isinstance(value, torch.Tensor):
        copied = torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device=device)
        return copied.copy_(value)
    if isinstance(value, list | tuple):
        return type(value)(on(device, item) for item in value)
    if isinstance(value, dict):
        return {name: on(device, item) for name, item in value.items()}
    return value


def same(actual: Any, expected: Any) -> None:  # noqa: ANN401
    """Fail unless results are equal in value, dtype and strides, and those on the device are there."""
    if isinstance(expected, torch.Tensor):
        assert actual.device.type == "acme", actual.device
        assert actual.stride() == expected.stride(), (actual.stride(), expected.stride())
        torch.testing.assert_close(actual.cpu(), expected, rtol=0, atol=0, equal_nan=True)
        return
    for one, other in zip(actual, expected, strict=True):
        same(one, other)


def compared(call: Call, *arguments: object, **keywords: object) -> list[str]:
    """Compare a call on the device with one on the CPU, and give the kernels that ran."""
    ours = on("acme", arguments)
    calls()
    actual = call(*ours, **on("acme", keywords))
    names = calls()
    same(actual, call(*arguments, **keywords))
    return names


def message_of(call: Call, *arguments: object) -> str:
    """The message of an error, without the name of the device."""
    try:
        call(*arguments)
    except (RuntimeError, IndexError, NotImplementedError) as error:
        return re.sub(r"(acme|privateuseone)(:\d)?", "cpu", str(error).split("\nException raised")[0])
    raise AssertionError("there is no error")


def tensors(*shapes: tuple[int, ...], dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    """Tensors with numbers that differ and repeat in each run."""
    generator = torch.Generator().manual_seed(1)
    return [torch.randint(-9, 10, shape, generator=generator).to(dtype) for shape in shapes]


BINARY: Sequence[tuple[str, Call]] = (
    ("mul", torch.mul),
    ("maximum", torch.maximum),
    ("add", lambda a, b, **out: torch.add(a, b, alpha=3, **out)),
    ("eq", torch.eq),
    ("sub", lambda a, b, **out: torch.sub(a, b, alpha=2, **out)),
    ("div stub", torch.div),
    ("atan2", torch.atan2),
)


def check_functional_values() -> None:
    """Functional overloads of element-wise operators have the CPU's values, and run the kernel of the backend."""
    a, b = tensors((4, 3), (4, 3))
    for name, call in BINARY:
        assert f"{name}@0" in compared(call, a, b), name


def check_broadcast_and_promotion() -> None:
    """Tensors of other sizes and dtypes, scalars, and tensors without dimensions give what the CPU gives."""
    a, row = tensors((4, 3), (3,))
    column = tensors((4, 1), dtype=torch.int64)[0]
    for _, call in BINARY:
        compared(call, a, row)
        compared(call, column, row)
        compared(call, column.to(torch.int16), a.double())
        compared(call, a[:0], a[:0])
        compared(call, a, torch.tensor(2.5))
    compared(lambda a: a * 2.5 + 1, column)


def check_tensor_of_the_cpu_without_dimensions() -> None:
    """A tensor of the CPU without dimensions takes part, as PyTorch allows for all devices."""
    a = tensors((4, 3))[0]
    same(on("acme", a) * torch.tensor(2.5), a * 2.5)


def check_memory_formats() -> None:
    """Outputs have the strides that the shape function chooses: those of dense inputs are kept."""
    a, b = tensors((2, 3, 4, 5), (2, 3, 4, 5))
    last = [tensor.to(memory_format=torch.channels_last) for tensor in (a, b)]
    for _, call in BINARY:
        compared(call, *last)
        compared(call, a.transpose(1, 3), b.transpose(1, 3))
        compared(call, a[..., ::2], b[..., ::2])


def check_in_place() -> None:
    """In-place overloads change `self`, which may be a part of a tensor, and return it."""
    a, b = tensors((4, 6), (4, 6))
    for name in ("mul_", "add_", "sub_", "div_", "atan2_", "eq_"):
        ours, theirs = on("acme", a), a.clone()
        returned = getattr(ours[:, ::2], name)(on("acme", b)[:, ::2])
        same(returned.contiguous(), getattr(theirs[:, ::2], name)(b[:, ::2]).contiguous())
        same(ours, theirs)


def check_in_place_returns_self() -> None:
    """The result of an in-place overload is the tensor that it was called with."""
    a = on("acme", tensors((4, 3))[0])
    assert a.mul_(2) is a
    assert torch.neg_(a) is a
    assert torch.trunc_(a) is a


def check_in_place_kernel_of_its_own() -> None:
    """An in-place overload with an entry of its own calls that kernel, and the functional one the structured kernel."""
    a, b = (on("acme", tensor) for tensor in tensors((3,), (3,)))
    a.atan2_(b)
    assert calls() == ["atan2 in place@0"]
    a.atan2(b)
    assert calls() == ["atan2@0"]


def check_outs() -> None:
    """Out overloads write tensors of the right size as they are, with any strides, and resize empty ones."""
    a, b = tensors((4, 3), (4, 3))
    for _, call in BINARY:
        dtype = call(a, b).dtype
        blank = torch.zeros(4, 3, dtype=dtype)
        for out in (blank, torch.zeros(3, 4, dtype=dtype).t(), torch.zeros(8, 6, dtype=dtype)[::2, ::2], blank[:0, :0]):
            compared(call, a, b, out=out)


def check_outs_of_another_dtype() -> None:
    """Element-wise operators write outs of wider dtypes, as on the CPU."""
    a, b = tensors((4, 3), (4, 3), dtype=torch.int32)
    for call in (torch.mul, torch.add, torch.maximum, torch.div, torch.eq):
        compared(call, a, b, out=torch.zeros(4, 3, dtype=torch.float64))


def check_resize_of_a_full_out_warns() -> None:
    """PyTorch's warning about outs of a wrong size appears."""
    a, b = (on("acme", tensor) for tensor in tensors((4, 3), (4, 3)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.mul(a, b, out=torch.ones(2, device="acme"))
    assert any("was resized since it had shape [2]" in str(warning.message) for warning in caught)


def check_overlap() -> None:
    """PyTorch's check of memory that is written twice runs."""
    ours = on("acme", torch.zeros(1)).expand(3)
    assert "more than one element of the written-to tensor" in message_of(lambda: ours.mul_(2))


def check_reductions() -> None:
    """Reductions, softmax and cat with all kinds of arguments equal the CPU's."""
    a = tensors((4, 3, 5))[0]
    for dim in (None, 1, (0, 2)):
        compared(lambda a, dim=dim: torch.sum(a, dim=dim), a)
        compared(lambda a, dim=dim: torch.sum(a, dim=dim, keepdim=True, dtype=torch.float64), a.to(torch.int32))
    assert compared(lambda a: torch.softmax(a, -2), a) == ["softmax@0"]
    compared(lambda a: torch.softmax(a.transpose(0, 1), 0), a)
    assert compared(lambda *parts: torch.cat(parts, 1), a, a[:, :1], a.double()) == ["cat@0"]
    out = torch.zeros(5, 3, 4).permute(2, 1, 0)
    compared(lambda a, out: torch.sum(a, dim=0, keepdim=True, out=out[:1]), a, out)


def check_several_outputs() -> None:
    """Operators with two outputs fill both, in functional and out form, with precomputed values."""
    a = torch.randperm(60, generator=torch.Generator().manual_seed(2)).view(4, 3, 5).float()
    assert compared(lambda a: torch.topk(a, 2, dim=-1), a) == ["topk@0"]
    assert compared(lambda a: torch.max(a, -2, keepdim=True), a) == ["max@0"]
    assert compared(torch.aminmax, a) == ["aminmax@0"]
    compared(lambda a: torch.aminmax(a, dim=1), a)
    values, indices = torch.zeros(5, 4).t(), torch.zeros(0, dtype=torch.int64)
    compared(lambda a, *outs: torch.max(a, -2, out=outs), a, values, indices)
    compared(lambda a, *outs: torch.topk(a.transpose(0, 1), 2, dim=-1, out=outs), a, torch.zeros(0), indices)


def check_shape_function_of_the_backend() -> None:
    """With `define_meta`, the backend's shape function runs before `impl`, and its errors reach the caller."""
    a, b = tensors((4, 3), (4, 3))
    for call in (torch.sub, lambda a, b: a.sub_(b), lambda a, b: torch.sub(a, b, out=torch.empty_like(a))):
        assert compared(call, a.clone(), b) == ["sub shape@0", "sub@0"]
    byte = on("acme", tensors((3,), dtype=torch.int8)[0])
    assert message_of(torch.sub, byte, byte) == "Acme does not subtract int8"


def check_shape_function_with_precomputed_values() -> None:
    """The backend's shape function passes the values that it precomputes to `impl`."""
    a, source = tensors((4, 3), (4, 2))
    index = torch.tensor([2, 0])
    names = compared(lambda *arguments: torch.index_copy(arguments[0], -1, *arguments[1:]), a, index, source)
    assert names == ["index_copy shape@0", "index_copy@0"]


def check_shape_functions_of_meta_tensors() -> None:
    """With `register_meta`, the backend's shape functions serve meta tensors too; without, PyTorch's do."""
    meta = torch.empty(4, 3, device="meta")
    assert torch.trunc(meta).shape == (4, 3)
    assert calls() == ["trunc shape@0"]
    values, indices = torch.min(meta, 1)
    assert calls() == ["min shape@0"]
    assert (values.shape, values.device.type, indices.dtype) == ((4,), "meta", torch.int64)
    torch.sub(meta, meta)
    assert calls() == []


def check_stubs() -> None:
    """Operators with `stub` run PyTorch's kernel with the loop that the backend binds."""
    a, b = tensors((4, 3), (4, 3))
    assert compared(torch.exp, a.int()) == ["exp stub@0"]
    assert compared(lambda a: torch.exp(a, out=torch.empty_like(a).t().contiguous().t()), a) == ["exp stub@0"]
    assert compared(lambda a: torch.cumsum(a, -1, dtype=torch.float64), a) == ["cumsum stub@0"]
    assert compared(lambda a, b: a.div_(b), a, b.abs() + 1) == ["div stub@0"]


def check_out_kernels_serve_other_overloads() -> None:
    """A kernel of the out overload alone serves the functional and the in-place one, and copies nothing."""
    a = tensors((4, 3))[0]
    assert compared(torch.nn.functional.hardtanh, a, -2.0, 2.0) == ["hardtanh@0"]
    assert compared(lambda a: torch.nn.functional.hardtanh_(a, -2.0, 2.0), a.clone()) == ["hardtanh@0"]
    assert compared(torch.neg, a) == ["neg@0"]
    assert compared(lambda a: a.neg_(), a.clone()) == ["neg@0"]
    assert compared(torch.neg, a, out=torch.zeros(3, 4).t()) == ["neg@0"]
    assert torch.geqrf(on("acme", torch.eye(3)))[0].shape == (3, 3)
    assert calls() == ["geqrf@0"]


def check_other_device() -> None:
    """Kernels run with the device of their tensors as the current one, and outputs are on it."""
    a, b = (on("acme:1", tensor) for tensor in tensors((4, 3), (4, 3)))
    for name, call in BINARY:
        assert call(a, b).device == torch.device("acme:1")
        assert calls()[-1] == f"{name}@1"
    assert torch.neg(a).device == torch.device("acme:1")
    torch.mul(a, b, out=torch.empty(0, device="acme:1"))
    a.mul_(b)
    assert calls() == ["neg@1", "mul@1", "mul@1"]
    torch.geqrf(on("acme:1", torch.eye(3)))
    assert calls() == ["geqrf@0"], "this entry has no guard"
    assert torch.ops.test_device.current_device() == 0


def check_messages() -> None:
    """Wrong sizes, dtypes, dimensions and outs give the messages that PyTorch has for its own devices."""
    a, b = tensors((4, 3), (4, 2))
    for call in (
        lambda a, b: torch.mul(a, b),
        lambda a, b: a.mul_(b),
        lambda a, b: torch.cat([a, b], 0),
    ):
        assert message_of(call, on("acme", a), on("acme", b)) == message_of(call, a, b)
    for alone in (
        lambda a: a[0].add_(a),
        lambda a: a.int().add_(a),
        lambda a: torch.mul(a, a, out=torch.empty_like(a, dtype=torch.int32)),
        lambda a: torch.topk(a, 9),
        lambda a: torch.topk(a, 1, out=(torch.empty_like(a), torch.empty_like(a))),
        lambda a: torch.softmax(a, 5),
        lambda a: torch.cumsum(a, 7),
    ):
        assert message_of(alone, on("acme", a)) == message_of(alone, a)


def check_messages_about_devices() -> None:
    """Tensors on two devices, and outs on another device, give PyTorch's messages."""
    a, b = (on("acme", tensor) for tensor in tensors((4, 3), (4, 3)))
    both = "Expected all tensors to be on the same device"
    for call in (torch.mul, torch.maximum, torch.div, lambda a, b: a.sub_(b)):
        assert both in message_of(call, a, b.cpu())
        assert both in message_of(call, a, b.to("acme:1"))
    assert both in message_of(lambda: torch.cat([a, b.cpu()]))
    assert "device" in message_of(lambda: torch.topk(a, 1, out=(torch.empty(0), torch.empty(0).long())))


def check_backward() -> None:
    """Gradients flow through structured kernels, stubs and derived overloads, and equal the CPU's."""

    def loss(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        smooth = torch.softmax(torch.add(a * b, torch.sub(a, b, alpha=2), alpha=3), -1)
        values, _ = torch.topk(torch.cat([smooth, torch.maximum(a, b), torch.neg(a).exp() / 9], 1), 5)
        greatest = torch.max(torch.nn.functional.hardtanh(values, -3, 4), 0)[0]
        return torch.sum(greatest) + torch.cumsum(a.div(3).atan2(b), 0).sum(1).mul_(2).sum()

    grads = []
    for device in ("acme", "cpu"):
        leaves = [on(device, tensor.double()).requires_grad_() for tensor in tensors((4, 3), (4, 3))]
        loss(*leaves).backward()
        grads.append([leaf.grad.cpu() for leaf in leaves if leaf.grad is not None])
    assert len(grads[0]) == 2
    torch.testing.assert_close(*grads)


def check_gradients_by_differences() -> None:
    """`gradcheck` accepts the kernels."""
    a, b = (on("acme", tensor.double() / 9 + 1.5).requires_grad_() for tensor in tensors((2, 3), (2, 3)))
    assert torch.autograd.gradcheck(lambda a, b: torch.add(a * b, a / b, alpha=2).exp().sum(1), (a, b))
