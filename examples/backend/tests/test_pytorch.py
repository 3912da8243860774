"""What PyTorch builds on operators: gradients, compilation, vmap, export, autocast, profiles."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch.autograd import gradcheck
from torch.profiler import ProfilerActivity, profile


def model() -> torch.nn.Module:
    """A small network."""
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.LazyLinear(8), torch.nn.LayerNorm(8)
    )


def test_training() -> None:
    """A network that is trained on the device has the parameters of one that is trained on the CPU."""
    parameters = []
    for device in ("cpu", "acme"):
        network = model()
        batch = torch.randn(4, 1, 6, 6)
        network(batch)
        network, batch = network.to(device), batch.to(device)
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
        for _ in range(3):
            optimizer.zero_grad()
            network(batch).square().mean().backward()
            optimizer.step()
        assert all(parameter.device.type == device for parameter in network.parameters())
        parameters.append([parameter.detach().cpu() for parameter in network.parameters()])
    torch.testing.assert_close(parameters[1], parameters[0])


def test_gradcheck() -> None:
    """Gradients are those that differences give."""
    left = torch.randn(3, 4, dtype=torch.float64, device="acme", requires_grad=True)
    right = torch.randn(4, 2, dtype=torch.float64, device="acme", requires_grad=True)
    assert gradcheck(lambda left, right: (left @ right).mul(2).tanh().sum(0), (left, right))
    assert gradcheck(torch.mul, (left, right[:, 0]))


def test_forward_mode() -> None:
    """Derivatives are computed forwards too."""
    value = torch.randn(3, device="acme")
    _, tangent = torch.func.jvp(torch.sin, (value,), (torch.ones_like(value),))
    torch.testing.assert_close(tangent, value.cos())


def test_vmap() -> None:
    """Functions of examples work on batches."""
    batch, weight = torch.randn(5, 3, device="acme"), torch.randn(3, 3, device="acme")
    result = torch.vmap(lambda example: (weight @ example).relu())(batch)
    torch.testing.assert_close(result, (batch @ weight.t()).relu())


def test_fake_tensors() -> None:
    """Shapes are computed without memory."""
    with torch._subclasses.FakeTensorMode():
        result = torch.empty(1 << 20, 1 << 20, device="acme").add(1) @ torch.empty(1 << 20, 2, device="acme")
    assert result.shape == (1 << 20, 2)
    assert result.device == torch.device("acme:0")


def test_compile() -> None:
    """Compiled functions give the results and gradients of those that are not compiled."""
    values = torch.randn(3, 4, device="acme", requires_grad=True)

    def function(values: torch.Tensor) -> torch.Tensor:
        halves = values.view(4, 3)[1:] * 2
        return halves.relu_().sum() + torch.ones(2, device=values.device).sum()

    compiled = torch.compile(function, backend="aot_eager", fullgraph=True)
    expected, actual = function(values), compiled(values)
    assert actual.equal(expected)
    (expected,) = torch.autograd.grad(expected, values)
    (actual,) = torch.autograd.grad(actual, values)
    assert actual.equal(expected)


def test_export() -> None:
    """A network on the device is exported and runs."""
    network = model()
    batch = torch.randn(2, 1, 6, 6)
    network(batch)
    network, batch = network.acme().eval(), batch.acme()
    program = torch.export.export(network, (batch,))
    torch.testing.assert_close(program.module()(batch), network(batch))


def test_functionalize() -> None:
    """Writes to views become functions."""

    def function(values: torch.Tensor) -> torch.Tensor:
        values = values.clone()
        values[0].add_(1)
        return values

    values = torch.zeros(2, 2, device="acme")
    assert torch.func.functionalize(function)(values).equal(function(values))


def test_profile(tmp_path: Path) -> None:
    """Operators and memory of the device are in a trace, and the kernels that its hook shows."""
    values = torch.ones(64, 64, device="acme")
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as trace:
        (values @ values).exp_().sin()
    trace.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    names = {event.get("name") for event in events}
    assert {"aten::mm", "aten::exp_", "aten::sin"} <= names
    assert {"acme aten::mm", "acme aten::exp_", "acme aten::_copy_from_and_resize"} <= names
    # The CPU computes the sine.
    assert "acme aten::sin" not in names
    memory = [event["args"] for event in events if event.get("name") == "[memory]"]
    assert any(arguments["Device Type"] == 20 and arguments["Bytes"] == 64 * 64 * 4 for arguments in memory)


def test_profile_of_the_device(tmp_path: Path) -> None:
    """A trace that is asked for the device has its work, with times that count for the operators that started it."""
    values = torch.ones(300, 300, device="acme")
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as trace:
        (values + values).exp_()
        with torch.acme.device(1):
            torch.ones(2, device="acme")
    events = [event for event in trace.events() if event.device_type == torch.autograd.DeviceType.PrivateUse1]
    assert {"acme aten::add.Tensor", "acme aten::exp_"} <= {event.name for event in events}
    assert {event.device_index for event in events} == {0, 1}
    for average in trace.key_averages():
        if average.key in ("aten::add", "aten::exp_"):
            assert 0 < average.device_time_total <= average.cpu_time_total
    assert "Self ACME" in trace.key_averages().table()
    trace.export_chrome_trace(str(tmp_path / "trace.json"))
    written = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [event["name"] for event in written if event.get("cat") == "kernel"].count("acme aten::add.Tensor") == 1
    with profile(activities=[ProfilerActivity.CPU]) as trace:
        values.exp_()
    assert all(event.device_type == torch.autograd.DeviceType.CPU for event in trace.events())


def test_device_times() -> None:
    """The older profiler measures times of the device."""
    values = torch.ones(64, 64, device="acme")
    with torch.autograd.profiler.profile(use_device="acme", use_kineto=False) as trace:
        values @ values
    assert any(event.name == "aten::mm" and event.device_time > 0 for event in trace.function_events)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast(dtype: torch.dtype) -> None:
    """Under autocast, operators compute in the types that their policies say."""
    values = torch.randn(4, 4, device="acme")
    with torch.autocast("acme", dtype=dtype):
        assert torch.is_autocast_enabled("acme")
        product = values @ values
        assert product.dtype == dtype
        assert torch.nn.functional.linear(values, values).dtype == dtype
        assert product.exp().dtype == torch.float32
        assert product.softmax(-1).dtype == torch.float32
        assert torch.addcmul(values, product, product).dtype == torch.float32
        # Operators without a policy compute in the type of their arguments.
        assert (product + 1).dtype == dtype
        assert values.clone().dtype == torch.float32
        with torch.autocast("acme", enabled=False):
            assert (values @ values).dtype == torch.float32
    torch.testing.assert_close(product, (values.to(dtype) @ values.to(dtype)))
    assert (values @ values).dtype == torch.float32


def test_autocast_of_training() -> None:
    """Gradients have the types of the parameters."""
    network = model()
    batch = torch.randn(4, 1, 6, 6)
    network(batch)
    network, batch = network.acme(), batch.acme()
    with torch.autocast("acme", dtype=torch.bfloat16):
        loss = network(batch).square().mean()
    loss.backward()
    gradients = [parameter.grad for parameter in network.parameters()]
    assert all(gradient is not None and gradient.dtype == torch.float32 for gradient in gradients)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_gradient_scaler(dtype: torch.dtype) -> None:
    """Gradients can be scaled for types with few bits."""
    network = torch.nn.Linear(4, 4, device="acme")
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("acme", init_scale=8.0)
    loss = network(torch.ones(2, 4, device="acme")).to(dtype).float().sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    assert network.weight.grad is not None
    assert network.weight.grad.eq(2).all()
