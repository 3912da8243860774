"""What holds for the wrappers of acme.yaml on the device: what the code of each plug-in does around the kernels."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from tests.backend.checks import calls

DEVICE = "acme:1"


def vector(size: int = 4) -> torch.Tensor:
    """Numbers on the second device, half of them negative."""
    tensor = torch.linspace(-0.9, 0.9, size).to(DEVICE)
    calls()
    return tensor


def matrix(size: int = 2) -> torch.Tensor:
    """A square matrix on the second device."""
    tensor = torch.linspace(-0.9, 0.9, size * size).reshape(size, size).to(DEVICE)
    calls()
    return tensor


@contextmanager
def switched_on(switch: Callable[[bool], None]) -> Iterator[None]:
    """Turns a switch of the plug-ins on, and off again at the end."""
    switch(True)
    try:
        yield
    finally:
        switch(False)


def error_of(call: Callable[..., object], *arguments: object) -> str:
    """The message of a call that fails."""
    try:
        call(*arguments)
    except RuntimeError as error:
        return str(error)
    raise AssertionError("there is no error")


def check_the_warning_of_a_deprecated_operator() -> None:
    """The warning names the other operator, and comes once: this check runs first."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        matrix().trace()
        matrix().trace()
    warned = "`aten::trace` is deprecated on this device; use `torch.diagonal`"
    assert [warned in str(warning.message) for warning in caught].count(True) == 1


def check_hooks_of_operators() -> None:
    """The hooks see name, arguments and result: a tensor, a written argument, a tuple, and nothing."""
    with switched_on(torch.ops.acme_test.use_hooks):
        tensor = vector()
        result = tensor.relu()
        assert calls() == ["before relu with 1", "relu", "after, 1"]
        assert tensor.relu_() is tensor
        assert calls() == ["before relu_ with 1", "relu_", "after, 1"]
        tensor.mode()
        assert calls()[0] == "before mode with 3"
        torch._foreach_abs_([tensor])
        assert calls() == ["before _foreach_abs_ with 1", "_foreach_abs_", "after, 0"]
        tensor.sign()
        assert calls() == ["before sign with 1", "sign", "after, 1"]
        torch.abs(tensor, out=torch.empty_like(tensor))
        assert calls() == ["before abs.out with 2", "abs", "after, 1"]
    torch.testing.assert_close(result.cpu(), vector().cpu().relu())


def check_the_fast_path() -> None:
    """Without hooks, only the kernel runs."""
    vector().relu()
    assert calls() == ["relu"]


def check_the_guard_of_the_profiler() -> None:
    """The profiler shows the kernels of all operators but those that are not profiled."""
    tensor = vector()
    with torch.profiler.profile() as profile:
        tensor.relu()
        torch.abs(tensor, out=torch.empty_like(tensor))
        tensor.sign()
    names = {event.name for event in profile.events() if event.name.startswith("acme ")}
    assert names == {"acme aten::relu", "acme aten::sign"}, names


def check_unsafe_tensors() -> None:
    """Tensors, lists of tensors and lists of optional tensors are checked while the check is on."""
    large = vector(101)
    large.relu()
    with switched_on(torch.ops.acme_test.check_tensors):
        vector().relu()
        calls()
        assert "aten::relu got an unsafe tensor" in error_of(large.relu)
        assert "aten::_foreach_abs_ got an unsafe tensor" in error_of(torch._foreach_abs_, [large])
        assert "aten::cat got an unsafe tensor" in error_of(torch.cat, [large, vector()])
        first = torch.tensor([0], device=DEVICE)
        calls()
        message = error_of(torch._index_put_impl_, large, [first], vector(1))
        assert "aten::_index_put_impl_ got an unsafe tensor" in message
        assert calls() == []
        torch._index_put_impl_(vector(), [first], vector(1))
        assert calls() == ["_index_put_impl_"]
        torch.cat([vector(), vector()])
        assert calls() == ["cat"]


def check_the_cpu_after_a_failure() -> None:
    """The switch decides whether a failure reaches the user or the CPU's kernel runs; that logs the failure."""
    square = matrix()
    assert "celu takes vectors" in error_of(torch.celu, square)
    os.environ["ACME_FALL_BACK"] = "1"
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = torch.celu(square)
            sign = torch.sign(square)
    finally:
        del os.environ["ACME_FALL_BACK"]
    messages = [str(warning.message) for warning in caught]
    failure = "`aten::celu` runs on the CPU, because its kernel failed: celu takes vectors"
    assert any(failure in text for text in messages)
    assert any("`aten::sign` runs on the CPU" in text for text in messages)
    assert result.device == square.device
    torch.testing.assert_close(result.cpu(), torch.celu(square.cpu()))
    torch.testing.assert_close(sign.cpu(), torch.sign(square.cpu()))


def check_registration_by_the_macro() -> None:
    """All kernels are registered through the template, which traces their calls."""
    tensor = vector()
    with switched_on(torch.ops.acme_test.trace_calls):
        tensor.relu()
        tensor.sign_()
    assert calls() == ["traced relu", "relu", "traced sign_", "sign"]


def check_the_condition_of_registrations() -> None:
    """The operators of matrices are registered unless the variable is set when the library is loaded."""
    test = 'torch._C._dispatch_has_kernel_for_dispatch_key("aten::{}", "PrivateUse1")'
    library = next(path for path in torch.ops.loaded_libraries if "backend" in path)
    program = f"import torch\ntorch.ops.load_library({library!r})\nprint({test.format('mm')}, {test.format('relu')})"
    for value, expected in (("1", "False True"), ("0", "True True")):
        environment = {**os.environ, "ACME_NO_MATMUL": value}
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == expected


def check_the_convention_of_kernels() -> None:
    """Wrappers convert tensors to views and back, and return the argument that a kernel writes to."""
    numbers = torch.linspace(0.1, 0.9, 4)
    tensor = numbers.to(DEVICE)
    calls()
    torch.testing.assert_close(tensor.logit().cpu(), numbers.logit())
    assert tensor.logit_(0.2) is tensor
    assert calls() == ["logit", "logit_"]
    torch.testing.assert_close(tensor.cpu(), numbers.logit(0.2))


def check_the_choice_by_mode() -> None:
    """JIT mode chooses the second library, for kernels of out overloads too."""
    small, square = vector(), matrix()
    with switched_on(torch.ops.acme_test.use_jit):
        small.dot(small)
        square.mm(square)
        assert calls() == ["acl_op dot", "acl_op mm"]
    small.dot(small)
    result = square.mm(square)
    assert calls() == ["op_api dot", "op_api mm"]
    torch.testing.assert_close(result.cpu(), square.cpu().mm(square.cpu()))


def check_the_choice_by_format() -> None:
    """Tensors in internal formats need the second library, unless the first one takes any format."""
    torch.ops.acme_test.use_jit(False)
    large, square = vector(101), matrix(20)
    large.dot(large)
    assert calls() == ["acl_op dot"]
    square.trace()
    assert calls() == ["op_api trace"]


def check_an_operator_in_one_library() -> None:
    """An operator without a kernel of the second library raises where that would run."""
    torch.ops.acme_test.use_jit(False)
    large = vector(101)
    assert "aten::vdot has no kernel for tensors in internal formats" in error_of(large.vdot, large)
    vector().vdot(vector())
    assert calls() == ["op_api vdot"]
