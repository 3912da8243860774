"""The engine by which kernels are judged. It imports PyTorch and nothing of Opwright.

Generated tests contain it, so that they run alone. Another program executes the text: what one finds, the other finds.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import torch
from torch.utils._pytree import tree_flatten, tree_map_only


class Call(NamedTuple):
    """The arguments of a call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def call(*args: Any, **kwargs: Any) -> Call:
    """The arguments of a sample."""
    return Call(args, kwargs)


def generated(path: str, seed: int) -> Call:
    """The arguments that a function of the author's gives for a seed: a tuple, or a tuple and a mapping."""
    module, _, name = path.partition(":")
    arguments = getattr(import_module(module), name)(seed)
    is_pair = len(arguments) == 2 and isinstance(arguments[0], tuple) and isinstance(arguments[1], dict)
    return Call(*arguments) if is_pair else Call(tuple(arguments), {})


def cast(dtype: torch.dtype | None, tensor: torch.Tensor) -> torch.Tensor:
    """The tensor with another dtype, if there is one and it has floating-point numbers."""
    return tensor.to(dtype) if dtype is not None and tensor.is_floating_point() else tensor


def integers(
    shape: tuple[int, ...],
    ranges: Sequence[tuple[int, int]],
    dtype: torch.dtype,
    order: str = "",
    first: int | None = None,
    last: int | None = None,
) -> torch.Tensor:
    """Integers in some ranges with both ends. Rows are in an order, and the first and the last number may be known."""
    row = shape[-1] if shape else 1
    count, sizes = math.prod(shape), [high - low + 1 for low, high in ranges]
    if order in ("increasing", "distinct") and count:
        # Places among all numbers, of which no row has one twice.
        total = sum(sizes)
        most = min(total, row + 4096)
        places = torch.stack([torch.randperm(most)[:row] * (total // most) for _ in range(count // row)]).reshape(shape)
    else:
        chosen = torch.randint(0, len(ranges), shape)
        starts, widths = torch.tensor([0, *sizes[:-1]]).cumsum(0), torch.tensor(sizes)
        places = starts[chosen] + (torch.rand(shape, dtype=torch.float64) * widths[chosen]).long()
    values = torch.empty(shape, dtype=torch.int64)
    start = 0
    for (low, _), size in zip(ranges, sizes):
        values = torch.where((places >= start) & (places < start + size), places - start + low, values)
        start += size
    values = values.sort(-1).values if order in ("ascending", "increasing") and shape else values
    if first is not None:
        values[..., 0] = first
    if last is not None:
        values[..., -1] = last
    return values.to(dtype)


def in_double(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor in double precision, if it has floating-point or complex numbers."""
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64) if has_digits(tensor) else tensor


def has_digits(tensor: torch.Tensor) -> bool:
    """Whether a tensor has numbers that are rounded."""
    return tensor.is_floating_point() or tensor.is_complex()


def nudged(generator: torch.Generator, tensor: torch.Tensor) -> torch.Tensor:
    """The tensor with other last digits."""
    if not has_digits(tensor) or not tensor.numel():
        return tensor
    digits = torch.randint(-8, 9, tensor.shape, generator=generator, device="cpu").to(tensor.device)
    changed = tensor * (1 + digits * torch.finfo(tensor.dtype).eps)
    return torch.where(tensor.abs() < torch.inf, changed, tensor).to(tensor.dtype)


def spread(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor with memory between the elements of its last dimension."""
    return tensor.repeat_interleave(2, -1)[..., ::2] if tensor.dim() else tensor


def swapped(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor with the strides of a transposed one."""
    return tensor.transpose(0, -1).contiguous().transpose(0, -1) if tensor.dim() else tensor


def with_gaps(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor with memory between its rows, such as a part of the columns of a wider one."""
    return torch.cat([tensor, tensor], -1)[..., : tensor.shape[-1]] if tensor.dim() else tensor


def exchanged(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor with the strides of one whose dimensions before the last are in another order."""
    return tensor.transpose(0, -2).contiguous().transpose(0, -2) if tensor.dim() > 2 else tensor


#: The changes of strides that operators have to take or refuse.
LAYOUTS = (spread, swapped, with_gaps, exchanged)


#: Kinds of values of floating-point numbers.
KINDS = ("signs", "mixed", "small", "large", "ties", "nan", "infinite")


def with_values(kind: str, generator: torch.Generator, tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of the same sizes with values of a kind, if it has floating-point numbers."""
    if not tensor.is_floating_point() or not tensor.numel():
        return tensor
    digits = torch.finfo(tensor.dtype)
    values = torch.randn(tensor.shape, generator=generator, dtype=torch.float64, device="cpu")
    if kind == "mixed":
        values *= 2 ** (16 * torch.rand(tensor.shape, generator=generator, dtype=torch.float64, device="cpu") - 8)
    elif kind == "small":
        values *= 4 * digits.smallest_normal
    elif kind == "large":
        values *= digits.max**0.25
    elif kind == "ties":
        values = (4 * values).round() / 2
    elif kind in ("nan", "infinite"):
        place = int(torch.randint(tensor.numel(), (1,), generator=generator, device="cpu"))
        values.view(-1)[place] = math.nan if kind == "nan" else math.copysign(math.inf, values.view(-1)[place])
    return values.to(tensor.dtype).to(tensor.device)


class Truth(NamedTuple):
    """What a function computes exactly, what it computes in the precision of the arguments, and its errors there.

    `reach` is how many elements of arguments may have been added up for one of a result.
    """

    exact: list[torch.Tensor]
    rounded: list[torch.Tensor]
    errors: list[torch.Tensor]
    reach: int


def distances(results: Sequence[torch.Tensor], exact: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """How far the numbers of tensors are from exact ones; 0 where that is no number."""
    return [(in_double(value) - in_double(wanted)).abs().nan_to_num(0, 0, 0) for value, wanted in zip(results, exact)]


def truth_of(function: Callable[[Call], list[torch.Tensor]], call: Call) -> Truth:
    """The truth about a call, by a function of PyTorch's operators in double precision, on the arguments as they are.

    The errors are the largest ones of the function in the precision of the arguments, for these and for some arguments
    with other last digits. For double precision they are those of single precision, with as many digits more.
    """
    tensors = [leaf for leaf in tree_flatten(call)[0] if isinstance(leaf, torch.Tensor)]
    rounded = function(call)
    try:
        exact = function(tree_map_only(torch.Tensor, in_double, call))
    except Exception:  # The function computes in some dtypes alone.
        exact = rounded
    is_double = any(tensor.dtype in (torch.float64, torch.complex128) for tensor in tensors)
    plain = tree_map_only(torch.Tensor, partial(cast, torch.float32), call) if is_double else call
    scale = torch.finfo(torch.float64).eps / torch.finfo(torch.float32).eps if is_double else 1.0
    errors = distances(rounded, exact)
    generators = [torch.Generator().manual_seed(seed) for seed in (1, 2, 3)] if any(map(has_digits, tensors)) else []
    others = [tree_map_only(torch.Tensor, partial(nudged, generator), plain) for generator in generators]
    for other in [plain, *others] if is_double else others:
        with suppress(Exception):
            values = distances(function(other), function(tree_map_only(torch.Tensor, in_double, other)))
            if [value.shape for value in values] == [error.shape for error in errors]:
                errors = [error.maximum(value * scale) for error, value in zip(errors, values)]
    sizes = [size for tensor in tensors for size in tensor.shape]
    elements = max((tensor.numel() for tensor in tensors), default=0)
    results = min((value.numel() for value in exact if value.numel()), default=1)
    return Truth(exact, rounded, errors, max([1, elements // results, *sizes]))


def norm(tensor: torch.Tensor) -> torch.Tensor:
    """The root of the mean of the squares of a tensor's numbers."""
    squares = tensor.abs().square()
    return squares.mean().sqrt() if tensor.numel() else tensor.new_zeros([])


def allowed_distance(
    exact: torch.Tensor, error: torch.Tensor, dtype: torch.dtype, reach: int, tolerance: float
) -> torch.Tensor:
    """How far each number of a dtype may be from the exact one: some times the errors of the reference, and some units.

    Sums in another order, one number after the other, err more than PyTorch's by the root of how many there are. What
    is allowed depends on the size of the result alone: where all results are small, so are the distances.
    """
    digits, steps = torch.finfo(dtype), math.sqrt(reach)
    unit = digits.eps * exact.abs().nan_to_num(0, 0, 0)
    units = 2.0 if dtype in (torch.float16, torch.bfloat16) else 8 + 2 * steps
    return (
        (4 + steps / 2) * (error + norm(error))
        + units * unit
        + tolerance * (exact.abs().nan_to_num(0, 0, 0) + norm(exact.nan_to_num(0, 0, 0)))
        + digits.smallest_normal * digits.eps
    )


def wrong_elements(
    value: torch.Tensor, place: int, truth: Truth, tolerance: float
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Which numbers of a result are wrong, and how far each may be from the truth; None for integers."""
    exact, rounded, error = (part[place] for part in truth[:3])
    if not has_digits(value):
        # Where a number of another precision has another integer, such as at a tie of rounding, either is right.
        low, high = rounded.minimum(exact.to(rounded.dtype)), rounded.maximum(exact.to(rounded.dtype))
        return (value < low) | (value > high), None
    narrow = exact.to(value.dtype)
    limit = allowed_distance(exact, error, value.dtype, truth.reach, tolerance)
    is_near = (in_double(value) - in_double(exact)).abs() <= limit
    # What is no finite number is the same one, as it is or in the precision of the result. What overflows on the way,
    # and differences of infinite numbers, may be any of these.
    same = (value == narrow) | (value == rounded)
    is_lost = ~value.isfinite() & (exact.isnan() | ~rounded.isfinite())
    is_number = narrow.isfinite() & rounded.isfinite()
    return torch.where(is_number, ~is_near, ~(same | is_lost | (exact.isfinite() & is_near))), limit


def fault_of(results: Sequence[torch.Tensor], truth: Truth, tolerance: float = 0) -> str:
    """What is wrong with results, in a sentence; empty where they are as exact as those of the reference.

    They are compared element by element, up to `tolerance` for each unit.
    """
    if len(results) != len(truth.exact):
        return f"there are {len(results)} results, and {len(truth.exact)} of the reference"
    for place, (value, exact, rounded) in enumerate(zip(results, truth.exact, truth.rounded)):
        if value.shape != exact.shape:
            return f"result {place} has the sizes {list(value.shape)}, not {list(exact.shape)}"
        if value.dtype != rounded.dtype:
            return f"result {place} is of {value.dtype}, not of {rounded.dtype}"
        wrong, limit = wrong_elements(value, place, truth, tolerance)
        if wrong.any():
            where = tuple(wrong.nonzero()[0].tolist())
            right = rounded if limit is None else exact
            text = f"result {place} has {value[where].item()} at {list(where)}, and {right[where].item()} is right"
            text += "" if limit is None else f"; it may be off by {limit[where].item():.3g}"
            return f"{text} ({int(wrong.sum())} of {wrong.numel()} elements are wrong)"
    return ""


def passes_as_zeros(truth: Truth, tolerance: float = 0) -> list[int]:
    """The results that are so small, beside what is allowed, that zeros would pass."""
    small = []
    for place, (exact, rounded) in enumerate(zip(truth.exact, truth.rounded)):
        if has_digits(rounded) and exact.numel() and exact.abs().max() > 0:
            wrong, _ = wrong_elements(torch.zeros_like(rounded), place, truth, tolerance)
            small += [] if wrong.any() else [place]
    return small


def assert_true(results: Sequence[torch.Tensor], truth: Truth, tolerance: float = 0, *, warns: bool = True) -> None:
    """Results are as exact as those of the reference, element by element, up to `tolerance` for each unit."""
    if fault := fault_of(results, truth, tolerance):
        raise AssertionError(fault)
    for place in passes_as_zeros(truth, tolerance) if warns else ():
        warnings.warn(f"result {place} is so small that zeros would pass: choose another sample")
