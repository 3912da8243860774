"""Programs drawn at random: views of two tensors, and calls of operators that write to them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from torch import Tensor

    Program: TypeAlias = Callable[[Tensor, Tensor], "Tensor"]
    Make: TypeAlias = Callable[[Sequence[Tensor]], Tensor]

#: How many elements each of the two tensors of a program has.
SIZE = 24


def _view(draw: random.Random, count: int) -> Make:
    """Makes another tensor of two times three elements from what the program has: the two that it gets, and views."""
    base = draw.randrange(2)
    start = draw.randrange(SIZE - 5)
    step = draw.randint(1, 4)
    first = draw.randrange(SIZE - 5 * step)
    row, column = draw.randrange(4), draw.randrange(3)
    makes: dict[str, Make] = {
        "slice": lambda have: have[base][start : start + 6].view(2, 3),
        "steps": lambda have: have[base][first : first + 5 * step + 1 : step].view(2, 3),
        "column": lambda have: have[base].view(6, 4)[:, row].view(2, 3),
        "block": lambda have: have[base].view(4, 6)[column : column + 2, row : row + 3],
        "transposed": lambda have: have[base].view(6, 4)[row : row + 3, column : column + 2].t(),
        "expanded": lambda have: have[base][row : row + 1].expand(2, 3),
        "windows": lambda have: have[base][start : start + 4].unfold(0, 3, 1),
    }
    weights = [4, 4, 4, 4, 4, 1, 1]
    if count > 2:
        other = draw.randrange(2, count)
        makes["same"] = lambda have: have[other].view_as(have[other])
        makes["clone"] = lambda have: have[other].clone()
        makes["scaled"] = lambda have: have[other] * 2
        weights += [2, 8, 2]
    return makes[draw.choices(list(makes), weights)[0]]


def _call(
    draw: random.Random, operators: ModuleType | SimpleNamespace, count: int
) -> Callable[[Sequence[Tensor]], None]:
    """Calls an operator with some of the views, `count` of them."""
    a, b, c = (draw.randrange(2, count) for _ in range(3))
    calls: list[Callable[[Sequence[Tensor]], object]] = [
        lambda have: operators.reverse_into(have[a], have[b]),
        lambda have: operators.accumulate(have[a], have[b]),
        lambda have: operators.accumulate(have[a], have[a] * 1),
        lambda have: operators.split_into(have[a], have[b], have[c]),
        lambda have: operators.spread(have[a], [have[b], have[c]]),
        lambda have: operators.spread(None, [have[b], have[c]]),
        lambda have: operators.rotate(have[a], have[b]),
        # Dynamo refuses `out=` that is not contiguous.
        lambda have: operators.rotate.out(have[a].contiguous(), out=have[b].contiguous()),
        lambda have: operators.negate(have[a], have[b]),
        lambda have: operators.negate_(have[a]),
        lambda have: operators.shift_into(have[a], have[b]),
        # PyTorch's operators refuse written tensors with internal overlap in eager mode alone.
        lambda have: have[0].add_(1),
    ]
    call = draw.choice(calls)

    def run(have: Sequence[Tensor]) -> None:
        call(have)

    return run


def program(seed: int, operators: ModuleType | SimpleNamespace) -> Program:
    """The program of a seed: it makes views, and then calls operators that read and write some of them."""
    draw = random.Random(seed)
    views: list[Make] = []
    for count in range(2, draw.randint(5, 8)):
        views.append(_view(draw, count))
    calls = [_call(draw, operators, 2 + len(views)) for _ in range(draw.randint(1, 3))]

    def run(x: Tensor, y: Tensor) -> Tensor:
        have = [x, y]
        for view in views:
            have.append(view(have))
        for call in calls:
            call(have)
        total = x * 2
        for tensor in have[2:]:
            total = total + tensor.sum()
        return total

    return run
