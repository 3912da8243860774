"""Models with tied weights on the device of a new backend and on the CPU: five steps of AdamW, in the ways of users.

`python -m bench.model_steps acme`, with the built project of `opwright new backend acme` in PYTHONPATH, and with
transformers installed. It prints a row for each model, and fails if a loss differs from the CPU's.
"""

from __future__ import annotations

import copy
import importlib
import io
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

# Any: mypy does not follow PyTorch here.
torch: Any = importlib.import_module("torch")
nn: Any = torch.nn

STEPS: Final = 5
#: The largest difference between losses, relative to that of the CPU.
TOLERANCE: Final = 1e-6


def bert(library: Any) -> Any:  # noqa: ANN401
    """An encoder whose words are guessed with the weights of their embedding."""
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
    return library.BertForMaskedLM(library.BertConfig(vocab_size=99, **sizes, **NO_DROPOUT))


def gpt2(library: Any) -> Any:  # noqa: ANN401
    """A decoder, likewise."""
    dropout = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    return library.GPT2LMHeadModel(library.GPT2Config(vocab_size=99, n_embd=64, n_layer=2, n_head=4, **dropout))


def t5(library: Any) -> Any:  # noqa: ANN401
    """An encoder and a decoder with one embedding."""
    sizes = {"d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4, "dropout_rate": 0.0}
    return library.T5ForConditionalGeneration(library.T5Config(vocab_size=99, decoder_start_token_id=0, **sizes))


def mixtral(library: Any) -> Any:  # noqa: ANN401
    """A mixture of experts."""
    sizes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    experts = {"num_key_value_heads": 2, "num_local_experts": 4, "num_experts_per_tok": 2, "tie_word_embeddings": True}
    model = library.MixtralForCausalLM(library.MixtralConfig(vocab_size=99, **sizes, **experts))
    # Others ask devices but the CPU for `histc` of integers, which the CPU does not have.
    model.set_experts_implementation("eager")
    return model


class Residual(nn.Module):  # type: ignore[misc, no-any-unimported]
    """Convolutions of single channels between two of all channels, with a path around them."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(
            nn.Conv2d(channels, 4 * channels, 1, bias=False), nn.BatchNorm2d(4 * channels), nn.ReLU6(),
            nn.Conv2d(4 * channels, 4 * channels, 3, 1, 1, groups=4 * channels, bias=False),
            nn.BatchNorm2d(4 * channels), nn.Hardswish(), nn.Conv2d(4 * channels, channels, 1, bias=False),
        )  # fmt: skip

    def forward(self, images: Any) -> Any:  # noqa: ANN401
        """The images after both paths."""
        return images + self.inner(images)


class Images(nn.Module):  # type: ignore[misc, no-any-unimported]
    """A network for images in the manner of MobileNet, called as the models of transformers are."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(99, 3 * 16 * 16)
        self.layers = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), Residual(8), nn.MaxPool2d(2), Residual(8),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 99),
        )  # fmt: skip

    def forward(self, input_ids: Any, labels: Any) -> Any:  # noqa: ANN401
        """The loss alone."""
        images = self.embedding(input_ids.flatten()).view(-1, 3, 16, 16)
        return (nn.functional.cross_entropy(self.layers(images), labels.flatten()),)


NO_DROPOUT: Final = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
MODELS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "BERT": bert, "GPT-2": gpt2, "T5": t5, "Mixtral": mixtral, "MobileNet": lambda _: Images()
}  # fmt: skip


def losses(model: Any, device: str, *, compiled: bool = False) -> list[float]:  # noqa: ANN401
    """The losses of some steps; the model is on the device, and changes."""
    words = (torch.arange(24).reshape(2, 12) * 7 % 99).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    called, result = torch.compile(model) if compiled else model, []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = called(input_ids=words, labels=words)[0]
        loss.backward()
        optimizer.step()
        result.append(loss.item())
    return result


def moved_late(model: Any, device: str) -> list[float]:  # noqa: ANN401
    """The losses where the optimizer is made before the model moves."""
    words = torch.arange(24).reshape(2, 12) * 7 % 99
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model.to(device)
    result = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = model(input_ids=words.to(device), labels=words.to(device))[0]
        loss.backward()
        optimizer.step()
        result.append(loss.item())
    return result


def reloaded(model: Any, device: str) -> Any:  # noqa: ANN401
    """A model that was saved on a device and is loaded there."""
    stream = io.BytesIO()
    torch.save(model.to(device), stream)
    stream.seek(0)
    return torch.load(stream, weights_only=False)


def ways(model: Any, device: str) -> Iterator[tuple[str, list[float]]]:  # noqa: ANN401
    """The losses of copies of a model in each way, on a device."""
    on_device = copy.deepcopy(model).to(device)
    yield "to", losses(copy.deepcopy(model).to(device), device)
    yield "deepcopy", losses(copy.deepcopy(on_device), device)
    yield "save, load", losses(reloaded(copy.deepcopy(model), device), device)
    state = copy.deepcopy(model).to(device)
    state.load_state_dict(on_device.state_dict())
    yield "state dict", losses(state, device)
    yield "optimizer before `to`", moved_late(copy.deepcopy(model), device)
    yield "compiled", losses(copy.deepcopy(model).to(device), device, compiled=True)


def largest_differences(name: str, device: str) -> dict[str, float]:
    """The largest difference between a loss of each way and the CPU's in eager mode, relative to the CPU's."""
    torch.manual_seed(0)
    model = MODELS[name](importlib.import_module("transformers"))
    expected = losses(copy.deepcopy(model), "cpu")
    tied = len(list(model.parameters()))
    assert len(list(copy.deepcopy(model).to(device).parameters())) == tied, "weights that are tied stay tied"
    return {
        way: max(abs(found - right) / right for found, right in zip(result, expected, strict=True))
        for way, result in ways(model, device)
    }


def main() -> int:
    """Print a table, and give the exit status."""
    device, chosen, worst = sys.argv[1], sys.argv[2:] or list(MODELS), 0.0
    for number, name in enumerate(chosen):
        found = largest_differences(name, device)
        if not number:
            print("| model | " + " | ".join(found) + " |\n|" + " --- |" * (len(found) + 1))
        print(f"| {name} | " + " | ".join([f"{difference:.0e}" for difference in found.values()]) + " |", flush=True)
        worst = max(worst, *found.values())
    return int(worst > TOLERANCE)


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(main())
