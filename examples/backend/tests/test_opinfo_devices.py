"""Operators refuse tensors of several devices where PyTorch does, for all samples of PyTorch's tests.

`pytest -m opinfo` puts each tensor of a sample on another device in turn: on the CPU, and on a second device. PyTorch's
fake tensors, which have devices and no memory, say what is right, whether a kernel runs or the CPU in place of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice, product
from typing import Any

import pytest
import torch
from skips import SKIPS
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
)
from torch.utils._pytree import tree_flatten, tree_map_only, tree_unflatten

pytest.importorskip("expecttest", reason="PyTorch's tests need expecttest")

from torch.testing._internal.common_methods_invocations import op_db

pytestmark = pytest.mark.opinfo

OPERATORS = {f"{op.name}.{op.variant_test_name}".rstrip("."): op for op in op_db if op.dtypes}

# Fake tensors judge these differently from PyTorch's kernels, for these reasons. They also let numbers on the CPU pass
# everywhere, which the wrappers of most kernels refuse.
_CHOICE = "it chooses another kernel for fake tensors, which says nothing of devices"
_COPIES = "it is made of copies and indices, which pass between devices"
REFUSES_MORE: dict[str, str] = {
    "_unsafe_masked_index_put_accumulate": _CHOICE,
    "index_put": "its kernel refuses indices of a second device",
    "native_dropout_backward": _CHOICE,
    **dict.fromkeys(
        ("nn.functional.linear_cross_entropy.chunked", "nn.functional.linear_cross_entropy.chunked_none"), _CHOICE
    ),
    **{f"nn.functional.conv{kind}{number}d": _CHOICE for kind in ("", "_transpose") for number in (1, 2, 3)},
}
REFUSES_LESS: dict[str, str] = {
    "_unsafe_masked_index": _COPIES,
    "as_strided_scatter": _COPIES,
    "select_scatter": _COPIES,
    "nn.functional.bilinear": "it multiplies nothing for an empty batch",
    "linspace.tensor_overload": "it reads its numbers",
    "logspace.tensor_overload": "it reads its numbers",
}

#: How many samples of an operator are judged.
SAMPLES = 3


def moved(arguments: Any) -> Iterator[tuple[torch.Tensor, Callable[[], Any]]]:  # noqa: ANN401
    """Each tensor of some arguments, with a function that makes arguments in which it alone is on another device."""
    leaves, structure = tree_flatten(arguments)
    places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    if len(places) < 2 or any(leaves[place].layout != torch.strided for place in places):
        return
    for other, device in product(places, ("cpu", "acme:1")):

        def make(other: int = other, device: str = device) -> Any:  # noqa: ANN401
            values = [
                "acme:0" if leaf in ("cpu", torch.device("cpu")) else leaf for leaf in map(_unless_tensor, leaves)
            ]
            for place in places:
                values[place] = leaves[place].detach().to(device if place == other else "acme:0").clone()
            return tree_unflatten(values, structure)

        yield leaves[other], make


def _unless_tensor(value: Any) -> Any:  # noqa: ANN401
    return None if isinstance(value, torch.Tensor) else value


def refuses(call: Callable[[], object]) -> bool | None:
    """Whether a call refuses the devices of its tensors; None if it does not get that far."""
    try:
        call()
    except (DynamicOutputShapeException, DataDependentOutputException):
        return None
    except (RuntimeError, ValueError, NotImplementedError, IndexError, TypeError) as error:
        words = ("same device", "device", "should be the same")
        return True if any(word in str(error) for word in words) else None
    return False


@pytest.mark.parametrize("name", OPERATORS)
def test_operator(name: str) -> None:
    """An operator refuses another device for each of its tensors where PyTorch's fake tensors refuse it."""
    op = OPERATORS[name]
    if name.startswith("jiterator_"):
        pytest.skip(SKIPS[name])
    dtype = torch.float32 if torch.float32 in op.dtypes else min(op.dtypes, key=str)
    torch.manual_seed(0)
    judged = 0
    for sample in islice(op.sample_inputs("cpu", dtype, requires_grad=False), SAMPLES):
        for tensor, make in moved(((sample.input, *sample.args), sample.kwargs)):
            arguments, options = make()
            mine = refuses(partial(op.op, *arguments, **options))
            mode = FakeTensorMode()
            arguments, options = tree_map_only(torch.Tensor, mode.from_tensor, make())
            with mode:
                right = refuses(partial(op.op, *arguments, **options))
            if mine is None or right is None or mine == right:
                judged += mine is not None and mine == right
            elif mine:
                assert name in REFUSES_MORE or tensor.dim() == 0, "refused, though fake tensors pass"
            else:
                assert name in REFUSES_LESS, "taken, though fake tensors are refused"
    if not judged:
        pytest.skip("no sample has two tensors whose devices fake tensors judge")
