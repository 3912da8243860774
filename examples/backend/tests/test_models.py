"""Models: the layers that need more than a kernel for each operator, and training runs with the losses of the CPU."""

from __future__ import annotations

import copy
import io
import subprocess
import sys
from collections.abc import Callable

import pytest
import torch
from torch import nn


class Transformer(nn.Module):
    """A small transformer that guesses the next of eight tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(8, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(16, 8)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """The scores of the next tokens, as cross entropy takes them."""
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], device=tokens.device)
        return self.head(self.encoder(self.embedding(tokens), mask=mask, is_causal=True)).transpose(1, 2)


def cnn() -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    """A small convolutional network, with a batch of images and their classes."""
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(4, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3),
    )  # fmt: skip
    return network, torch.randn(6, 1, 8, 8), torch.arange(6) % 3


def transformer() -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    """A small transformer, with a batch of sequences and their next tokens."""
    torch.manual_seed(0)
    tokens = torch.arange(32).reshape(4, 8) * 3 % 8
    return Transformer(), tokens, tokens.roll(-1, 1)


def losses(
    network: nn.Module, inputs: torch.Tensor, targets: torch.Tensor, device: str, **autocast: torch.dtype
) -> list[float]:
    """The losses of some steps of training on a device."""
    network, inputs, targets = copy.deepcopy(network).to(device), inputs.to(device), targets.to(device)
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.02)
    result = []
    for _ in range(6):
        optimizer.zero_grad()
        with torch.autocast(device, enabled=bool(autocast), **autocast):
            loss = nn.functional.cross_entropy(network(inputs), targets)
        loss.backward()
        optimizer.step()
        result.append(loss.item())
    return result


@pytest.mark.parametrize("make", [cnn, transformer])
def test_training(make: Callable[[], tuple[nn.Module, torch.Tensor, torch.Tensor]]) -> None:
    """The loss of a network that is trained on the device falls as on the CPU."""
    on_cpu, on_device = losses(*make(), "cpu"), losses(*make(), "acme")
    assert on_device[-1] < 0.8 * on_device[0]
    torch.testing.assert_close(on_device, on_cpu, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("make", [cnn, transformer])
def test_training_with_autocast(make: Callable[[], tuple[nn.Module, torch.Tensor, torch.Tensor]]) -> None:
    """With autocast the loss falls about as fast."""
    on_device = losses(*make(), "acme", dtype=torch.bfloat16)
    assert on_device[-1] < 0.8 * on_device[0]
    torch.testing.assert_close(on_device, losses(*make(), "cpu"), rtol=0.1, atol=0.1)


def check(module: nn.Module, inputs: torch.Tensor) -> None:
    """A module has the results and the gradients of the CPU, and leaves the same in its buffers."""
    results = []
    for device in ("cpu", "acme"):
        network, values = copy.deepcopy(module).to(device), inputs.detach().to(device).requires_grad_()
        output = network(values)
        output = output[0] if isinstance(output, tuple) else output
        assert output.device.type == device
        output.square().sum().backward()
        gradients = [values.grad, *[parameter.grad for parameter in network.parameters()]]
        results.append([tensor.detach().cpu() for tensor in (output, *gradients, *network.buffers())])
    torch.testing.assert_close(*results)


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("kind", ["Conv", "ConvTranspose"])
def test_convolutions(kind: str, dimensions: int) -> None:
    """Convolutions of all dimensions, transposed ones too, have the results and gradients of the CPU."""
    layer = getattr(nn, f"{kind}{dimensions}d")
    inputs = torch.randn(2, 4, *[5] * dimensions)
    check(layer(4, 6, 3, stride=2, padding=1, groups=2), inputs)
    check(layer(4, 2, 2, dilation=2, bias=False), inputs)


def test_running_statistics() -> None:
    """Normalization updates its statistics as on the CPU: it writes to arguments that no schema marks as written."""
    check(nn.BatchNorm1d(3), torch.randn(4, 3))
    check(nn.BatchNorm2d(3, momentum=None), torch.randn(4, 3, 2, 2))
    check(nn.InstanceNorm1d(3, track_running_stats=True), torch.randn(4, 3, 5))
    mean, variance = torch.zeros(3), torch.ones(3)
    means, variances = [mean, mean.to("acme")], [variance, variance.to("acme")]
    values = torch.randn(4, 3)
    for mean, variance in zip(means, variances, strict=True):
        torch.batch_norm_update_stats(values.to(mean.device), mean, variance, 0.1)
    torch.testing.assert_close(means[1].cpu(), means[0])
    torch.testing.assert_close(variances[1].cpu(), variances[0])


@pytest.mark.parametrize("layer", [nn.RNN, nn.LSTM, nn.GRU])
def test_recurrent_networks(layer: type[nn.RNNBase]) -> None:
    """Recurrent networks have the results and gradients of the CPU."""
    check(layer(3, 4, 2, batch_first=True, bidirectional=True), torch.randn(2, 5, 3))
    check(layer(3, 4, bias=False), torch.randn(2, 5, 3))


@pytest.mark.parametrize("layer", [nn.LSTMCell, nn.GRUCell])
def test_derivatives_of_cells(layer: type[nn.RNNCellBase]) -> None:
    """The derivatives of cells are those that differences give, the second ones too."""
    cell = layer(3, 2, device="acme", dtype=torch.float64)
    values = torch.randn(2, 3, device="acme", dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(cell, values)
    assert torch.autograd.gradgradcheck(cell, values)


def test_second_derivatives_of_convolutions() -> None:
    """Convolutions are differentiated twice."""
    values = torch.randn(1, 2, 4, 4, device="acme", dtype=torch.float64, requires_grad=True)
    weight = torch.randn(2, 2, 3, 3, device="acme", dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(nn.functional.conv2d, (values, weight))


def test_fallback_warns_once() -> None:
    """The fallback names the operator and the entry to write, once, if the file asks for that."""
    code = (
        "import torch, warnings\n"
        "warnings.simplefilter('always')\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    for _ in range(2): torch.ones(2, device='acme').cosh()\n"
        "print(*[str(warning.message) for warning in caught if 'cosh' in str(warning.message)], sep='|')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.count("`aten::cosh.out` has no kernel for acme") == 1
    assert "`- cosh.out` in `acme.yaml`" in done.stdout


def tied() -> nn.ModuleDict:
    """A model whose output layer has the weight of its embedding."""
    torch.manual_seed(0)
    model = nn.ModuleDict({"embedding": nn.Embedding(5, 4), "head": nn.Linear(4, 5, bias=False)})
    model.head.weight = model.embedding.weight
    return model


def saved(model: nn.ModuleDict) -> nn.ModuleDict:
    """A model that is saved and loaded."""
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


MOVES: dict[str, Callable[[nn.ModuleDict, str], nn.ModuleDict]] = {
    "to": lambda model, device: model.to(device),
    "deepcopy on the device": lambda model, device: copy.deepcopy(model.to(device)),
    "saved on the device": lambda model, device: saved(model.to(device)),
    "saved before": lambda model, device: saved(model).to(device),
    "there and back": lambda model, device: model.to(device).cpu().to(device),
    "another type first": lambda model, device: model.double().to(device).float(),
    "the method of the device": lambda model, device: model if device == "cpu" else model.acme(),
    "data": lambda model, device: with_data(model, device),
}


def with_data(model: nn.ModuleDict, device: str) -> nn.ModuleDict:
    """A model whose parameters get data on another device."""
    for parameter in model.parameters():
        parameter.data = parameter.data.to(device)
    return model


@pytest.mark.parametrize("move", MOVES)
def test_tied_parameters(move: str) -> None:
    """Parameters that two modules share stay one parameter, and train as on the CPU."""
    found = []
    for device in ("cpu", "acme"):
        model = MOVES[move](tied(), device)
        assert model.head.weight is model.embedding.weight
        assert model.head.weight.device.type == device
        assert len(list(model.parameters())) == 1
        optimizer, words = torch.optim.AdamW(model.parameters(), 0.1), torch.arange(5, device=device)
        for _ in range(5):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model.head(model.embedding(words)), words)
            loss.backward()
            optimizer.step()
            found.append(loss.item())
    torch.testing.assert_close(found[5:], found[:5], rtol=0, atol=1e-6)


def test_optimizer_before_the_move() -> None:
    """An optimizer that is made before the model moves trains the model, as its parameters stay the same objects."""
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    parameters = [*model.parameters()]
    model(torch.ones(1, 2)).sum().backward()
    model.to("acme")
    assert all(mine is other for mine, other in zip(parameters, model.parameters(), strict=True))
    assert {parameter.grad.device.type for parameter in parameters} == {"acme"}
    before = model.weight.detach().clone()
    optimizer.step()
    torch.testing.assert_close(model.weight.detach(), before - 0.1)
    model(torch.ones(1, 2, device="acme")).sum().backward()
    assert model.weight.grad.tolist() == [[2, 2]]
    with pytest.raises(RuntimeError, match="incompatible tensor type"):
        model.weight.data = model.weight.data.to("meta")
