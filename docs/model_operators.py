"""Counts which kernels models need: `python -m docs.model_operators` writes the table of docs/backend-tutorial.md.

Needs PyTorch and the package `transformers`. Small models with random weights run forward, backward, and a step of an
optimizer. A mode of the dispatcher sees the operators that reach a device, after those composed of others.
"""

# PyTorch is not followed, so its classes are Any here; `transformers` need not be installed.
# mypy: disable-error-code="import-not-found, misc, no-any-unimported"

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode

import opwright
from opwright.backends.operator_names import CALLED_BY_COMPOSITES
from tests.conformance.report import table

PAGE = Path(__file__).with_name("backend-tutorial.md")
START, END = "<!-- operators -->\n", "<!-- end -->\n"

#: What small configurations of transformers say, where a model has such a field.
_SMALL: Mapping[str, object] = {
    "vocab_size": 64,
    "hidden_size": 32,
    "d_model": 32,
    "d_kv": 16,
    "d_ff": 64,
    "n_embd": 32,
    "num_hidden_layers": 2,
    "num_layers": 2,
    "n_layer": 2,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "num_heads": 2,
    "n_head": 2,
    "head_dim": 16,
    "intermediate_size": 64,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "image_size": 32,
    "patch_size": 8,
    "pad_token_id": 0,
}
_TEXT = ("Bert", "GPT2", "Llama", "Qwen2", "T5", "DebertaV2", "Mamba")
_IMAGES = ("ViT", "ResNet", "ConvNext", "MobileNetV2", "Segformer")
_SOUND = ("Wav2Vec2",)


class Seen(TorchDispatchMode):
    """Collects the overloads that run."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(
        self,
        func: torch._ops.OpOverload,
        types: Iterable[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        """Note the overload, and run it."""
        if func.namespace == "aten":
            self.names.add(func.name().removeprefix("aten::"))
        return func(*args, **(kwargs or {}))


Model = tuple[torch.nn.Module, Mapping[str, torch.Tensor]]


def transformer(name: str) -> Model:
    """A small model of transformers, and its inputs."""
    import transformers

    config = getattr(transformers, f"{name}Config")()
    for field, value in () if name in _IMAGES else _SMALL.items():
        if hasattr(config, field):
            setattr(config, field, value)
    model = getattr(transformers, f"{name}Model")(config)
    tokens = torch.randint(1, 64, (2, 12))
    if name in _IMAGES:
        size = getattr(config, "image_size", 64)
        return model, {"pixel_values": torch.rand(2, 3, size, size)}
    if name in _SOUND:
        return model, {"input_values": torch.rand(2, 8000)}
    return model, {"input_ids": tokens, **({"decoder_input_ids": tokens} if name == "T5" else {})}


class Recurrent(torch.nn.Module):
    """A language model with an LSTM."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.output = torch.nn.Embedding(64, 32), torch.nn.Linear(32, 64)
        self.lstm = torch.nn.LSTM(32, 32, batch_first=True)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """The loss."""
        return torch.nn.functional.cross_entropy(self.output(self.lstm(self.embedding(tokens))[0]).mT, tokens)


class UNet(torch.nn.Module):
    """A network for segmentation, with transposed convolutions and nearest and bilinear interpolation."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.middle = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.Conv2d(8, 8, 3, padding=1)
        self.up, self.norm = torch.nn.ConvTranspose2d(8, 8, 2, stride=2), torch.nn.GroupNorm(2, 8)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """What each point of the image is."""
        high = torch.nn.functional.silu(self.norm(self.down(image)))
        low = torch.nn.functional.relu(self.middle(torch.nn.functional.max_pool2d(high, 2)))
        smooth = torch.nn.functional.interpolate(low, scale_factor=2.0, mode="bilinear")
        return torch.sigmoid(torch.cat([high, self.up(low), smooth], 1))


MODELS: Mapping[str, Callable[[], Model]] = {
    **{name: lambda name=name: transformer(name) for name in (*_TEXT, *_IMAGES, *_SOUND)},
    "LSTM": lambda: (Recurrent(), {"tokens": torch.randint(0, 64, (2, 12))}),
    "U-Net": lambda: (UNet(), {"image": torch.rand(2, 3, 16, 16)}),
}


def operators(model: torch.nn.Module, inputs: Mapping[str, torch.Tensor]) -> tuple[set[str], set[str]]:
    """The operators of a forward pass, and those of a step of training."""
    forward, training = Seen(), Seen()
    with sdpa_kernel(SDPBackend.MATH), torch.backends.mkldnn.flags(enabled=False):
        with forward, torch.no_grad():
            model.eval()(**inputs)
        model.train()
        optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
        with training:
            loss(model(**inputs)).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
    return forward.names, training.names


def loss(output: torch.Tensor | Mapping[str, torch.Tensor]) -> torch.Tensor:
    """A number from what a model returns."""
    tensor = output if isinstance(output, torch.Tensor) else next(iter(output.values()))
    return tensor.float().square().mean()


def entries() -> Mapping[str, str]:
    """The entry that gives each overload a kernel, for those that a new project leaves to the CPU.

    A structured kernel, of the out overload, serves all overloads of its group. A kernel that calls another operator
    needs no entry; that operator does.
    """
    with tempfile.TemporaryDirectory() as folder:
        run_opwright("new", "backend", "npu", folder)
        report = run_opwright("coverage", "--backend", f"{folder}/npu.yaml", "--torch", "auto", "--format", "json")
    composites = {name for own in CALLED_BY_COMPOSITES.rows for name in own.names}
    rows = [row for row in json.loads(report)["operators"] if row["status"] == "fallback"]
    left = [row["name"] for row in rows if row["name"] not in composites]
    catalog = opwright.load(torch="auto")
    groups = {name: catalog[name].group for name in left}
    return {
        name: f"{group.out.name}" if group is not None and group.structured else name for name, group in groups.items()
    }


def run_opwright(*arguments: str) -> str:
    """What the program prints."""
    command = [sys.executable, "-m", "opwright", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def rows() -> Iterable[tuple[str, str, str]]:
    """The entries, with the numbers of models that need them forward and in training; the most needed first."""
    entry_of = entries()
    forward: Counter[str] = Counter()
    training: Counter[str] = Counter()
    for name, make in MODELS.items():
        torch.manual_seed(0)
        called, trained = operators(*make())
        print(f"{name}: {len(called)} operators forward, {len(trained)} in training", file=sys.stderr)
        forward.update({entry_of[each] for each in called if each in entry_of})
        training.update({entry_of[each] for each in called | trained if each in entry_of})
    for entry in sorted(training, key=lambda each: (-training[each], -forward[each], each)):
        yield f"`{entry}`", str(forward[entry] or "-"), str(training[entry])


def main() -> None:
    """Write the table."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    after = rest.partition(END)[2]
    lines = table(["entry", "forward", "training"], [list(row) for row in rows()])
    PAGE.write_text("".join([before, START, "\n".join(lines), "\n", END, after]), encoding="utf-8")


if __name__ == "__main__":
    main()
