"""Wrong kernels of the ten kinds, as people and programs write them. The name of each says what is wrong."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))
import right_torch as right


def wide(tensor):
    return right.wide(tensor)


def rounded(tensor, dtype=torch.bfloat16):
    """The tensor with the precision of a smaller dtype."""
    return tensor.to(dtype).to(tensor.dtype)


# rms_norm


def rms_norm__without_eps(x, weight, eps=1e-6):
    return right.rms_norm(x, weight, 0.0)


def rms_norm__eps_outside(x, weight, eps=1e-6):
    y = wide(x)
    return (y / (y.square().mean(-1, keepdim=True).sqrt() + eps) * wide(weight)).to(x.dtype)


def rms_norm__whole_tensor(x, weight, eps=1e-6):
    y = wide(x)
    return (y * torch.rsqrt(y.square().mean() + eps) * wide(weight)).to(x.dtype)


def rms_norm__sum(x, weight, eps=1e-6):
    y = wide(x)
    return (y * torch.rsqrt(y.square().sum(-1, keepdim=True) + eps) * wide(weight)).to(x.dtype)


def rms_norm__centred(x, weight, eps=1e-6):
    y = wide(x)
    return right.rms_norm((y - y.mean(-1, keepdim=True)).to(x.dtype), weight, eps)


def rms_norm__unbiased(x, weight, eps=1e-6):
    y = wide(x)
    square = y.square().sum(-1, keepdim=True) / max(y.shape[-1] - 1, 1)
    return (y * torch.rsqrt(square + eps) * wide(weight)).to(x.dtype)


def rms_norm__without_weight(x, weight, eps=1e-6):
    return right.rms_norm(x, torch.ones_like(weight), eps)


def rms_norm__weight_plus_one(x, weight, eps=1e-6):
    return right.rms_norm(x, weight + 1, eps)


def rms_norm__low_precision(x, weight, eps=1e-6):
    return rounded(right.rms_norm(x, weight, eps))


def rms_norm__odd_tail(x, weight, eps=1e-6):
    result = right.rms_norm(x, weight, eps)
    if x.shape[-1] % 2:
        result[..., -1] = 0
    return result


def rms_norm__first_block(x, weight, eps=1e-6):
    y = wide(x)
    square = y[..., :128].square().sum(-1, keepdim=True) / max(y.shape[-1], 1)
    return (y * torch.rsqrt(square + eps) * wide(weight)).to(x.dtype)


def rms_norm__fixed_eps(x, weight, eps=1e-6):
    return right.rms_norm(x, weight, 1e-6)


def rms_norm__in_place(x, weight, eps=1e-6):
    x.copy_(right.rms_norm(x, weight, eps))
    return x.clone()


def rms_norm__single_result(x, weight, eps=1e-6):
    return right.rms_norm(x, weight, eps).float()


def rms_norm__few_digits(x, weight, eps=1e-6):
    return right.rms_norm(x, weight, eps) * (1 + 1e-3)


# rotary_


def rotary___pairs(q, cos, sin):
    first, second = q[..., 0::2].clone(), q[..., 1::2].clone()
    q[..., 0::2] = first * cos[:, None] - second * sin[:, None]
    q[..., 1::2] = second * cos[:, None] + first * sin[:, None]


def rotary___sign(q, cos, sin):
    right.rotary_(q, cos, -sin)


def rotary___first_head(q, cos, sin):
    right.rotary_(q[:, :1], cos, sin)


def rotary___all_but_last(q, cos, sin):
    right.rotary_(q[:-1], cos[:-1], sin[:-1])


def rotary___sequential(q, cos, sin):
    half = q.shape[-1] // 2
    first, second = q[..., :half], q[..., half:]
    first.copy_(first * cos[:, None] - second * sin[:, None])
    second.copy_(second * cos[:, None] + first * sin[:, None])


def rotary___cos_twice(q, cos, sin):
    right.rotary_(q, cos, cos)


def rotary___copy(q, cos, sin):
    right.rotary_(q.contiguous(), cos, sin)


def rotary___low_precision(q, cos, sin):
    right.rotary_(q, cos, sin)
    q.copy_(rounded(q))


def rotary___not_written(q, cos, sin):
    right.rotary_(q.clone(), cos, sin)


def rotary___twice(q, cos, sin):
    right.rotary_(q, cos, sin)
    right.rotary_(q, cos, sin)


def rotary___first_angle(q, cos, sin):
    right.rotary_(q, cos[:1].expand(cos.shape), sin[:1].expand(sin.shape))


def rotary___normalized(q, cos, sin):
    length = torch.sqrt(wide(cos).square() + wide(sin).square())
    right.rotary_(q, (wide(cos) / length).to(q.dtype), (wide(sin) / length).to(q.dtype))


def rotary___beyond(q, cos, sin):
    right.rotary_(q, cos, sin)
    whole = torch.empty(0, dtype=q.dtype).set_(q.untyped_storage())
    if len(whole) > q.numel():
        keep = q.clone()
        whole.zero_()
        q.copy_(keep)


def rotary___few_heads(q, cos, sin):
    right.rotary_(q[:, :16], cos, sin)


def rotary___off(q, cos, sin):
    right.rotary_(q, (wide(cos) * 1.003).to(q.dtype), sin)


# paged_gather


def paged_gather__clamped(pages, table, length):
    return right.paged_gather(pages, table.clamp(max=2), length)


def paged_gather__next_page(pages, table, length):
    return right.paged_gather(pages, (table + 1) % max(len(pages), 1), length)


def paged_gather__zero_tail(pages, table, length):
    result = right.paged_gather(pages, table, length)
    result[-1:] = 0
    return result


def paged_gather__whole_pages(pages, table, length):
    return pages[table].flatten(0, 1)


def paged_gather__view(pages, table, length):
    return pages[table[0]][:length] if len(table) == 1 else right.paged_gather(pages, table, length)


def paged_gather__first_page(pages, table, length):
    return right.paged_gather(pages, table[:1].expand(len(table)), length)


def paged_gather__sorted(pages, table, length):
    return right.paged_gather(pages, table.sort().values, length)


def paged_gather__reversed(pages, table, length):
    return right.paged_gather(pages.flip(1), table, length)


def paged_gather__halves(pages, table, length):
    return rounded(right.paged_gather(pages, table, length), torch.float16)


def paged_gather__without_nan(pages, table, length):
    return torch.nan_to_num(right.paged_gather(pages, table, length), 0.0)


def paged_gather__single(pages, table, length):
    return right.paged_gather(pages, table, length).float()


def paged_gather__some_row(pages, table, length):
    return right.paged_gather(pages, table, max(length, 1))


def paged_gather__in_order(pages, table, length):
    return pages.flatten(0, 1)[:length].clone()


def paged_gather__transposed(pages, table, length):
    taken = right.paged_gather(pages, table, length)
    return taken.flip(-1)


def paged_gather__flat(pages, table, length):
    memory = torch.empty(0, dtype=pages.dtype).set_(pages.untyped_storage())
    size = pages.shape[1] * pages.shape[2]
    first = pages.storage_offset()
    rows = [memory[first + page * size : first + (page + 1) * size] for page in table.tolist()]
    if any(len(row) < size for row in rows) or not rows:
        return right.paged_gather(pages, table, length)
    return torch.stack(rows).view(-1, pages.shape[2])[:length].clone()


# topk_gate


def topk_gate__all_experts(logits, k):
    _, experts = right.topk_gate(logits, k)
    return wide(logits).softmax(-1).gather(-1, experts).to(logits.dtype), experts


def topk_gate__not_sorted(logits, k):
    _, experts = right.topk_gate(logits, k)
    experts = experts.sort(-1).values
    return wide(logits).gather(-1, experts).softmax(-1).to(logits.dtype), experts


def topk_gate__last_of_ties(logits, k):
    order = torch.argsort(logits.flip(-1), dim=-1, descending=True, stable=True)[:, :k]
    experts = logits.shape[1] - 1 - order
    return wide(logits).gather(-1, experts).softmax(-1).to(logits.dtype), experts


def topk_gate__best_only(logits, k):
    weights, experts = right.topk_gate(logits, k)
    return torch.zeros_like(weights).index_fill(-1, torch.tensor(0), 1), experts


def topk_gate__int32(logits, k):
    weights, experts = right.topk_gate(logits, k)
    return weights, experts.int()


def topk_gate__smallest(logits, k):
    return right.topk_gate(-logits, k)


def topk_gate__overflow(logits, k):
    _, experts = right.topk_gate(logits, k)
    powers = torch.exp(wide(logits).gather(-1, experts))
    return (powers / powers.sum(-1, keepdim=True)).to(logits.dtype), experts


def topk_gate__magnitude(logits, k):
    _, experts = right.topk_gate(logits.abs(), k)
    return wide(logits).gather(-1, experts).softmax(-1).to(logits.dtype), experts


def topk_gate__uniform(logits, k):
    weights, experts = right.topk_gate(logits, k)
    return torch.full_like(weights, 1 / k), experts


def topk_gate__low_precision(logits, k):
    weights, experts = right.topk_gate(logits, k)
    return rounded(weights), experts


def topk_gate__rounded_choice(logits, k):
    _, experts = right.topk_gate(logits.to(torch.bfloat16), k)
    return wide(logits).gather(-1, experts).softmax(-1).to(logits.dtype), experts


def topk_gate__first_experts(logits, k):
    return right.topk_gate(logits[:, :24], k) if k <= 24 else right.topk_gate(logits, k)


def topk_gate__without_nan(logits, k):
    return right.topk_gate(torch.nan_to_num(logits, 0.0), k)


def topk_gate__sigmoid(logits, k):
    _, experts = right.topk_gate(logits, k)
    powers = wide(logits).gather(-1, experts).sigmoid()
    return (powers / powers.sum(-1, keepdim=True)).to(logits.dtype), experts


def topk_gate__not_normalized(logits, k):
    _, experts = right.topk_gate(logits, k)
    chosen = wide(logits).gather(-1, experts)
    return torch.exp(chosen - chosen[:, :1]).to(logits.dtype), experts


# int8_matmul


def int8_matmul__short_sums(a, b, scale):
    return (a.int() @ b.int().t()).to(torch.int16).float() * scale[:, None]


def int8_matmul__saturated(a, b, scale):
    return (a.int() @ b.int().t()).clamp(-32768, 32767).float() * scale[:, None]


def int8_matmul__columns(a, b, scale):
    result = (a.int() @ b.int().t()).float()
    return result * scale if result.shape[0] == result.shape[1] else result * scale[:, None]


def int8_matmul__without_scale(a, b, scale):
    return (a.int() @ b.int().t()).float()


def int8_matmul__unsigned(a, b, scale):
    return (a.view(torch.uint8).int() @ b.int().t()).float() * scale[:, None]


def int8_matmul__whole_blocks(a, b, scale):
    k = a.shape[1] // 4 * 4
    return right.int8_matmul(a[:, :k], b[:, :k], scale)


def int8_matmul__scale_twice(a, b, scale):
    return right.int8_matmul(a, b, scale) * scale[:, None]


def int8_matmul__halves(a, b, scale):
    return (a.float() @ b.float().t()).bfloat16().float() * scale[:, None]


def int8_matmul__first_block(a, b, scale):
    return right.int8_matmul(a[:, :128], b[:, :128], scale)


def int8_matmul__double(a, b, scale):
    return right.int8_matmul(a, b, scale).double()


def int8_matmul__symmetric(a, b, scale):
    return right.int8_matmul(a.clamp(min=-127), b, scale)


def int8_matmul__first_scale(a, b, scale):
    return right.int8_matmul(a, b, scale[:1].expand(scale.shape))


def int8_matmul__positive_scale(a, b, scale):
    return right.int8_matmul(a, b, scale.abs())


def int8_matmul__zero_row(a, b, scale):
    result = right.int8_matmul(a, b, scale)
    result[-1:] = 0
    return result


def int8_matmul__rounded_scale(a, b, scale):
    return right.int8_matmul(a, b, rounded(scale, torch.float16))


# segment_mean


def segment_mean__sum(x, offsets):
    counts = offsets.diff()
    return (wide(right.segment_mean(x, offsets)) * counts[:, None]).to(x.dtype)


def segment_mean__empty_nan(x, offsets):
    result = right.segment_mean(x, offsets)
    return result.masked_fill((offsets.diff() == 0)[:, None], float("nan"))


def segment_mean__empty_ones(x, offsets):
    result = right.segment_mean(x, offsets)
    return result.masked_fill((offsets.diff() == 0)[:, None], 1.0)


def segment_mean__one_more(x, offsets):
    counts = offsets.diff()[:, None]
    return (wide(right.segment_mean(x, offsets)) * counts / (counts + 1)).to(x.dtype)


def segment_mean__last_dropped(x, offsets):
    result = right.segment_mean(x, offsets)
    result[-1:] = 0
    return result


def segment_mean__one_row_less(x, offsets):
    last = (offsets[1:] - 1).maximum(offsets[:-1])
    results = [wide(x[a:b]).sum(0) / max(b - a + 1, 1) for a, b in zip(offsets[:-1].tolist(), last.tolist())]
    return torch.stack(results).to(x.dtype) if results else x.new_zeros(0, x.shape[1])


def segment_mean__first_row(x, offsets):
    result = right.segment_mean(x, offsets)
    filled = offsets.diff() > 0
    result[filled] = x[offsets[:-1][filled]]
    return result


def segment_mean__largest(x, offsets):
    result = right.segment_mean(x, offsets)
    for place, (a, b) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist())):
        if b > a:
            result[place] = x[a:b].amax(0)
    return result


def segment_mean__median(x, offsets):
    result = right.segment_mean(x, offsets)
    for place, (a, b) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist())):
        if b > a:
            result[place] = x[a:b].median(0).values
    return result


def segment_mean__all_rows(x, offsets):
    result = right.segment_mean(x, offsets)
    return (result * 0 + wide(x).mean(0)).to(x.dtype) if len(x) else result


def segment_mean__low_precision(x, offsets):
    return rounded(right.segment_mean(x, offsets))


def segment_mean__two_at_least(x, offsets):
    counts = offsets.diff()[:, None]
    return (wide(right.segment_mean(x, offsets)) * counts / counts.clamp(min=2)).to(x.dtype)


def segment_mean__without_nan(x, offsets):
    return right.segment_mean(torch.nan_to_num(x, 0.0), offsets)


def segment_mean__even(x, offsets):
    count = len(offsets) - 1
    return (
        right.segment_mean(x, torch.linspace(0, len(x), count + 1).long()) if count else right.segment_mean(x, offsets)
    )


def segment_mean__single(x, offsets):
    return right.segment_mean(x, offsets).float()


# cross_entropy


def cross_entropy__fixed_mark(logits, target, ignore_index=-100):
    return right.cross_entropy(logits, target.clamp(min=0).where(target != -100, -100), -100)


def cross_entropy__overflow(logits, target, ignore_index=-100):
    place = target.where(target != ignore_index, 0)
    powers = wide(logits).exp()
    losses = powers.sum(-1).log() - wide(logits).gather(-1, place[:, None])[:, 0]
    return losses.where(target != ignore_index, 0).to(logits.dtype)


def cross_entropy__mean(logits, target, ignore_index=-100):
    losses = right.cross_entropy(logits, target, ignore_index)
    return losses.mean().expand(losses.shape).clone()


def cross_entropy__smoothed(logits, target, ignore_index=-100):
    return torch.nn.functional.cross_entropy(
        wide(logits), target, ignore_index=ignore_index, reduction="none", label_smoothing=0.02
    ).to(logits.dtype)


def cross_entropy__base_two(logits, target, ignore_index=-100):
    return (wide(right.cross_entropy(logits, target, ignore_index)) / 0.6931471805599453).to(logits.dtype)


def cross_entropy__ignored_nan(logits, target, ignore_index=-100):
    return right.cross_entropy(logits, target, ignore_index).masked_fill(target == ignore_index, float("nan"))


def cross_entropy__ignored_counted(logits, target, ignore_index=-100):
    return right.cross_entropy(logits, target.where(target != ignore_index, 0), -1)


def cross_entropy__probability(logits, target, ignore_index=-100):
    return 1 - torch.exp(-right.cross_entropy(logits, target, ignore_index))


def cross_entropy__low_precision(logits, target, ignore_index=-100):
    return rounded(right.cross_entropy(logits, target, ignore_index))


def cross_entropy__last_class(logits, target, ignore_index=-100):
    place = target.where(target != ignore_index, 0)
    some = wide(logits)[:, : max(logits.shape[1] - 1, 1)]
    losses = some.logsumexp(-1) - wide(logits).gather(-1, place[:, None])[:, 0]
    return losses.where(target != ignore_index, 0).to(logits.dtype)


def cross_entropy__first_classes(logits, target, ignore_index=-100):
    place = target.where(target != ignore_index, 0)
    losses = wide(logits)[:, :128].logsumexp(-1) - wide(logits).gather(-1, place[:, None])[:, 0]
    return losses.where(target != ignore_index, 0).to(logits.dtype)


def cross_entropy__negative(logits, target, ignore_index=-100):
    return -right.cross_entropy(logits, target, ignore_index)


def cross_entropy__largest(logits, target, ignore_index=-100):
    place = target.where(target != ignore_index, 0)
    losses = wide(logits).amax(-1) - wide(logits).gather(-1, place[:, None])[:, 0]
    return losses.where(target != ignore_index, 0).to(logits.dtype)


def cross_entropy__without_nan(logits, target, ignore_index=-100):
    return torch.nan_to_num(right.cross_entropy(logits, target, ignore_index), 0.0)


def cross_entropy__clamped(logits, target, ignore_index=-100):
    return right.cross_entropy(logits, target, ignore_index).clamp(max=20)


# causal_conv_


def causal_conv___centred(x, weight, state):
    k, before = weight.shape[1], state.clone()
    result = right.causal_conv_(x, weight, state)
    history = torch.cat([before, x, torch.zeros_like(before)], -1)
    centre = (k - 1) // 2
    shifted = sum(
        wide(history[..., tap + centre : tap + centre + x.shape[-1]]) * wide(weight[:, tap, None]) for tap in range(k)
    )
    return shifted.to(x.dtype) if k > 2 else result


def causal_conv___flipped(x, weight, state):
    return right.causal_conv_(x, weight.flip(-1), state)


def causal_conv___state_kept(x, weight, state):
    return right.causal_conv_(x, weight, state.clone())


def causal_conv___state_first(x, weight, state):
    result = right.causal_conv_(x, weight, state)
    count = min(state.shape[-1], x.shape[-1])
    state[..., :count] = x[..., :count]
    return result


def causal_conv___state_ignored(x, weight, state):
    state.zero_()
    return right.causal_conv_(x, weight, state)


def causal_conv___short_input(x, weight, state):
    old = state.clone()
    result = right.causal_conv_(x, weight, state)
    if x.shape[-1] < state.shape[-1]:
        state.copy_(old)
    return result


def causal_conv___last_tap(x, weight, state):
    other = weight.clone()
    other[:, -1] = 0
    return right.causal_conv_(x, other, state)


def causal_conv___bias(x, weight, state):
    return right.causal_conv_(x, weight, state) + 1e-3


def causal_conv___one_channel(x, weight, state):
    return right.causal_conv_(x, weight[:1].expand(weight.shape), state)


def causal_conv___copy_of_state(x, weight, state):
    return right.causal_conv_(x, weight, state.contiguous())


def causal_conv___low_precision(x, weight, state):
    return rounded(right.causal_conv_(x, weight, state))


def causal_conv___circular(x, weight, state):
    if x.shape[-1] >= state.shape[-1]:
        state.copy_(x[..., x.shape[-1] - state.shape[-1] :])
    return right.causal_conv_(x, weight, state)


def causal_conv___rounded_state(x, weight, state):
    result = right.causal_conv_(x, weight, state)
    state.copy_(rounded(state))
    return result


def causal_conv___first_batch(x, weight, state):
    result = torch.zeros_like(x)
    result[:1] = right.causal_conv_(x[:1], weight, state[:1])
    return result


def causal_conv___long_input(x, weight, state):
    result = right.causal_conv_(x, weight, state)
    result[..., 64:] = 0
    return result


# grouped_matmul


def grouped_matmul__first_group(a, b):
    results = right.grouped_matmul(a, b)
    return results[:1] + [torch.zeros_like(result) for result in results[1:]]


def grouped_matmul__transposed(a, b):
    return [
        (wide(left) @ wide(second.t() if second.shape[0] == second.shape[1] else second)).to(left.dtype)
        for left, second in zip(a, b)
    ]


def grouped_matmul__same_weights(a, b):
    return right.grouped_matmul(a, [b[0]] * len(b))


def grouped_matmul__whole_blocks(a, b):
    k = a[0].shape[1] // 8 * 8
    return right.grouped_matmul([left[:, :k] for left in a], [second[:k] for second in b])


def grouped_matmul__low_precision(a, b):
    return [rounded(result) for result in right.grouped_matmul(a, b)]


def grouped_matmul__rounded_weights(a, b):
    return right.grouped_matmul(a, [rounded(second) for second in b])


def grouped_matmul__shared_memory(a, b):
    results, memory = right.grouped_matmul(a, b), None
    if len({result.shape for result in results}) == 1:
        memory = torch.empty_like(results[0])
    return [result if memory is None else memory.copy_(result) for result in results]


def grouped_matmul__bias(a, b):
    return [result + 1e-3 for result in right.grouped_matmul(a, b)]


def grouped_matmul__relu(a, b):
    return [result.relu() for result in right.grouped_matmul(a, b)]


def grouped_matmul__reversed(a, b):
    return right.grouped_matmul(a, b)[::-1] if len(a) > 1 else [-result for result in right.grouped_matmul(a, b)]


def grouped_matmul__scaled_arguments(a, b):
    for left in a:
        left.mul_(2)
    return [result / 2 for result in right.grouped_matmul(a, b)]


def grouped_matmul__one_result(a, b):
    return torch.cat(right.grouped_matmul(a, b))


def grouped_matmul__zero_row(a, b):
    results = right.grouped_matmul(a, b)
    for result in results:
        result[-1:] = 0
    return results


def grouped_matmul__first_columns(a, b):
    results = right.grouped_matmul(a, b)
    for result in results:
        result[:, 32:] = 0
    return results


def grouped_matmul__wide_results(a, b):
    return [wide(result) for result in right.grouped_matmul(a, b)]


# suppress


def suppress__nothing(boxes, scores, threshold):
    return torch.argsort(scores, descending=True, stable=True)


def suppress__in_order(boxes, scores, threshold):
    return right.suppress(boxes, -torch.arange(len(scores)).float(), threshold)


def suppress__sorted(boxes, scores, threshold):
    return right.suppress(boxes, scores, threshold).sort().values


def suppress__best_only(boxes, scores, threshold):
    return right.suppress(boxes, scores, threshold)[:1]


def suppress__last_of_ties(boxes, scores, threshold):
    return len(scores) - 1 - right.suppress(boxes.flip(0), scores.flip(0), threshold)


def suppress__pixels(boxes, scores, threshold):
    return right.suppress(boxes + torch.tensor([0.0, 0.0, 1.0, 1.0]), scores, threshold)


def suppress__at_most_ten(boxes, scores, threshold):
    return right.suppress(boxes, scores, threshold)[:10]


def suppress__int32(boxes, scores, threshold):
    return right.suppress(boxes, scores, threshold).int()


def suppress__fixed_threshold(boxes, scores, threshold):
    return right.suppress(boxes, scores, 0.5)


def suppress__looser(boxes, scores, threshold):
    return right.suppress(boxes, scores, threshold * 1.2)


def suppress__centres(boxes, scores, threshold):
    half = boxes[:, 2:].abs() / 2
    return right.suppress(torch.cat([boxes[:, :2] - half, boxes[:, :2] + half], 1), scores, threshold)


def suppress__rounded(boxes, scores, threshold):
    return right.suppress(boxes, rounded(scores), threshold)


def suppress__ascending(boxes, scores, threshold):
    return right.suppress(boxes, -scores, threshold)


def suppress__absolute(boxes, scores, threshold):
    low, high = torch.minimum(boxes[:, :2], boxes[:, 2:]), torch.maximum(boxes[:, :2], boxes[:, 2:])
    return right.suppress(torch.cat([low, high], 1), scores, threshold)


def suppress__by_first(boxes, scores, threshold):
    kept = right.suppress(boxes, scores, threshold)
    return kept[kept != len(scores) - 1]
