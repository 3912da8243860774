"""The operators that the device computes itself, in all their forms."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
import torch_acme
from torch.utils._pytree import tree_map_only

BINARY = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "maximum": torch.maximum,
    "eq": torch.eq,
    "lt": torch.lt,
}
UNARY = {
    "neg": torch.neg,
    "tanh": torch.tanh,
    "exp": torch.exp,
    "sqrt": torch.sqrt,
    "sigmoid": torch.sigmoid,
    "hardtanh": torch.nn.functional.hardtanh,
    "isfinite": torch.isfinite,
}
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int8, torch.uint8, torch.bool]
NO_ORDER = ("maximum", "lt", "hardtanh")


def values(*size: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Positive and negative numbers, small enough for all types."""
    return (torch.arange(torch.Size(size).numel()).reshape(size) * 7 % 5 - (dtype.is_signed * 2)).to(dtype)


def on_device(arguments: Any) -> Any:  # noqa: ANN401
    """Copies of arguments on the device, with their strides."""
    return tree_map_only(
        torch.Tensor,
        lambda tensor: torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="acme").copy_(
            tensor
        ),
        arguments,
    )


def check(function: Callable[..., torch.Tensor], *arguments: object, **options: object) -> None:
    """Call a function with tensors of the CPU and of the device, and compare results and arguments."""
    copies, copied_options = on_device((arguments, options))
    expected = function(*arguments, **options)
    actual = function(*copies, **copied_options)
    assert actual.device.type == "acme"
    torch.testing.assert_close(
        [actual.cpu(), *[value.cpu() for value in copies if isinstance(value, torch.Tensor)]],
        [expected, *[value for value in arguments if isinstance(value, torch.Tensor)]],
        equal_nan=True,
    )
    assert actual.stride() == expected.stride()


@pytest.mark.parametrize("name", BINARY)
def test_types(name: str) -> None:
    """Binary operators have the results and the types of the CPU for all pairs of types."""
    for left, right in product([*DTYPES, torch.complex64], repeat=2):
        if (name == "sub" and torch.bool in (left, right)) or (
            name in NO_ORDER and (left.is_complex or right.is_complex)
        ):
            continue
        check(BINARY[name], values(2, 3, dtype=left), values(2, 3, dtype=right))


@pytest.mark.parametrize("name", UNARY)
def test_types_of_unary(name: str) -> None:
    """Unary operators have the results and the types of the CPU."""
    for dtype in [*DTYPES, torch.complex64]:
        if (name == "neg" and dtype is torch.bool) or (
            name in NO_ORDER and (dtype.is_complex or not dtype.is_floating_point)
        ):
            continue
        check(UNARY[name], values(2, 3, dtype=dtype))


@pytest.mark.parametrize("name", BINARY)
def test_shapes(name: str) -> None:
    """Sizes are broadcast, and tensors may have any strides."""
    function = BINARY[name]
    check(function, values(3, 1), values(4))
    check(function, values(3, 4).t(), values(4, 3))
    check(function, values(3, 4)[:, ::2], values(2))
    check(function, values(2, 3, 4).permute(2, 0, 1), values(2, 1))
    check(function, values(2, 3, 4, 5).to(memory_format=torch.channels_last), values(3, 1, 1))
    check(function, values(0, 3), values(1, 3))
    check(function, torch.tensor(2.0), values(2, 3, dtype=torch.int64))


@pytest.mark.parametrize("name", BINARY)
def test_numbers(name: str) -> None:
    """Numbers, and tensors of the CPU with one, can be operands."""
    function = BINARY[name]
    tensor = values(2, 3)
    result = function(tensor.acme(), torch.tensor(2, dtype=torch.float64))
    assert result.dtype == function(tensor, torch.tensor(2, dtype=torch.float64)).dtype
    assert result.cpu().equal(function(tensor, torch.tensor(2.0)))
    if name != "maximum":
        check(lambda tensor: function(tensor, 2), values(2, 3))
        check(lambda tensor: function(tensor, 2.5), values(2, 3, dtype=torch.int64))


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "eq", "lt"])
def test_in_place(name: str) -> None:
    """A tensor, and a view, can hold the result."""
    function = getattr(torch.Tensor, f"{name}_")
    check(function, values(3, 4), values(4))
    check(lambda tensor, other: function(tensor.t()[1:], other) is None or tensor, values(3, 4), values(3))


@pytest.mark.parametrize("name", [*BINARY, "neg", "tanh", "exp", "sqrt", "sigmoid"])
def test_out(name: str) -> None:
    """`out` may have any strides, another type, and no elements yet."""
    function = {**BINARY, **UNARY}[name]
    arguments = [values(3, 4)] * (2 if name in BINARY else 1)
    for out in (values(3, 4), values(4, 3).t(), values(6, 8)[::2, ::2], torch.empty(0)):
        check(function, *arguments, out=out)
    if name != "neg":
        check(function, *arguments, out=torch.empty(3, 4, dtype=torch.float64))
    made = torch.empty(3, 4, device="acme")
    assert function(*on_device(arguments), out=made) is made
    shared = values(3, 4).acme()
    function(*[shared] * len(arguments), out=shared)
    torch.testing.assert_close(shared.cpu(), function(*arguments).float(), equal_nan=True)


def test_promotion() -> None:
    """Operands are rounded to the type of the operation first."""
    for device in ("cpu", "acme"):
        assert (torch.tensor([16777217], device=device) + torch.ones(1, device=device)).item() == 16777216


def test_promotion_of_results() -> None:
    """Results are rounded to the type of the operation too, whatever the type of `out`."""
    for dtype in (torch.int64, torch.float64):
        large, small = values(3, dtype=torch.uint8), torch.full((3,), 200, dtype=torch.uint8)
        check(torch.sub, large, small, out=torch.empty(3, dtype=dtype))
    large = torch.full((3,), 33000, dtype=torch.float16)
    check(torch.add, large, large, out=torch.empty(3, dtype=torch.float64))
    check(torch.true_divide, torch.tensor([1.5]).half(), torch.tensor([0.666]).half(), out=torch.empty(1))


def test_alpha() -> None:
    """Options of operators count."""
    check(torch.add, values(3), values(3), alpha=3)
    check(torch.sub, values(3, dtype=torch.int64), values(3, dtype=torch.int64), alpha=-2)
    check(torch.nn.functional.hardtanh, values(5), -0.5, 1.5)
    check(torch.nn.functional.hardtanh_, values(5), -0.5, 1.5)


def test_matrices() -> None:
    """Matrices are multiplied, whatever their strides."""
    for dtype in (torch.float32, torch.int64, torch.complex64, torch.float16):
        left, right = values(3, 4, dtype=dtype), values(4, 2, dtype=dtype)
        check(torch.mm, left, right)
        check(torch.mm, left.t(), values(2, 3, dtype=dtype).t())
        check(torch.addmm, values(2, dtype=dtype), left, right, beta=2, alpha=3)
        check(torch.addmm, values(3, 1, dtype=dtype), left, right, beta=0)
    conjugated = (values(3, 3, dtype=torch.complex64) * 1j + 1).conj()
    check(lambda left: left.mH @ left.conj(), conjugated)
    check(lambda left, out: torch.addmm(left.conj(), left, left.conj(), out=out.conj()), conjugated, out=conjugated + 1)
    check(torch.mm, values(2, 0), values(0, 3))
    check(torch.mm, values(3, 4), values(4, 2), out=torch.empty(2, 3).t())
    check(torch.Tensor.addmm_, values(3, 2), values(3, 4), values(4, 2))
    check(torch.addmm, torch.full((2,), torch.nan), values(3, 4), values(4, 2), beta=0)


def test_sum() -> None:
    """Dimensions are summed."""
    for dtype in (torch.float32, torch.float16, torch.int8, torch.bool, torch.complex64):
        check(torch.sum, values(2, 3, 4, dtype=dtype), 1)
    check(torch.sum, values(2, 3, 4).permute(2, 0, 1), (0, -1))
    check(torch.sum, values(2, 3, 4), (0, 2), keepdim=True)
    check(torch.sum, values(2, 3), dtype=torch.float64)
    check(torch.sum, values(2, 0), 1)
    check(torch.sum, torch.tensor(3.0))
    check(torch.sum, values(2, 3), 0, out=torch.empty(6)[::2])
    assert torch.full((70000,), 1.0, dtype=torch.float16, device="acme").sum(dtype=torch.float32).item() == 70000


def test_concatenation() -> None:
    """Tensors are concatenated, of any types, and with empty ones among them."""
    check(lambda *tensors: torch.cat(tensors, -1), values(2, 3), values(2, 1, dtype=torch.int64), values(0))
    check(lambda *tensors, out: torch.cat(tensors, out=out), values(2, 3), values(1, 3), out=values(3, 3).t())
    check(lambda *tensors: torch.stack(tensors, 1), values(2, 3), values(2, 3))


def test_own_shape_function() -> None:
    """The shape function of the backend serves its device alone, and asks for a contiguous result."""
    for diagonal in (-1, 0, 2):
        check(torch.tril, values(3, 4), diagonal)
        check(torch.tril, values(2, 4, 3).transpose(1, 2), diagonal, out=values(2, 4, 3).transpose(1, 2))
    square = values(3, 3).t()
    assert on_device(square).tril().is_contiguous()
    # In place, the kernel gets a contiguous tensor instead, from which the wrapper copies the result.
    check(torch.Tensor.tril_, square)
    with pytest.raises(RuntimeError, match="acme needs a matrix"):
        torch.tril(values(3).acme())
    assert torch.tril(torch.empty(3, 3, device="meta").t()).stride() == torch.tril(square).stride()


def test_indices() -> None:
    """Rows are selected."""
    check(torch.index_select, values(3, 4), 1, torch.tensor([2, 0]))
    check(
        torch.index_select, values(3, 4, dtype=torch.int8), 0, torch.tensor([1]), out=torch.empty(0, dtype=torch.int8)
    )


def test_kernel_that_throws() -> None:
    """The CPU computes what a kernel refuses, with a warning."""
    check(torch.cumsum, values(2, 3), 1)
    check(torch.cumsum, values(3, 2).t(), -1, dtype=torch.float64)
    code = (
        "import torch, warnings\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    print(torch.ones(3, 2, device='acme').cumsum(1).tolist(), len(caught))\n"
        "    print(torch.ones(3, 2, device='acme').cumsum(0).tolist(), caught[0].message)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    own, other = done.stdout.splitlines()
    assert own == "[[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]] 0"
    assert other.startswith("[[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]] `aten::cumsum` runs on the CPU")
    assert "only the last dimension" in other
    check(torch.cumsum, values(3, 2), 0, out=torch.empty(2, 3).t())
    check(torch.Tensor.cumsum_, values(3, 2), 0)


def test_own_operator() -> None:
    """An operator of the backend has the overloads, shapes and gradients of PyTorch's operators."""
    first, second = torch.randn(3, 4, device="acme"), torch.randn(4, device="acme")
    expected = first * second.sigmoid()
    torch.testing.assert_close(torch_acme.gate(first, second), expected)
    torch.testing.assert_close(
        torch.ops.acme.gate(first.t()[:, :1], second[:1]), first.t()[:, :1] * second[0].sigmoid()
    )
    out = torch.empty(4, 3, device="acme").t()
    assert torch_acme.gate(first, second, out=out) is out
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(torch_acme.gate_(first.clone(), second), expected)
    assert torch_acme.gate(first.to("meta"), second.to("meta")).shape == (3, 4)
    left = torch.randn(3, 2, dtype=torch.float64, device="acme", requires_grad=True)
    right = torch.randn(2, dtype=torch.float64, device="acme", requires_grad=True)
    assert torch.autograd.gradcheck(torch_acme.gate, (left, right), check_forward_ad=True)
    torch.library.opcheck(torch.ops.acme.gate.default, (first, second))
    with pytest.raises(NotImplementedError, match="'CPU' backend"):
        torch_acme.gate(first.cpu(), second.cpu())


def message(function: Callable[..., object], device: str) -> str:
    """What the error says that a function raises, without the names of devices."""
    with pytest.raises((RuntimeError, IndexError)) as error:
        function(device)
    return re.sub("acme:0|cpu", "DEVICE", str(error.value))


@pytest.mark.parametrize(
    "function",
    [
        lambda device: torch.ones(2, device=device) + torch.ones(3, device=device),
        lambda device: torch.ones(2, device=device).add_(torch.ones(3, 2, device=device)),
        lambda device: torch.exp(torch.ones(2, device=device), out=torch.ones(2, dtype=torch.int64, device=device)),
        lambda device: torch.ones(2, dtype=torch.int64, device=device).div_(2),
        lambda device: torch.ones(2, dtype=torch.bool, device=device) - torch.ones(2, dtype=torch.bool, device=device),
        lambda device: torch.add(torch.ones(2, device=device), 1, out=torch.ones(1, device=device).expand(2)),
        lambda device: torch.ones(2, 3, device=device) @ torch.ones(2, 3, device=device),
        lambda device: torch.ones(2, 3, device=device).mm(torch.ones(3, device=device)),
        lambda device: torch.ones(2, 2, device=device).mm(torch.ones(2, 2, device=device, dtype=torch.float64)),
        lambda device: torch.ones(2, 3, device=device).sum(2),
        lambda device: torch.cat([torch.ones(2, 3, device=device), torch.ones(2, 4, device=device)]),
        lambda device: torch.ones(2, dtype=torch.complex64, device=device).lt(1),
        lambda device: torch.empty(-1, device=device),
        lambda device: torch.ones(2, device=device).view(3),
    ],
)
def test_messages(function: Callable[[str], object]) -> None:
    """Mistakes have PyTorch's messages."""
    assert message(function, "acme") == message(function, "cpu")


def test_devices_of_arguments() -> None:
    """Tensors of several devices are refused, and the message names the argument."""
    first, second = torch.ones(2, 2, device="acme:0"), torch.ones(2, 2, device="acme:1")
    with pytest.raises(RuntimeError, match="but got mat2 is on acme:1, different from other tensors on acme:0"):
        first.mm(second)
    with pytest.raises(RuntimeError, match="but got mat2 is on cpu"):
        first.mm(torch.ones(2, 2))
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.add(first, first, out=torch.empty(2, 2))
    assert second.mm(second).device.index == 1


def test_results_are_on_the_device_of_arguments() -> None:
    """Structured kernels, derived overloads and the CPU's kernels give results on the device of their arguments."""
    tensor = values(2, 2).to("acme:1")
    for result in (
        tensor + 1,
        torch.nn.functional.hardtanh(tensor),
        tensor.sin(),
        tensor.index_select(0, torch.tensor([0], device="acme:1")),
    ):
        assert result.device.index == 1
    assert torch.acme.current_device() == 0


@pytest.mark.parametrize(
    "names",
    [
        ("aten::add.Tensor", "aten::add_.Tensor", "aten::add.out"),
        ("aten::div.Tensor", "aten::div_.Tensor", "aten::div.out"),
        ("aten::tril", "aten::tril_", "aten::tril.out"),
        ("aten::hardtanh", "aten::hardtanh_", "aten::hardtanh.out"),
        ("aten::view", "aten::unfold", "aten::as_strided"),
        ("acme::gate", "acme::gate_", "acme::gate.out"),
    ],
)
def test_registrations(names: tuple[str, ...]) -> None:
    """All overloads of an operator have a kernel from one entry."""
    for name in names:
        assert torch._C._dispatch_has_kernel_for_dispatch_key(name, "PrivateUse1"), name


@pytest.mark.parametrize("window", [(0, 3, 2), (0, 2, 1), (-1, 2, 3), (1, 0, 1)])
def test_gradient_of_windows(window: tuple[int, int, int]) -> None:
    """The gradient of windows has a kernel of the device, which adds where they overlap."""
    assert torch._C._dispatch_has_kernel_for_dispatch_key("aten::unfold_backward", "PrivateUse1")
    values = torch.randn(5, 4, dtype=torch.float64, device="acme", requires_grad=True)
    assert torch.autograd.gradcheck(lambda tensor: tensor.unfold(*window), values)
    copies = [torch.ones((), device=device, requires_grad=True) for device in ("acme", "cpu")]
    for copy in copies:
        copy.unfold(0, 1, 1).sum().backward()
    assert copies[0].grad.tolist() == copies[1].grad.tolist() == 1


def test_views_never_fall_back() -> None:
    """A view operator without a kernel is an error, because the CPU's result would not share memory."""
    library = torch.library.Library("acme_test", "FRAGMENT")
    library.define("half(Tensor(a) self) -> Tensor(a)")
    library.impl("half", lambda tensor: tensor[::2], "CPU")
    with pytest.raises(RuntimeError, match="appears to be a view operator, but it has no implementation"):
        torch.ops.acme_test.half(torch.ones(4, device="acme"))
