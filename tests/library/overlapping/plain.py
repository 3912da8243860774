"""The operators of `operators.yaml` as `torch.library.custom_op` makes them, to tell faults of PyTorch from others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

SCHEMAS = {
    "reverse_into": "(Tensor src, Tensor(a!) dst) -> ()",
    "accumulate": "(Tensor(a!) total, Tensor other) -> ()",
    "split_into": "(Tensor src, Tensor(a!) low, Tensor(b!) high) -> ()",
    "spread": "(Tensor? src, Tensor(a!)[] outs) -> ()",
    "rotate": "(Tensor(a!) result, Tensor src) -> ()",
    "negate": "(Tensor(a!) result, Tensor self) -> ()",
    "negate_": "(Tensor(a!) self) -> ()",
    "shift_into": "(Tensor src, Tensor(a!) dst) -> ()",
}


def plain_operators(torch: ModuleType) -> SimpleNamespace:
    """Operators without checks, which write what those of the library write if no arguments overlap."""

    def split_into(src: Tensor, low: Tensor, high: Tensor) -> None:
        low.copy_(src - 1)
        high.copy_(src + 1)

    def accumulate(total: Tensor, other: Tensor) -> None:
        torch.maximum(total, other, out=total)
        torch.minimum(other, total, out=total)

    def spread(src: Tensor | None, outs: Sequence[Tensor]) -> None:
        for out in outs:
            read = 0 if src is None else src.flatten().roll(-1).view(out.shape)
            out.copy_(torch.arange(out.numel()).view(out.shape) + read)

    kernels: dict[str, Callable[..., object]] = {
        "reverse_into": lambda src, dst: dst.copy_(src.flatten().flip(0).view(dst.shape)),
        "accumulate": accumulate,
        "split_into": split_into,
        "spread": spread,
        "rotate": lambda result, src: result.copy_(src.flatten().roll(1).view(result.shape)),
        "negate": lambda result, self: result.copy_(-self),
        "negate_": lambda self: self.neg_(),
        "shift_into": lambda src, dst: dst.copy_(src + 1),
    }

    def operator(name: str) -> Callable[..., None]:
        def kernel(*arguments: object) -> None:
            kernels[name](*arguments)

        written = [argument.split()[-1] for argument in SCHEMAS[name].split(") -> ")[0].split(", ") if "!" in argument]
        made: Callable[..., None] = torch.library.custom_op(
            f"overlapping_plain::{name}", kernel, mutates_args=written, schema=SCHEMAS[name]
        )
        return made

    operators = SimpleNamespace(**{name: operator(name) for name in SCHEMAS})
    rotate = operators.rotate

    def rotate_out(src: Tensor, *, out: Tensor) -> None:
        rotate(out, src)

    operators.rotate = lambda result, src: rotate(result, src)
    operators.rotate.out = rotate_out
    return operators
