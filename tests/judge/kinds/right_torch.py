"""Right kernels of the ten kinds with PyTorch's operators, other than the reference's, in single precision."""

from __future__ import annotations

import torch


def wide(tensor):
    """The tensor in the precision of sums."""
    return tensor if tensor.dtype == torch.float64 else tensor.float()


def rms_norm(x, weight, eps=1e-6):
    y = wide(x)
    length = torch.linalg.vector_norm(y, dim=-1, keepdim=True)
    return (y / torch.sqrt(length * length / max(y.shape[-1], 1) + eps) * wide(weight)).to(x.dtype)


def rotary_(q, cos, sin):
    half = q.shape[-1] // 2
    numbers = torch.complex(wide(q[..., :half]).contiguous(), wide(q[..., half:]).contiguous())
    turned = numbers * torch.complex(wide(cos), wide(sin))[:, None]
    q[..., :half] = turned.real
    q[..., half:] = turned.imag


def paged_gather(pages, table, length):
    place = torch.arange(length)
    size = pages.shape[1]
    return pages[table[place // max(size, 1)], place % max(size, 1)]


def topk_gate(logits, k):
    order = torch.argsort(logits, dim=-1, descending=True, stable=True)[:, :k]
    powers = torch.exp(wide(logits.gather(1, order)) - wide(logits).max(1, keepdim=True).values)
    return (powers / powers.sum(1, keepdim=True)).to(logits.dtype), order


def int8_matmul(a, b, scale):
    return torch.einsum("mk,nk->mn", a.int(), b.int()).float() * scale[:, None]


def segment_mean(x, offsets):
    results = x.new_zeros(len(offsets) - 1, x.shape[1])
    for segment, (first, last) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist())):
        if last > first:
            results[segment] = wide(x[first:last]).mean(0).to(x.dtype)
    return results


def cross_entropy(logits, target, ignore_index=-100):
    return torch.nn.functional.cross_entropy(wide(logits), target, ignore_index=ignore_index, reduction="none").to(
        logits.dtype
    )


def causal_conv_(x, weight, state):
    k = weight.shape[1]
    history = torch.cat([state, x], -1)
    result = sum(wide(history[..., tap : tap + x.shape[-1]]) * wide(weight[:, tap, None]) for tap in reversed(range(k)))
    state.copy_(history[..., x.shape[-1] :].clone())
    return result.to(x.dtype)


def grouped_matmul(a, b):
    return [(wide(left) @ wide(right)).to(left.dtype) for left, right in zip(a, b)]


def suppress(boxes, scores, threshold):
    order = torch.argsort(scores, descending=True, stable=True)
    left, top, right, bottom = boxes[order].unbind(1)
    area = (right - left).clamp(min=0) * (bottom - top).clamp(min=0)
    width = (torch.minimum(right[:, None], right) - torch.maximum(left[:, None], left)).clamp(min=0)
    height = (torch.minimum(bottom[:, None], bottom) - torch.maximum(top[:, None], top)).clamp(min=0)
    over = width * height / (area[:, None] + area - width * height) > threshold
    alive = torch.ones(len(order), dtype=torch.bool)
    for place in range(len(order)):
        if alive[place]:
            alive[place + 1 :] &= ~over[place, place + 1 :]
    return order[alive]
