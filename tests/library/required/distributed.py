"""Distributed tensors in one process: a mesh of two by two, of which each tensor has the parts of all ranks."""

from __future__ import annotations

import importlib
import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import TypeAlias

    #: A tensor, a mesh or a placement.
    Value: TypeAlias = Any

_RANKS = 4


def placements(rank: int) -> Iterator[tuple[Value, Value]]:
    """All placements of a tensor of some rank on the mesh."""
    tensors = importlib.import_module("torch.distributed.tensor")
    single = [tensors.Replicate(), tensors.Partial(), *[tensors.Shard(dim) for dim in range(rank)]]
    yield from itertools.product(single, single)


def placed(value: Value, mesh: Value, places: Sequence[Value]) -> Value:
    """A tensor with some placements; each device along a dimension of the mesh has the same part of a sum."""
    tensors = importlib.import_module("torch.distributed.tensor")
    known = [tensors.Replicate() if place.is_partial() else place for place in places]
    # The sum is a tensor with a value for each device, which the one that all begin with is not.
    zero = importlib.import_module("torch").zeros((), dtype=value.dtype)
    local = tensors.distribute_tensor(value + zero, mesh, known).to_local()
    parts = 2 ** sum(place.is_partial() for place in places)
    return tensors.DTensor.from_local(local / parts, mesh, places, shape=value.shape, stride=value.stride())


def wrong_results(
    torch: ModuleType, run: Callable[..., Value], arguments: Sequence[Value], count: int | None = None
) -> tuple[int, list[str]]:
    """How many placements of tensors there are, and those of wrong results or gradients, or of a result on all ranks
    though the first tensor has parts outside of its last dimension. With a count, so many random ones.
    """
    distributed = importlib.import_module("torch.distributed")
    local = importlib.import_module("torch.distributed._local_tensor")
    tensors = importlib.import_module("torch.distributed.tensor")
    store = importlib.import_module("torch.testing._internal.distributed.fake_pg").FakeStore()
    plain = [argument.detach().requires_grad_() for argument in arguments]
    expected = run(*plain)
    direction = torch.arange(expected.numel(), dtype=expected.dtype).reshape(expected.shape) + 1
    gradients = torch.autograd.grad(expected, plain, direction)
    wrong, tried = [], 0
    distributed.init_process_group("fake", rank=0, world_size=_RANKS, store=store)
    try:
        with local.LocalTensorMode(_RANKS):
            mesh = distributed.device_mesh.init_device_mesh("cpu", (2, 2))
            cases = list(itertools.product(*[list(placements(argument.dim())) for argument in arguments]))
            for chosen in cases if count is None else random.Random(0).sample(cases, count):
                tried += 1
                given = [
                    placed(argument.detach(), mesh, places).requires_grad_()
                    for argument, places in zip(arguments, chosen, strict=True)
                ]
                case: Value = ()
                try:
                    result = run(*given)
                    inner = arguments[0].dim() - 1
                    is_split = any(place.is_shard() and place.dim < inner for place in chosen[0])
                    if (
                        count is None
                        and is_split
                        and not any(place.is_partial() for places in chosen for place in places)
                    ):
                        assert any(place.is_shard() for place in result.placements), "the result has no parts"
                    known = [tensors.Replicate() if place.is_partial() else place for place in result.placements]
                    seed = tensors.distribute_tensor(direction, mesh, known)
                    values = (result, *torch.autograd.grad(result, given, seed))
                    for number, (value, wanted) in enumerate(zip(values, (expected, *gradients), strict=True)):
                        case = number, value.placements
                        whole = value.full_tensor()
                        parts = whole.reconcile() if hasattr(whole, "reconcile") else whole
                        torch.testing.assert_close(parts, wanted.detach())
                except Exception as error:
                    wrong.append(f"{chosen} {case}: {error}")
    finally:
        distributed.destroy_process_group()
    return tried, wrong


def placements_of_results(
    run: Callable[..., Value], arguments: Sequence[Value], cases: dict[str, Sequence[Value]]
) -> dict[str, list[Value]]:
    """The placements of the results on a mesh of one dimension, for those of the arguments."""
    distributed_package = importlib.import_module("torch.distributed")
    local = importlib.import_module("torch.distributed._local_tensor")
    store = importlib.import_module("torch.testing._internal.distributed.fake_pg").FakeStore()
    distributed_package.init_process_group("fake", rank=0, world_size=2, store=store)
    try:
        with local.LocalTensorMode(2):
            mesh = distributed_package.device_mesh.init_device_mesh("cpu", (2,))
            return {
                name: [
                    result.placements[0]
                    for result in run(
                        *[placed(value, mesh, [place]) for value, place in zip(arguments, places, strict=True)]
                    )
                ]
                for name, places in cases.items()
            }
    finally:
        distributed_package.destroy_process_group()
