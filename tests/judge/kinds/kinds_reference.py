"""What the operators of kinds.yaml compute, as functions of PyTorch's operators."""

from __future__ import annotations

import torch


def rms_norm(x, weight, eps=1e-6):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * weight


def rotary(q, cos, sin):
    first, second = q.chunk(2, -1)
    cos, sin = cos[:, None], sin[:, None]
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


def paged_gather(pages, table, length):
    return pages[table].flatten(0, 1)[:length].clone()


def topk_gate(logits, k):
    experts = torch.sort(logits, dim=-1, descending=True, stable=True).indices[:, :k]
    return logits.gather(-1, experts).softmax(-1), experts


def int8_matmul(a, b, scale):
    return (a.double() @ b.double().t()).to(scale.dtype) * scale[:, None]


def segment_mean(x, offsets):
    count = offsets.diff()
    owner = torch.repeat_interleave(torch.arange(len(count)), count)
    sums = x.new_zeros(len(count), x.shape[1]).index_add(0, owner, x)
    return sums / count.clamp(min=1)[:, None].to(x.dtype)


def cross_entropy(logits, target, ignore_index=-100):
    is_counted = target != ignore_index
    place = torch.where(is_counted, target, 0)
    losses = logits.logsumexp(-1) - logits.gather(-1, place[:, None])[:, 0]
    return torch.where(is_counted, losses, 0)


def causal_conv(x, weight, state):
    history = torch.cat([state, x], -1)
    windows = history.unfold(-1, weight.shape[1], 1)
    result = (windows * weight[:, None]).sum(-1)
    return result, history[..., history.shape[-1] - state.shape[-1] :]


def grouped_matmul(a, b):
    return [left @ right for left, right in zip(a, b, strict=True)]


def suppress(boxes, scores, threshold):
    order = torch.sort(scores, descending=True, stable=True).indices
    left, top, right, bottom = boxes.unbind(-1)
    areas = (right - left).clamp(min=0) * (bottom - top).clamp(min=0)
    kept: list[int] = []
    for place in order.tolist():
        others = torch.tensor(kept, dtype=torch.int64)
        width = torch.minimum(right[place], right[others]) - torch.maximum(left[place], left[others])
        height = torch.minimum(bottom[place], bottom[others]) - torch.maximum(top[place], top[others])
        shared = width.clamp(min=0) * height.clamp(min=0)
        if not bool((shared / (areas[place] + areas[others] - shared) > threshold).any()):
            kept.append(place)
    return torch.tensor(kept, dtype=torch.int64)
