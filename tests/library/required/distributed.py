"""Distributed tensors in one process: a mesh of two by two, of which each tensor has the parts of all ranks."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import TypeAlias

    #: A tensor, a mesh or a placement.
    Value: TypeAlias = Any

_RANKS = 4


def placements(rank: int) -> Iterator[tuple[Value, Value]]:
    """All placements of a tensor of some rank on the mesh, without partial sums."""
    tensors = importlib.import_module("torch.distributed.tensor")
    single = [tensors.Replicate(), *[tensors.Shard(dim) for dim in range(rank)]]
    yield from itertools.product(single, single)


def wrong_results(torch: ModuleType, run: Callable[..., Value], arguments: Sequence[Value]) -> tuple[int, list[str]]:
    """How many placements of tensors there are, and those of wrong results or gradients, or of a result on all ranks
    though the first tensor has parts outside of its last dimension.
    """
    distributed = importlib.import_module("torch.distributed")
    local = importlib.import_module("torch.distributed._local_tensor")
    tensors = importlib.import_module("torch.distributed.tensor")
    store = importlib.import_module("torch.testing._internal.distributed.fake_pg").FakeStore()
    plain = [argument.detach().requires_grad_() for argument in arguments]
    expected = run(*plain)
    direction = torch.arange(expected.numel(), dtype=expected.dtype).reshape(expected.shape) + 1
    gradients = torch.autograd.grad(expected, plain, direction)
    wrong, count = [], 0
    distributed.init_process_group("fake", rank=0, world_size=_RANKS, store=store)
    try:
        with local.LocalTensorMode(_RANKS):
            mesh = distributed.device_mesh.init_device_mesh("cpu", (2, 2))
            for chosen in itertools.product(*[list(placements(argument.dim())) for argument in arguments]):
                count += 1
                given = [
                    tensors.distribute_tensor(argument.detach(), mesh, places).requires_grad_()
                    for argument, places in zip(arguments, chosen, strict=True)
                ]
                try:
                    result = run(*given)
                    inner = arguments[0].dim() - 1
                    if any(place.is_shard() and place.dim < inner for place in chosen[0]):
                        assert any(place.is_shard() for place in result.placements), "the result has no parts"
                    seed = tensors.distribute_tensor(direction, mesh, result.placements)
                    values = (result, *torch.autograd.grad(result, given, seed))
                    for value, wanted in zip(values, (expected, *gradients), strict=True):
                        whole = value.full_tensor()
                        parts = whole.reconcile() if hasattr(whole, "reconcile") else whole
                        torch.testing.assert_close(parts, wanted.detach())
                except Exception as error:
                    wrong.append(f"{chosen}: {error}")
    finally:
        distributed.destroy_process_group()
    return count, wrong
