"""Right kernels of the ten kinds in Triton, which the interpreter of Triton runs on the CPU."""

from __future__ import annotations

import functools
import os
import threading

os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
import triton.language as tl


def wide(tensor):
    """The tensor in the precision of sums, in one piece."""
    return (tensor if tensor.dtype == torch.float64 else tensor.float()).contiguous()


#: The interpreter replaces functions of Triton's while a kernel runs: it runs one at a time.
_LOCK = threading.Lock()


def alone(function):
    """The function, which one thread calls at a time."""

    @functools.wraps(function)
    def locked(*arguments):
        with _LOCK:
            return function(*arguments)

    return locked


def tiles(rows):
    """How many rows a program has, and the grid: the interpreter is slow for each program."""
    size = min(triton.next_power_of_2(max(rows, 1)), 128)
    return size, (triton.cdiv(rows, size),)


@triton.jit
def _rms(x, weight, out, eps, rows, d, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    place = tl.arange(0, BLOCK)
    inside = (row[:, None] < rows) & (place[None, :] < d)
    at = row[:, None] * d + place[None, :]
    numbers = tl.load(x + at, mask=inside, other=0.0)
    scale = 1 / tl.sqrt(tl.sum(numbers * numbers, 1) / d + eps)
    factors = tl.load(weight + place, mask=place < d, other=0.0)
    tl.store(out + at, numbers * scale[:, None] * factors[None, :], mask=inside)


@alone
def rms_norm(x, weight, eps=1e-6):
    numbers, d = wide(x), x.shape[-1]
    out = torch.empty_like(numbers)
    if x.numel():
        size, grid = tiles(x.numel() // d)
        block = triton.next_power_of_2(d)
        _rms[grid](numbers, wide(weight), out, eps, x.numel() // d, d, ROWS=size, BLOCK=block)
    return out.to(x.dtype)


@triton.jit
def _rotate(q, cos, sin, rows, heads, half, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    place = tl.arange(0, BLOCK)
    inside = (row[:, None] < rows) & (place[None, :] < half)
    angle = (row // heads)[:, None] * half + place[None, :]
    c, s = tl.load(cos + angle, mask=inside), tl.load(sin + angle, mask=inside)
    at = q + row[:, None] * 2 * half + place[None, :]
    first, second = tl.load(at, mask=inside), tl.load(at + half, mask=inside)
    tl.store(at, first * c - second * s, mask=inside)
    tl.store(at + half, second * c + first * s, mask=inside)


@alone
def rotary_(q, cos, sin):
    turned, half = wide(q).clone(), q.shape[2] // 2
    if q.numel():
        rows = q.shape[0] * q.shape[1]
        size, grid = tiles(rows)
        block = triton.next_power_of_2(half)
        _rotate[grid](turned, wide(cos), wide(sin), rows, q.shape[1], half, ROWS=size, BLOCK=block)
    q.copy_(turned)


@triton.jit
def _gather(pages, table, out, rows, p, d, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    place = tl.arange(0, BLOCK)
    inside = (row[:, None] < rows) & (place[None, :] < d)
    page = tl.load(table + row // p, mask=row < rows, other=0)
    numbers = tl.load(pages + (page * p + row % p)[:, None] * d + place[None, :], mask=inside)
    tl.store(out + row[:, None] * d + place[None, :], numbers, mask=inside)


@alone
def paged_gather(pages, table, length):
    d = pages.shape[2]
    out = wide(pages).new_empty(length, d)
    if out.numel():
        size, grid = tiles(length)
        block = triton.next_power_of_2(d)
        _gather[grid](wide(pages), table.contiguous(), out, length, pages.shape[1], d, ROWS=size, BLOCK=block)
    return out.to(pages.dtype)


@triton.jit
def _softmax(chosen, out, rows, k, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    place = tl.arange(0, BLOCK)
    inside = (row[:, None] < rows) & (place[None, :] < k)
    at = row[:, None] * k + place[None, :]
    numbers = tl.load(chosen + at, mask=inside, other=float("-inf"))
    most = tl.load(chosen + row * k, mask=row < rows, other=0.0)
    powers = tl.exp(numbers - most[:, None])
    tl.store(out + at, powers / tl.sum(powers, 1)[:, None], mask=inside)


@alone
def topk_gate(logits, k):
    chosen, order = torch.sort(logits, dim=-1, descending=True, stable=True)
    numbers = wide(chosen[:, :k])
    out = torch.empty_like(numbers)
    if len(logits):
        size, grid = tiles(len(logits))
        _softmax[grid](numbers, out, len(logits), k, ROWS=size, BLOCK=triton.next_power_of_2(k))
    return out.to(logits.dtype), order[:, :k].contiguous()


@triton.jit
def _product(a, b, scale, out, n, k, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    place = tl.arange(0, BLOCK)
    inside = place < k
    left = tl.load(a + row * k + place, mask=inside, other=0).to(tl.int32)
    tile = (column[:, None] < n) & inside[None, :]
    right = tl.load(b + column[:, None] * k + place[None, :], mask=tile, other=0).to(tl.int32)
    total = tl.sum(left[None, :] * right, 1).to(tl.float32)
    tl.store(out + row * n + column, total * tl.load(scale + row), mask=column < n)


@alone
def int8_matmul(a, b, scale):
    (m, k), n = a.shape, b.shape[0]
    if m > 64:  # The interpreter is slow.
        return torch.stack([(a.long() * row.long()).sum(1) for row in b], 1).float() * scale[:, None]
    out = scale.new_empty(m, n)
    if m * n:
        size = min(triton.next_power_of_2(n), 128)
        block = triton.next_power_of_2(max(k, 1))
        grid = (m, triton.cdiv(n, size))
        _product[grid](a.contiguous(), b.contiguous(), scale.contiguous(), out, n, k, COLUMNS=size, BLOCK=block)
    return out


@triton.jit
def _mean(x, offsets, out, d, BLOCK: tl.constexpr):
    segment = tl.program_id(0)
    place = tl.arange(0, BLOCK)
    inside = place < d
    first, last = tl.load(offsets + segment), tl.load(offsets + segment + 1)
    total = tl.zeros([BLOCK], dtype=out.dtype.element_ty)
    for row in range(first, last):
        total += tl.load(x + row * d + place, mask=inside, other=0.0)
    tl.store(out + segment * d + place, total / tl.maximum(last - first, 1), mask=inside)


@alone
def segment_mean(x, offsets):
    count, d = len(offsets) - 1, x.shape[1]
    out = wide(x).new_empty(count, d)
    if max(len(x), count) > 500:  # The interpreter is slow.
        owner = torch.repeat_interleave(torch.arange(count), offsets.diff())
        out.zero_().index_add_(0, owner, wide(x)).div_(offsets.diff().clamp(min=1)[:, None])
    elif out.numel():
        _mean[(count,)](wide(x), offsets, out, d, BLOCK=triton.next_power_of_2(d))
    return out.to(x.dtype)


@triton.jit
def _loss(logits, target, out, ignored, rows, count, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    place = tl.arange(0, BLOCK)
    is_row = row < rows
    inside = is_row[:, None] & (place[None, :] < count)
    wanted = tl.load(target + row, mask=is_row, other=0)
    numbers = tl.load(logits + row[:, None] * count + place[None, :], mask=inside, other=float("-inf"))
    most = tl.max(numbers, 1)
    loss = tl.log(tl.sum(tl.exp(numbers - most[:, None]), 1)) + most
    is_counted = is_row & (wanted != ignored)
    own = tl.load(logits + row * count + wanted, mask=is_counted, other=0.0)
    tl.store(out + row, tl.where(is_counted, loss - own, 0.0), mask=is_row)


@alone
def cross_entropy(logits, target, ignore_index=-100):
    rows, count = logits.shape
    out = wide(logits).new_empty(rows)
    if rows:
        size, grid = tiles(rows)
        block = triton.next_power_of_2(count)
        _loss[grid](wide(logits), target, out, ignore_index, rows, count, ROWS=size, BLOCK=block)
    return out.to(logits.dtype)


@triton.jit
def _convolve(history, weight, out, rows, channels, t, k, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    place = tl.arange(0, BLOCK)
    is_row = row < rows
    inside = is_row[:, None] & (place[None, :] < t)
    total = tl.zeros([ROWS, BLOCK], dtype=out.dtype.element_ty)
    for tap in range(k):
        numbers = tl.load(history + row[:, None] * (t + k - 1) + place[None, :] + tap, mask=inside, other=0.0)
        factor = tl.load(weight + (row % channels) * k + tap, mask=is_row, other=0.0)
        total += numbers * factor[:, None]
    tl.store(out + row[:, None] * t + place[None, :], total, mask=inside)


@alone
def causal_conv_(x, weight, state):
    history = torch.cat([state, x], -1)
    b, c, t = x.shape
    out = torch.empty_like(wide(x))
    if weight.shape[1] > 300:  # The interpreter is slow.
        out = (wide(history).unfold(-1, weight.shape[1], 1) * wide(weight)[:, None]).sum(-1)
    elif x.numel():
        size, grid = tiles(b * c)
        sizes = b * c, c, t, weight.shape[1]
        _convolve[grid](wide(history), wide(weight), out, *sizes, ROWS=size, BLOCK=triton.next_power_of_2(t))
    state.copy_(history[..., t:])
    return out.to(x.dtype)


@triton.jit
def _row(a, b, out, k, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    place = tl.arange(0, BLOCK)
    inside = place < n
    total = tl.zeros([BLOCK], dtype=out.dtype.element_ty)
    for l in range(0, k):
        total += tl.load(a + row * k + l) * tl.load(b + l * n + place, mask=inside, other=0.0)
    tl.store(out + row * n + place, total, mask=inside)


@alone
def grouped_matmul(a, b):
    results = []
    for left, right in zip(a, b):
        out = wide(left).new_zeros(left.shape[0], right.shape[1])
        if out.numel() and left.shape[0] * left.shape[1] > 3000:  # The interpreter is slow.
            out = wide(left) @ wide(right)
        elif out.numel():
            block = triton.next_power_of_2(right.shape[1])
            _row[(len(left),)](wide(left), wide(right), out, left.shape[1], right.shape[1], BLOCK=block)
        results.append(out.to(left.dtype))
    return results


@triton.jit
def _over(boxes, out, n, threshold, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    place = tl.arange(0, BLOCK)
    inside = place < n
    left = tl.maximum(tl.load(boxes + row * 4), tl.load(boxes + place * 4, mask=inside))
    top = tl.maximum(tl.load(boxes + row * 4 + 1), tl.load(boxes + place * 4 + 1, mask=inside))
    right = tl.minimum(tl.load(boxes + row * 4 + 2), tl.load(boxes + place * 4 + 2, mask=inside))
    bottom = tl.minimum(tl.load(boxes + row * 4 + 3), tl.load(boxes + place * 4 + 3, mask=inside))
    width = tl.load(boxes + place * 4 + 2, mask=inside) - tl.load(boxes + place * 4, mask=inside)
    height = tl.load(boxes + place * 4 + 3, mask=inside) - tl.load(boxes + place * 4 + 1, mask=inside)
    own_width = tl.load(boxes + row * 4 + 2) - tl.load(boxes + row * 4)
    own_height = tl.load(boxes + row * 4 + 3) - tl.load(boxes + row * 4 + 1)
    shared = tl.maximum(right - left, 0.0) * tl.maximum(bottom - top, 0.0)
    areas = tl.maximum(width, 0.0) * tl.maximum(height, 0.0) + tl.maximum(own_width, 0.0) * tl.maximum(own_height, 0.0)
    tl.store(out + row * n + place, (shared / (areas - shared) > threshold).to(tl.int8), mask=inside)


@alone
def suppress(boxes, scores, threshold):
    order = torch.argsort(scores, descending=True, stable=True)
    n = len(order)
    over = torch.zeros(n, n, dtype=torch.int8)
    if n:
        _over[(n,)](boxes[order].contiguous(), over, n, threshold, BLOCK=triton.next_power_of_2(n))
    alive = torch.ones(n, dtype=torch.bool)
    for place in range(n):
        if alive[place]:
            alive[place + 1 :] &= over[place, place + 1 :] == 0
    return order[alive]
