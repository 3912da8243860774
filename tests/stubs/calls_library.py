"""Calls of a library's operators; a wrong one has a remark `error` with what is wrong."""

from __future__ import annotations

import torch
from torch import Tensor

small = torch.ops.small
x = torch.ones(2, 3)

total: Tensor = small.scale.default(x, 2)
total = small.scale.Tensor(x, factor=x)
total = small.scale.out(x, out=x)
total = small.scale(x, 0.5)
total = small.scale_(x)
small.scale.default(x, x)  # error: a number
small.scale(x, "2")  # error: neither number nor tensor
small.scale.out(x, 2.0)  # error: no `out`
small.scle.default(x)  # error: misspelt operator
small.scale.tensor(x, x)  # error: misspelt overload

parts: list[Tensor] = small.stack.default([x], (None, x), 2)
parts = small.stack([x], [x], [1, 2], mode="sum")
small.stack([x], None)  # error: a list
small.stack([x], [], mode=None)  # error: text

mean, variance = small.moments.default(x)
both: tuple[Tensor, Tensor] = small.moments(x)
mean, variance = small.moments.default(x, 1, True)
total = small.moments.default(x)  # error: two tensors

total = small.blank.default([2, small.size_of(x, 0)], dtype=torch.half, device="cpu")
total = small.noise(x, generator=torch.Generator())
small.blank.default(2)  # error: a list without length takes no single value

total = small.pick(x, 1, 2)
total = small.pick(x, 1, text="a")
total = getattr(small.pick, "2d")(x, 1, 2)
total = small.__or__.default(x)
small.pick.Scalar(x, x)  # error: a number

number: int = small.int.default(x, 1, 0.5, True, "b")
number = small.int(x, int=1)
total = small.int.Tensor(x, Tensor=x)
total = small.int.int(x, None, int=[1])
total = small._Tensor.default(x)
total = small.ops(x)
small.int.default(x, 1.5)  # error: a whole number
small.int.int(x, None)  # error: no `int`

nothing = [small.touch.default(x, memory_format=torch.channels_last)]
total = small.add(x, 1)
size: int | torch.SymInt = small.size_of(x, 0)
kind: int = small.kind_of.default(x)
size_in_words: str = small.size_of(x, 0)  # error: a number


def ran_on(stream: torch.Stream) -> bool:
    """A call that gives values of several types."""
    _, _, done = small.run(stream, x)
    small.run(x, x)  # error: a stream
    return bool(done)
