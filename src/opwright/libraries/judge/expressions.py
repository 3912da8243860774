"""Python texts that make the tensors of calls: numbers of a kind, which follow from a seed, in a layout."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from opwright.libraries.judge.worker.protocol import JsonMessage


def argument_expression(spec: JsonMessage, layout: str) -> str:
    """The expression of an argument: a number, a tensor in a layout, or a list of tensors."""
    if "value" in spec:
        return repr(spec["value"])
    if "tensors" in spec:
        return f"[{', '.join([argument_expression(item, layout) for item in spec['tensors']])}]"
    return _laid_out(_numbers(spec), spec["shape"], layout)


def _numbers(spec: JsonMessage) -> str:
    """The expression of a tensor with values of a kind, which follow from a seed."""
    shape, kind, dtype = tuple(spec["shape"]), spec["fill"], spec["dtype"]
    count = math.prod(shape)

    def drawn(function: str, more: int = 0) -> str:
        generator = f"generator=torch.Generator().manual_seed({spec['seed'] + more})"
        return f"torch.{function}({shape}, {generator}, dtype=torch.float64)"

    if not count:
        # No range of values has to have some.
        return f"torch.zeros({shape}, dtype=torch.{dtype})"
    if dtype == "bool":
        return f"({drawn('rand')} < 0.5)"
    if "range" in spec:
        low, high = spec["range"]
        if high < low:
            raise ValueError("no value is allowed")
        if dtype.startswith(("int", "uint")):
            generator = f"generator=torch.Generator().manual_seed({spec['seed']})"
            if spec.get("order") in ("increasing", "distinct"):
                if high - low + 1 < count:
                    raise ValueError("there are too few values")
                ordered = ".sort().values" if spec["order"] == "increasing" else ""
                text = f"torch.randperm({high - low + 1}, {generator})[:{count}]{ordered}"
                return f"({text} + {low}).to(torch.{dtype})"
            text = f"torch.randint({low}, {high + 1}, {shape}, {generator})"
        else:
            text = f"({drawn('rand')} * {high - low!r} + {low!r})"
    else:
        text = _NUMBERS.get(kind, "{normal}").format(
            normal=drawn("randn"),
            uniform=drawn("rand", 1),
            shape=shape,
            least=_LEAST.get(dtype, 1e-38) / 4,
            rare=1 - max(1.5 / max(count, 2), 0.03),
            **(_HALF if dtype in ("float16", "bfloat16") else _SINGLE),
        )
    text += _ORDERS.get(spec.get("order", ""), "") if shape else ""
    for place, value in spec.get("fixed", {}).items():
        # A number of the allowed range at both ends leaves what is between in its order.
        text += f".index_fill(-1, torch.tensor({int(place) % shape[-1]}), {value!r})"
    for number, value in enumerate(spec.get("sometimes", ())):
        text += f".masked_fill({drawn('rand', 2 + number)} < {0.25 / len(spec['sometimes'])!r}, {value!r})"
    for place, value in spec.get("poked", {}).items():
        text += f".flatten().index_fill(0, torch.tensor({int(place) % count}), {value!r}).view({shape})"
    return f"{text}.to(torch.{dtype})"


#: The numbers of each kind.
_NUMBERS: Final = {
    "positive": "({uniform} + 0.5)",
    "large": "({normal} * {large})",
    "small": "({normal} * {small})",
    "tiny": "({normal} * {tiny})",
    "denormal": "({normal} * {least!r})",
    "scales": "({normal} * 10 ** (({uniform} - 0.5) * {decades}))",
    "ties": "(({normal} * 4).round() / 2)",
    "constant": "torch.full({shape}, 0.75, dtype=torch.float64)",
    "zeros": "({normal} * 0.0)",
    "nan": "{normal}.masked_fill({uniform} > {rare}, float('nan'))",
    "infinite": "{normal}.masked_fill({uniform} > {rare}, float('inf'))",
}
_SINGLE: Final = {"large": 300.0, "small": 1e-5, "tiny": 1e-12, "decades": 6}
_HALF: Final = {"large": 8.0, "small": 1e-2, "tiny": 1e-4, "decades": 2}
#: The smallest normal number of each dtype.
_LEAST: Final = {"float16": 2.0**-14, "float64": 2.0**-1022}
#: What puts numbers into an order. Those that differ are as many as there are, from the first one on.
_ORDERS: Final = {
    "ascending": ".sort(-1).values",
    "increasing": ".sort(-1).values",
}
#: What makes a tensor of a layout, beside the functions of the engine.
_LAYOUTS: Final = {
    "spread": "{0}.repeat_interleave(2, -1)[..., ::2]",
    "swapped": "{0}.transpose(0, -1).contiguous().transpose(0, -1)",
    "with_gaps": "torch.cat([{0}] * 2, -1)[..., : {1}]",
    "exchanged": "{0}.transpose(0, -2).contiguous().transpose(0, -2)",
    "moved": "torch.cat([torch.ones(3).to({0}), {0}.flatten(), torch.ones(2).to({0})])[3:-2].view({2})",
    "expanded": "{0}[:1].expand({2})",
    "channels_last": "{0}.contiguous(memory_format=torch.channels_last)",
}
#: The least and the largest rank for each.
_RANKS: Final = {"exchanged": (3, 64), "channels_last": (4, 4)}


def _laid_out(text: str, shape: Sequence[int], layout: str) -> str:
    """The expression of a tensor in a layout; in its own one if it has too few dimensions."""
    least, most = _RANKS.get(layout, (1, 64))
    if not layout or not least <= len(shape) <= most or (layout == "expanded" and not shape[0]):
        return text
    return _LAYOUTS[layout].format(text, shape[-1], tuple(shape))
