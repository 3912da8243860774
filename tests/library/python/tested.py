"""The operators of `tested.yaml`, written in Python. BROKEN in the environment names what is wrong in them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

BROKEN = os.environ.get("BROKEN", "").split()
if os.environ.get("DEVICE"):
    from tests.backend.checks import load_device

    load_device(os.environ["DEVICE"])

_library = torch.library.Library("acme", "DEF")


def _define(schema: str, kernel: Callable[..., object], *keys: str, tags: Sequence[torch.Tag] = ()) -> None:
    _library.define(schema, tags=tags)
    for key in keys or ("CompositeImplicitAutograd",):
        _library.impl(schema.partition("(")[0], kernel, key)


def _scale(x: Tensor, factor: float = 1.0) -> Tensor:
    return x.detach() * factor if "gradient" in BROKEN else x * factor


def _scale_out(x: Tensor, factor: float = 1.0, *, out: Tensor) -> Tensor:
    return out.copy_(x * factor + ("out" in BROKEN))


def _blend(x: Tensor, other: Tensor, weight: Tensor | None = None) -> tuple[Tensor, Tensor]:
    other = other if weight is None else other * weight
    return torch.minimum(x, other), torch.maximum(x, other)


def _blend_out(x: Tensor, other: Tensor, weight: Tensor | None = None, *, low: Tensor, high: Tensor) -> object:
    first, second = _blend(x, other, weight)
    return low.copy_(first), high.copy_(second)


def _scale_inplace(x: Tensor, factor: float = 1.0) -> Tensor:
    return x.mul_(factor + ("inplace" in BROKEN))


def _total(parts: list[Tensor]) -> Tensor:
    parts = [part.as_strided(part.shape, (1,)) for part in parts] if "strides" in BROKEN else parts
    return sum(parts[1:], parts[0])


def _count(x: Tensor, seen: Tensor) -> None:
    seen.add_(x.numel())


def _total_fake(parts: list[Tensor]) -> Tensor:
    return torch.empty_like(parts[0], dtype=torch.half if "fake" in BROKEN else None)


def _save_count(ctx: object, inputs: tuple[list[Tensor]], output: Tensor) -> None:
    setattr(ctx, "count", len(inputs[0]))  # noqa: B010


def _positive(x: Tensor) -> Tensor:
    return x[x > 0].clone()


def _positive_fake(x: Tensor) -> Tensor:
    return x.new_empty(torch.library.get_ctx().new_dynamic_size())


def _square(x: Tensor) -> Tensor:
    if x.dtype is not torch.float32:
        raise RuntimeError("square takes single precision alone")
    return x * x


def _halve(x: Tensor) -> Tensor:
    if x.dtype not in (torch.float16, torch.bfloat16):
        dtype = str(x.dtype).removeprefix("torch.")
        raise RuntimeError(f"acme::halve: `self` has dtype {dtype}, and has to have dtype float16 or bfloat16")
    return x / 2


def _steps(count: int, *, device: torch.device | None = None, **_: object) -> Tensor:
    return torch.arange(count, device=device).float()


def _noise(x: Tensor, *, generator: torch.Generator | None = None) -> Tensor:
    return x + torch.randn(x.shape, generator=generator)


_OPTIONS = "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
_OUTS = "*, Tensor(a!) low, Tensor(b!) high) -> (Tensor(a!) low, Tensor(b!) high)"
_define("scale(Tensor self, float factor=1.0) -> Tensor", _scale)
_define("scale.out(Tensor self, float factor=1.0, *, Tensor(a!) out) -> Tensor(a!)", _scale_out)
_define("scale_(Tensor(a!) self, float factor=1.0) -> Tensor(a!)", _scale_inplace)
_define("blend(Tensor self, Tensor other, Tensor? weight=None) -> (Tensor low, Tensor high)", _blend)
_define(f"blend.out(Tensor self, Tensor other, Tensor? weight=None, {_OUTS}", _blend_out)
_define("total(Tensor[] parts) -> Tensor", _total, "CPU")
_define("count(Tensor self, Tensor(a!) seen) -> ()", _count, "CPU")
_define(
    "noise(Tensor self, *, Generator? generator=None) -> Tensor",
    _noise,
    "CPU",
    tags=[torch.Tag.nondeterministic_seeded],
)
_define("square(Tensor self) -> Tensor", _square, "PrivateUse1")
_define("halve(Tensor self) -> Tensor", _halve, "CPU", "PrivateUse1")
_define(f"steps(int count, {_OPTIONS}) -> Tensor", _steps, "CPU", "PrivateUse1", "BackendSelect")
_define("positive(Tensor self) -> Tensor", _positive, "CPU")
torch.library.register_fake("acme::positive", _positive_fake, lib=_library)
for _name, _kernel in (("square", _square), ("halve", _halve)):
    torch.library.register_fake(f"acme::{_name}", _kernel, lib=_library)
torch.library.register_fake(
    "acme::steps", lambda count, device=None, **_: torch.empty(count, device=device), lib=_library
)
torch.library.register_fake("acme::total", _total_fake, lib=_library)
torch.library.register_fake("acme::noise", lambda x, **_: torch.empty_like(x), lib=_library)
torch.library.register_fake("acme::count", lambda *_: None, lib=_library)
torch.library.register_autograd(
    "acme::total",
    lambda ctx, grad: [grad for _ in range(ctx.count)],
    setup_context=_save_count,
    lib=_library,
)
torch.library.register_autograd(
    "acme::square",
    lambda ctx, grad: grad * ctx.saved_tensors[0] * (3 if "gradient" in BROKEN else 2),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
    lib=_library,
)
torch.library.register_autograd("acme::halve", lambda ctx, grad: grad / 2, lib=_library)
