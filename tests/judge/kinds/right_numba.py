"""Right kernels of the ten kinds, compiled by Numba: loops that add in tiles, or backwards."""

from __future__ import annotations

import numba
import numpy
import torch


def wide(tensor):
    """An array in the precision of sums."""
    return (tensor if tensor.dtype == torch.float64 else tensor.float()).numpy()


def narrow(array, like):
    return torch.from_numpy(array).to(like.dtype)


@numba.njit
def _rms(x, weight, eps, out):
    for row in range(x.shape[0]):
        total = x.dtype.type(0)
        for start in range(0, x.shape[1], 16):
            part = x.dtype.type(0)
            for i in range(start, min(start + 16, x.shape[1])):
                part += x[row, i] * x[row, i]
            total += part
        scale = 1 / numpy.sqrt(total / max(x.shape[1], 1) + eps)
        for i in range(x.shape[1]):
            out[row, i] = x[row, i] * scale * weight[i]


def rms_norm(x, weight, eps=1e-6):
    rows = wide(x).reshape(-1, x.shape[-1]) if x.numel() else numpy.empty((0, x.shape[-1]), wide(x).dtype)
    out = numpy.empty_like(rows)
    _rms(rows, wide(weight), rows.dtype.type(eps), out)
    return narrow(out, x).reshape(x.shape)


@numba.njit
def _rotate(q, cos, sin):
    half = q.shape[2] // 2
    for t in range(q.shape[0]):
        for h in range(q.shape[1]):
            for i in range(half):
                first, second = q[t, h, i], q[t, h, i + half]
                q[t, h, i] = first * cos[t, i] - second * sin[t, i]
                q[t, h, i + half] = second * cos[t, i] + first * sin[t, i]


def rotary_(q, cos, sin):
    turned = wide(q).copy()
    _rotate(turned, wide(cos), wide(sin))
    q.copy_(narrow(turned, q))


@numba.njit
def _gather(pages, table, out):
    for row in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[row, i] = pages[table[row // pages.shape[1]], row % pages.shape[1], i]


def paged_gather(pages, table, length):
    out = numpy.empty((length, pages.shape[2]), wide(pages).dtype)
    _gather(wide(pages), table.numpy(), out)
    return narrow(out, pages)


@numba.njit
def _gate(logits, k, weights, experts):
    for row in range(logits.shape[0]):
        taken = numpy.zeros(logits.shape[1], numpy.bool_)
        for place in range(k):
            best = -1
            for e in range(logits.shape[1]):
                value = logits[row, e]
                if not taken[e] and (
                    best < 0 or value > logits[row, best] or (numpy.isnan(value) and not numpy.isnan(logits[row, best]))
                ):
                    best = e
            taken[best] = True
            experts[row, place] = best
        total = weights.dtype.type(0)
        for place in range(k - 1, -1, -1):
            weights[row, place] = numpy.exp(logits[row, experts[row, place]] - logits[row, experts[row, 0]])
            total += weights[row, place]
        for place in range(k):
            weights[row, place] /= total


def topk_gate(logits, k):
    array = wide(logits)
    weights, experts = numpy.empty((len(array), k), array.dtype), numpy.empty((len(array), k), numpy.int64)
    _gate(array, k, weights, experts)
    return narrow(weights, logits), torch.from_numpy(experts)


@numba.njit
def _product(a, b, scale, out):
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            total = numpy.int32(0)
            for l in range(a.shape[1] - 1, -1, -1):
                total += numpy.int32(a[i, l]) * numpy.int32(b[j, l])
            out[i, j] = numpy.float32(total) * scale[i]


def int8_matmul(a, b, scale):
    out = numpy.empty((a.shape[0], b.shape[0]), numpy.float32)
    _product(a.numpy(), b.numpy(), scale.numpy(), out)
    return torch.from_numpy(out)


@numba.njit
def _means(x, offsets, out):
    for s in range(out.shape[0]):
        for i in range(x.shape[1]):
            total = x.dtype.type(0)
            for row in range(offsets[s + 1] - 1, offsets[s] - 1, -1):
                total += x[row, i]
            out[s, i] = total / max(offsets[s + 1] - offsets[s], 1)


def segment_mean(x, offsets):
    array = wide(x)
    out = numpy.empty((len(offsets) - 1, x.shape[1]), array.dtype)
    _means(array, offsets.numpy(), out)
    return narrow(out, x)


@numba.njit
def _losses(logits, target, ignored, out):
    for row in range(logits.shape[0]):
        if target[row] == ignored:
            out[row] = 0
            continue
        # One pass: the sum is scaled when the largest number grows.
        most, total = logits[row, 0], logits.dtype.type(1)
        for i in range(1, logits.shape[1]):
            value = logits[row, i]
            if value > most or numpy.isnan(value):
                total = total * numpy.exp(most - value) + 1
                most = value
            else:
                total += numpy.exp(value - most)
        out[row] = numpy.log(total) + most - logits[row, target[row]]


def cross_entropy(logits, target, ignore_index=-100):
    array = wide(logits)
    out = numpy.empty(len(array), array.dtype)
    _losses(array, target.numpy(), ignore_index, out)
    return narrow(out, logits)


@numba.njit
def _convolve(history, weight, out):
    for b in range(out.shape[0]):
        for c in range(out.shape[1]):
            for t in range(out.shape[2]):
                total = out.dtype.type(0)
                for tap in range(weight.shape[1]):
                    total += history[b, c, t + tap] * weight[c, tap]
                out[b, c, t] = total


def causal_conv_(x, weight, state):
    history = torch.cat([state, x], -1)
    out = numpy.empty(x.shape, wide(x).dtype)
    _convolve(wide(history), wide(weight), out)
    state.copy_(history[..., x.shape[-1] :])
    return narrow(out, x)


@numba.njit
def _tiles(a, b, out):
    out[:] = 0
    for start in range(0, a.shape[1], 8):
        for i in range(a.shape[0]):
            for j in range(b.shape[1]):
                part = out.dtype.type(0)
                for l in range(start, min(start + 8, a.shape[1])):
                    part += a[i, l] * b[l, j]
                out[i, j] += part


def grouped_matmul(a, b):
    results = []
    for left, right in zip(a, b):
        out = numpy.empty((left.shape[0], right.shape[1]), wide(left).dtype)
        _tiles(wide(left), wide(right), out)
        results.append(narrow(out, left))
    return results


@numba.njit
def _keep(boxes, order, threshold, kept):
    count = 0
    for place in order:
        is_over = False
        for other in kept[:count]:
            width = min(boxes[place, 2], boxes[other, 2]) - max(boxes[place, 0], boxes[other, 0])
            height = min(boxes[place, 3], boxes[other, 3]) - max(boxes[place, 1], boxes[other, 1])
            shared = max(width, numpy.float32(0)) * max(height, numpy.float32(0))
            areas = numpy.float32(0)
            for box in (place, other):
                areas += max(boxes[box, 2] - boxes[box, 0], numpy.float32(0)) * max(
                    boxes[box, 3] - boxes[box, 1], numpy.float32(0)
                )
            union = areas - shared
            if union != 0 and shared / union > threshold:
                is_over = True
                break
        if not is_over:
            kept[count] = place
            count += 1
    return count


def suppress(boxes, scores, threshold):
    order = torch.argsort(scores, descending=True, stable=True)
    kept = numpy.empty(len(order), numpy.int64)
    count = _keep(boxes.numpy(), order.numpy(), numpy.float32(threshold), kept)
    return torch.from_numpy(kept[:count].copy())
