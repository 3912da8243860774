"""Operators refuse tensors of several devices where PyTorch does, whether a kernel runs or the CPU in place of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

SAME = "on the same device"

X, HOST = torch.ones(2, 2, device="acme"), torch.ones(2, 2)
SECOND = torch.ones(2, 2, device="acme:1")
PLACES = torch.zeros(2, 2, dtype=torch.int64)
YES = PLACES == 0

NUMBER = torch.tensor(2.0)

REFUSED: dict[str, Callable[[], object]] = {
    "by a kernel": lambda: torch.add(X, HOST),
    "by a kernel, of a second device": lambda: torch.add(X, SECOND),
    "mm": lambda: torch.mm(X, HOST),
    "mm, the first": lambda: torch.mm(HOST, X),
    "mm of a second device": lambda: torch.mm(X, SECOND),
    "mm, out": lambda: torch.mm(X, X, out=HOST.clone()),
    "mm, out of a second device": lambda: torch.mm(X, X, out=SECOND.clone()),
    "addmm": lambda: torch.addmm(HOST, X, X),
    "linear": lambda: torch.nn.functional.linear(X, HOST),
    "linear, bias": lambda: torch.nn.functional.linear(X, X, HOST[0]),
    "gather": lambda: X.gather(0, PLACES),
    "where": lambda: torch.where(YES, X, X),
    "where, values": lambda: torch.where(YES.acme(), X, HOST),
    "list": lambda: torch.cat([X, HOST]),
    "list, the first": lambda: torch.cat([HOST, X]),
    "list of a second device": lambda: torch.stack([X, SECOND]),
    "embedding": lambda: torch.nn.functional.embedding(PLACES, X),
    "convolution": lambda: torch.nn.functional.conv1d(X[None], torch.ones(2, 2, 1)),
    "norm": lambda: torch.nn.functional.layer_norm(X, (2,), HOST[0]),
    "optional": lambda: torch.nn.functional.batch_norm(X, HOST[0], HOST[1]),
    "index": lambda: X[PLACES.to("acme:1")],
    "indexed on the CPU": lambda: HOST[PLACES.acme()],
    "put": lambda: X.clone().index_put_((PLACES[0].acme(),), HOST),
    "in place": lambda: X.clone().atan2_(HOST),
    "number that is written": lambda: torch.atan2(X[0, 0], X[0, 0], out=torch.ones(())),
    "number where the kernel checks": lambda: X.flatten().gather(0, torch.tensor(0)),
    "numbers of the device with the CPU's tensor": lambda: torch.atan2(HOST, X[0, 0]),
    "number that PyTorch does not take": lambda: X.clamp(NUMBER, None),
    "named": lambda: torch.searchsorted(X[0], X[0], sorter=PLACES[0]),
    "loss": lambda: torch.nn.functional.cross_entropy(X, PLACES[0]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    """Tensors of another device are an error that says so."""
    with pytest.raises(RuntimeError, match=SAME):
        REFUSED[name]()


TAKEN: dict[str, tuple[Callable[[], torch.Tensor], list[Any]]] = {
    "number": (lambda: X + NUMBER, [[3, 3], [3, 3]]),
    "number, the first": (lambda: NUMBER - X, [[1, 1], [1, 1]]),
    "number without a kernel": (lambda: torch.maximum(NUMBER, X), [[2, 2], [2, 2]]),
    "number, out": (lambda: torch.pow(X, NUMBER, out=torch.empty_like(X)), [[1, 1], [1, 1]]),
    "number in place": (lambda: X.clone().fmod_(NUMBER), [[1, 1], [1, 1]]),
    "condition": (lambda: torch.where(torch.tensor(True), X, X), [[1, 1], [1, 1]]),
    "choice": (lambda: torch.where(YES.acme(), X, NUMBER), [[1, 1], [1, 1]]),
    "fill": (lambda: X.clone().fill_(NUMBER), [[2, 2], [2, 2]]),
    "masked fill": (lambda: X.masked_fill(YES.acme(), NUMBER), [[2, 2], [2, 2]]),
    "index": (lambda: X[torch.tensor([0])], [[1, 1]]),
    "mask": (lambda: X[YES], [1, 1, 1, 1]),
    "indices that are put": (lambda: X.index_put((torch.tensor([1]),), NUMBER), [[1, 1], [2, 2]]),
    "lists of each device": (lambda: torch._foreach_add([X, X], 1.0)[1], [[2, 2], [2, 2]]),
    "interpolation": (lambda: torch.lerp(X, X, NUMBER), [[1, 1], [1, 1]]),
}


@pytest.mark.parametrize("name", TAKEN)
def test_taken(name: str) -> None:
    """Numbers on the CPU go with tensors of the device, and results are on the device."""
    call, expected = TAKEN[name]
    result = call()
    assert result.device == X.device
    assert result.tolist() == expected


PROMOTED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "number of a program": lambda integers: integers // 2.5,
    "the first": lambda integers: torch.floor_divide(2.5, integers),
    "with one number": lambda integers: torch.floor_divide(2.5, integers[0].half()),
    "that is complex": lambda integers: integers.to_sparse().mul(2j).to_dense(),
    "with a sparse tensor": lambda integers: (integers.to_sparse() * 2.5).to_dense(),
}


@pytest.mark.parametrize("name", PROMOTED)
def test_numbers_give_way(name: str) -> None:
    """A number of a program does not decide how many bits results have."""
    integers = torch.arange(1, 4)
    expected, result = PROMOTED[name](integers), PROMOTED[name](integers.acme())
    assert result.device == X.device
    torch.testing.assert_close(result.cpu(), expected)


def test_lists_on_several_devices() -> None:
    """Operators for lists compute each tensor on its own device."""
    result = torch._foreach_mul([X, SECOND, HOST], 2.0)
    assert [tensor.device for tensor in result] == [X.device, SECOND.device, HOST.device]
