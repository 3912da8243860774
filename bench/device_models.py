"""What a step of training costs on the device of a new backend, and what its memory costs.

`python -m bench.device_models acme`, with the built project of `opwright new backend acme` as the current folder or in
PYTHONPATH. It prints the tables of docs/benchmarks.md. Processor time with one thread does not depend on other load.
"""

from __future__ import annotations

import copy
import importlib
import os
import statistics
import subprocess
import sys
import time
from itertools import pairwise
from typing import Any

# Any: mypy does not follow PyTorch here.
torch: Any = importlib.import_module("torch")
nn: Any = torch.nn

STEPS = 3


class Block(nn.Module):  # type: ignore[misc, no-any-unimported]
    """Two convolutions with a path around them."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs),
        )  # fmt: skip
        self.around = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))
        if inputs == outputs:
            self.around = nn.Sequential()

    def forward(self, images: Any) -> Any:  # noqa: ANN401
        """The images after both paths."""
        return (self.inner(images) + self.around(images)).relu()


def resnet18() -> tuple[Any, Any, Any]:
    """The layers of ResNet-18, with images and their classes."""
    widths = (64, 64, 64, 128, 128, 256, 256, 512, 512)
    blocks = [Block(before, after, 1 if before == after else 2) for before, after in pairwise(widths)]
    first = (nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
    network = nn.Sequential(*first, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))
    return network, torch.randn(4, 3, 96, 96), torch.arange(4)


def transformer() -> tuple[Any, Any, Any]:
    """A transformer with 27 million parameters, with words and those that follow."""
    layer = nn.TransformerEncoderLayer(512, 8, 2048, dropout=0.0, batch_first=True)
    network = nn.Sequential(nn.Embedding(2000, 512), nn.TransformerEncoder(layer, 8, enable_nested_tensor=False))
    network.append(nn.Linear(512, 2000)).append(nn.Flatten(0, 1))
    words = torch.arange(256).reshape(4, 64) * 7 % 2000
    return network, words, words.roll(-1, 1).flatten()


def trained(model: tuple[Any, Any, Any], device: str) -> tuple[list[float], Any]:
    """The seconds of each step, and what the network says afterwards."""
    network, inputs, targets = (copy.deepcopy(part).to(device) for part in model)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
    seconds = []
    for _ in range(STEPS):
        start = time.process_time()
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(network(inputs), targets)
        loss.backward()
        optimizer.step()
        loss.item()
        seconds.append(time.process_time() - start)
    with torch.no_grad():
        return seconds, network.eval()(inputs).cpu()


def print_models(device: str) -> None:
    """A row for each model."""
    print("| model | parameters | CPU s | device s | largest difference of results in eval |\n|---|---|---|---|---|")
    for make in (resnet18, transformer):
        torch.manual_seed(0)
        model = make()
        size = sum(parameter.numel() for parameter in model[0].parameters())
        (on_cpu, expected), (on_device, result) = trained(model, "cpu"), trained(model, device)
        difference = (result - expected).abs().max().item() / expected.abs().max().item()
        times = f"{statistics.median(on_cpu):.2f} | {statistics.median(on_device):.2f}"
        print(f"| {make.__name__} | {size / 1e6:.1f} million | {times} | {difference:.1e} |", flush=True)


def print_memory(device: str) -> None:
    """What an addition costs with more and more memory in use."""
    kept: list[Any] = []
    values = torch.ones(1000, device=device)
    for size in (0, 0.5, 1, 2):
        while len(kept) < size * 2:
            kept.append(torch.zeros(1 << 27, device=device))
        times = []
        for _ in range(20):
            start = time.process_time()
            values + values
            times.append(time.process_time() - start)
        print(f"| {size} | {statistics.median(times) * 1e3:.3f} |", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    if sys.argv[2:] == ["memory"]:
        print_memory(sys.argv[1])
    else:
        print_models(sys.argv[1])
        for environment in ({}, {"PROTECT_DEVICE_MEMORY": "1"}):
            print(f"\nwith {environment or 'the defaults'}\n| GB in use | ms of an addition |\n|---|---|", flush=True)
            command = [sys.executable, "-m", "bench.device_models", sys.argv[1], "memory"]
            subprocess.run(command, env={**os.environ, **environment}, check=True)
