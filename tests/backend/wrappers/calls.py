"""What holds for the kernels of acme.yaml on the device: which code runs around them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch

from tests.backend.checks import calls

DEVICE = "acme:1"


def vector(size: int = 4) -> torch.Tensor:
    """Numbers on the second device; the current device is the first one."""
    tensor = torch.linspace(0.1, 0.9, size).to(DEVICE)
    calls()
    return tensor


def compared(call: Callable[..., Any], *arguments: torch.Tensor) -> list[str]:
    """What ran in a call, whose result is that of the CPU."""
    calls()
    result = call(*arguments)
    ran = calls()
    torch.testing.assert_close(result.cpu(), call(*[argument.cpu() for argument in arguments]))
    return ran


def error_of(call: Callable[..., Any], *arguments: torch.Tensor) -> str:
    """The message of a call that fails."""
    try:
        call(*arguments)
    except RuntimeError as error:
        return str(error)
    raise AssertionError("there is no error")


def has_kernel(operator: str, key: str) -> bool:
    """Whether an operator has a kernel for a key."""
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(operator, key))


def check_guard_of_another_type() -> None:
    """The guard of the file makes the device of the tensor the current one."""
    assert compared(torch.relu, vector()) == ["guard 1", "relu"]


def check_family_in_a_namespace() -> None:
    """The kernel of the out overload is a function, and serves the other overloads."""
    assert compared(torch.abs, vector())[-1] == "abs"
    assert torch.abs(vector(), out=torch.empty(0, device=DEVICE)).shape == (4,)


def check_family_in_a_class_and_hooks() -> None:
    """A kernel in another class, with hooks before and after it."""
    assert compared(torch.logit, vector()) == [
        "guard 1", "enter aten::logit PrivateUse1 1", "logit", "logit. gave a tensor"
    ]  # fmt: skip


def check_hooks_around() -> None:
    """Two hooks around a call: the outer one is a function, the inner one statements that may replace the call."""
    names = ["guard 1", "enter aten::hardswish PrivateUse1 1", "traced wrapper_Acme__hardswish"]
    assert compared(torch.nn.functional.hardswish, vector()) == [*names, "hardswish"]
    torch.ops.acme_test.turn_off(True)
    tensor = vector()
    torch.nn.functional.hardswish(tensor)
    torch.ops.acme_test.turn_off(False)
    assert calls() == names


def check_hook_of_an_operator_without_result() -> None:
    """A hook after an operator that returns nothing gets a placeholder."""
    tensor = vector()
    torch._foreach_lerp_([tensor], [tensor], [0.5])
    assert calls() == ["guard 1", "_foreach_lerp_", "_foreach_lerp_.ScalarList gave nothing"]


def check_hook_of_a_structured_kernel() -> None:
    """Structured wrappers have hooks too."""
    assert compared(torch.sign, vector()) == ["structured", "guard 1", "sign"]


def check_cpu_after_an_error() -> None:
    """If a kernel fails the CPU's one runs, with one warning for each overload; structured ones too."""
    table = vector().reshape(2, 2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for function in (torch.nn.functional.celu, torch.sign, torch.nn.functional.celu):
            assert compared(function, table)[-1] == function.__name__
    messages = [str(warning.message) for warning in caught]
    assert [message.split("`")[1] for message in messages] == ["aten::celu", "aten::sign"]
    assert "failed: celu takes vectors" in messages[0]
    assert compared(torch.nn.functional.celu, vector())[-1] == "celu"
    out = torch.empty(0, device=DEVICE)
    torch.testing.assert_close(torch.sign(table, out=out).cpu(), torch.ones(2, 2))


def check_fallback_of_one_operator() -> None:
    """The operator has a kernel of its own, which is the CPU's on copies."""
    assert has_kernel("aten::nonzero", "PrivateUse1")
    assert compared(torch.nonzero, vector()) == []


def check_fallback_of_the_others() -> None:
    """Operators without an entry run on the CPU, and views are refused instead of copied."""
    assert compared(torch.erfinv, vector()) == []
    assert "view" in error_of(torch.view_as_complex, vector().reshape(2, 2))


def check_initialization_of_the_device() -> None:
    """Functions that make tensors initialize the device before the guard."""
    calls()
    assert torch.eye(2, device=DEVICE).cpu().tolist() == [[1, 0], [0, 1]]
    assert calls() == ["initialize", "guard 1", "eye"]


def check_condition_of_registrations() -> None:
    """Conditions decide what is registered when the library is loaded; the others run on the CPU."""
    assert "nan_to_num" in compared(torch.nan_to_num, vector())
    assert compared(lambda tensor: torch.roll(tensor, 1), vector()) == []


def check_macro_of_registrations() -> None:
    """The macro registers all wrappers, those of other libraries too."""
    registered = torch.ops.acme_test.registered()
    assert {"relu", "sign", "sign.out", "sign_", "unfold", "twice", "nan_to_num.out"} <= {*registered}
    assert "roll" not in registered


def check_devices_are_compared() -> None:
    """Tensors on two devices are refused, unless the entry turns the check off."""
    first, second = torch.ones(2, device="acme:0"), torch.ones(2, device="acme:1")
    assert "Expected all tensors to be on the same device" in error_of(torch.dot, first, second)
    assert torch.vdot(first, second).cpu() == 2


def check_entry_without_a_guard() -> None:
    """The guard of one operator is off."""
    assert compared(torch.trace, vector().reshape(2, 2)) == ["trace"]


def check_inherited_kernels() -> None:
    """Kernels of PyTorch make views of the memory of the device, by entries and by a rule."""
    tensor = vector()
    window = tensor.unfold(0, 2, 2)
    assert window.data_ptr() == tensor.data_ptr()
    numbers = torch.zeros(2, dtype=torch.complex64, device=DEVICE)
    assert torch.view_as_real(numbers).data_ptr() == numbers.data_ptr()
    assert has_kernel("aten::is_set_to", "PrivateUse1")
    assert tensor.is_set_to(tensor)


def check_operator_of_another_library() -> None:
    """A kernel of an operator in another namespace, called with a number in place of a symbol."""
    tensor = vector()
    torch.testing.assert_close(torch.ops.acme_other.twice(tensor, 3).cpu(), tensor.cpu() * 6)
    assert "twice" in calls()


def check_autograd_key() -> None:
    """Kernels for the Autograd key run before those of the device."""
    assert compared(torch.nn.functional.hardtanh, vector())[:2] == ["guard 1", "autograd of hardtanh"]


def check_autocast() -> None:
    """Policies cast arguments, own kernels run, and all other operators pass."""
    torch.acme.get_amp_supported_dtype = lambda: [torch.float16]
    table = vector().reshape(2, 2)
    with torch.autocast("acme", dtype=torch.float16):
        assert torch.mm(table, table).dtype is torch.float16
        assert torch.dot(table[0].half(), table[1].half()).dtype is torch.float32
        assert torch.ops.aten.norm.Scalar(table.half(), 2.0).dtype is torch.float32
        calls()
        assert torch.relu(table).dtype is torch.float32
        assert calls() == ["autocast of relu", "guard 1", "relu"]
        assert (table + table).dtype is torch.float32


def check_other_keys() -> None:
    """Each section registers its kernels under its own key."""
    for operator, key in (
        ("aten::_indices", "Sparse"),
        ("aten::neg", "Sparse"),
        ("aten::values", "SparseCsr"),
        ("aten::q_scale", "Quantized"),
        ("aten::_nested_tensor_size", "NestedTensor"),
    ):
        assert has_kernel(operator, f"{key}PrivateUse1"), operator


def check_functions_without_the_dispatcher() -> None:
    """Functions of the backend's namespace call the wrapper."""
    assert compared(torch.ops.acme_test.direct_relu, vector())[:2] == ["guard 1", "relu"]
