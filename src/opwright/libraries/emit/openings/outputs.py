"""What declared outputs and requirements are computed with, of traced calls too: tensors, symbols and numbers."""

from __future__ import annotations

import functools as _functools
import operator as _operator

import torch as _torch
import torch._prims_common as _common
from torch._prims_common.wrappers import _maybe_resize_out


def _sizes(shape):
    """The sizes of a tensor, or a list of sizes as it is."""
    return list(shape.shape if isinstance(shape, _torch.Tensor) else shape)


def _fail(where, reason):
    raise RuntimeError(f"{where} cannot be computed: {reason}")


def _bounded(value, where, *parts):
    """An integer, which has at most 64 bits. Symbols stay symbols."""
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        _fail(where, f"{''.join(map(str, parts))} has more than 64 bits")
    return value


def _added(left, right, where):
    return _bounded(left + right, where, left, " + ", right)


def _subtracted(left, right, where):
    return _bounded(left - right, where, left, " - ", right)


def _multiplied(left, right, where):
    return _bounded(left * right, where, left, " * ", right)


def _divided(number, by, where):
    try:
        return _bounded(number // by, where, number, " // ", by)
    except ZeroDivisionError:
        _fail(where, f"{number} // 0 divides by zero")


def _remainder(number, by, where):
    try:
        return number % by
    except ZeroDivisionError:
        _fail(where, f"{number} % 0 divides by zero")


def _negated(number, where):
    return _bounded(-_real(number, where), where, "-(", number, ")")


def _real(number, where):
    """A number that comparisons know."""
    if isinstance(number, complex):
        _fail(where, f"{_shown(number)} is complex")
    if isinstance(number, int) and not -(1 << 63) <= number < 1 << 63:
        _fail(where, "a number has more than 64 bits")
    return number


def _compared(compare, left, right, where):
    numbers = (_real(left, where), _real(right, where))
    for number in numbers:
        if isinstance(number, float) and number != number:
            # PyTorch does not compare symbols with NaN.
            return compare(number, number)
    return compare(*numbers)


def _folded(function, *numbers):
    return _functools.reduce(function, numbers)


def _dimension(dim, rank, where):
    if not -rank <= dim < rank:
        _fail(where, f"dimension {dim} is out of range for a tensor of rank {rank}")
    return dim % rank


def _size(tensor, dim, where):
    return tensor.shape[_dimension(dim, tensor.dim(), where)]


def _item(values, index, where):
    if not -len(values) <= index < len(values):
        _fail(where, f"index {index} is out of range for a list of {len(values)}")
    return values[index]


def _broadcast(where, *shapes):
    """The sizes to which all shapes broadcast."""
    common: list[int] = []
    for sizes in map(_sizes, shapes):
        longer, shorter = (sizes, common) if len(common) < len(sizes) else (common, sizes)
        joined = list(longer)
        for place in range(-1, -len(shorter) - 1, -1):
            size, other = joined[place], shorter[place]
            if _is_one(size):
                joined[place] = other
            elif not _is_one(other) and not _all_equal([(size, other)]):
                _fail(where, f"sizes {_shown(common)} and {_shown(sizes)} do not broadcast")
        common = joined
    return common


def _reduced(shape, dims, keepdim, where):
    """The sizes without some dimensions, or with 1 in their place; of all dimensions if none is named."""
    sizes = _sizes(shape)
    dims = [] if dims is None else [dims] if isinstance(dims, int) else list(dims)
    removed = set() if dims else set(range(len(sizes)))
    for dim in dims:
        # A tensor without dimensions can be reduced over dimension 0.
        place = _dimension(dim, max(len(sizes), 1), where)
        if sizes and place in removed:
            _fail(where, f"dimension {place} is named twice")
        removed.add(place)
    return [1 if index in removed else size for index, size in enumerate(sizes) if keepdim or index not in removed]


def _joined(tensors, dim, where):
    """The sizes of tensors that are joined along a dimension. A tensor of size 0 alone has no say."""
    if not tensors:
        _fail(where, "there are no tensors to join")
    joined = None
    for sizes in map(_sizes, tensors):
        if len(sizes) == 1 and _is_zero(sizes[0]):
            continue
        if joined is None:
            joined = sizes
            continue
        place = _dimension(dim, len(joined), where)
        pairs = [pair for index, pair in enumerate(zip(joined, sizes)) if index != place]
        if len(sizes) != len(joined) or not _all_equal(pairs):
            _fail(where, f"sizes {_shown(joined)} and {_shown(sizes)} do not join")
        joined[place] = _added(joined[place], sizes[place], where)
    joined = _sizes(tensors[0]) if joined is None else joined
    _dimension(dim, len(joined), where)
    return joined


def _dynamic(most, least):
    """A size that depends on the values of tensors, between two limits."""
    context = _torch.library.get_ctx()
    if most is None or isinstance(most, int):
        return context.new_dynamic_size(min=least, max=most)
    size = context.new_dynamic_size(min=least)
    _torch._check(size <= most)
    return size


def _text(*parts):
    """The message of a refused call: texts, and values as Python shows them."""
    return "".join([part if isinstance(part, str) else _shown(part) for part in parts])


def _shown(value):
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, complex):
        return f"({value.real:g}{value.imag:+g}j)"
    return f"{value:g}" if isinstance(value, float) else str(value).removeprefix("torch.")


def _is_power_of_two(number):
    """A trace that asks this of a symbol holds for its size alone."""
    number = int(number)
    return number > 0 and number & (number - 1) == 0


def _is_one_of(dtype, names):
    """Whether a dtype has one of some names, or is in a class of one."""
    quantized = ("qint8", "quint8", "qint32", "quint4x2", "quint2x4")
    name = _shown(dtype)
    classes = {"floating": dtype.is_floating_point, "complex": dtype.is_complex, "quantized": name in quantized}
    is_integral = name.removeprefix("u") in ("int8", "int16", "int32", "int64")
    return name in names or any(holds for each, holds in {**classes, "integral": is_integral}.items() if each in names)


def _inner(tensor, before, after):
    return list(tensor.shape)[before : tensor.dim() - after]


def _all_equal(pairs):
    """Whether the sizes of each pair are equal, which a trace expects of symbols that are unknown."""
    for size, other in pairs:
        equal = size == other
        if not isinstance(equal, bool) and _is_unknown(equal):
            _torch._check(equal)
        elif not equal:
            return False
    return True


def _is_unknown(condition):
    return getattr(condition.node, "hint", None) is None


def _is_one(size):
    return _is_known(size == 1)


def _is_zero(size):
    return _is_known(size == 0)


def _is_known(equal):
    return equal if isinstance(equal, bool) else not _is_unknown(equal) and bool(equal)


def _same_sizes(*sides):
    return _same_list(_inner(*sides[:3]), _inner(*sides[3:]))


def _same_list(sizes, others):
    return len(sizes) == len(others) and _all_equal(zip(sizes, others))


def _broadcasts(*sides):
    sizes, others = _inner(*sides[:3]), _inner(*sides[3:])
    return len(sizes) <= len(others) and _all_equal(
        (size, other) for size, other in zip(reversed(sizes), reversed(others)) if not _is_one(size)
    )


def _broadcasts_together(*sides):
    pairs = zip(reversed(_inner(*sides[:3])), reversed(_inner(*sides[3:])))
    return _all_equal((size, other) for size, other in pairs if not _is_one(size) and not _is_one(other))


def _has_layout(tensor, layout):
    if layout == "last_contiguous":
        # Tensors without elements have any layout; a symbol stands for a size above 1.
        is_empty = any(isinstance(size, int) and size == 0 for size in tensor.shape)
        return is_empty or tensor.dim() == 0 or bool(tensor.stride(-1) == 1) or bool(tensor.shape[-1] == 1)
    if layout in ("contiguous", "aligned"):
        return tensor.is_contiguous()
    format = _torch.channels_last_3d if tensor.dim() == 5 else _torch.channels_last
    return tensor.is_contiguous(memory_format=format)


def _fit(kind, tensor, dtype, device):
    """Checks that a tensor can hold a result."""
    if tensor.dtype != dtype:
        raise RuntimeError(f"Expected {kind} to have dtype {dtype}, but got {tensor.dtype} instead")
    if tensor.device != device:
        raise RuntimeError(f"Expected {kind} to have device {device}, but got {tensor.device} instead")


def _resized(out, size, dtype, device):
    """Checks an out argument, and gives it the sizes of the result."""
    _fit("out tensor", out, dtype, device)
    _maybe_resize_out(out, tuple(size))


def _in_place(tensor, size, dtype, device):
    """Checks an argument that is overwritten with the result."""
    _fit("in-place operand", tensor, dtype, device)
    if list(tensor.shape) != list(size):
        sizes = f"input tensor size {list(tensor.shape)} and output tensor size {list(size)}"
        raise RuntimeError(f"Bad in-place call: {sizes} should match")


def _promoted(where, *values):
    """The dtype to which tensors, lists of tensors, dtypes and numbers promote."""
    flat = [item for value in values for item in (value if isinstance(value, (list, tuple)) else [value])]
    if not flat:
        _fail(where, "there are no values to promote")
    operands = [_torch.empty(1, dtype=item, device="meta") if isinstance(item, _torch.dtype) else item for item in flat]
    kind = _common.ELEMENTWISE_TYPE_PROMOTION_KIND.NO_OPMATH
    return _common.elementwise_dtypes(*operands, type_promotion_kind=kind)[1]
