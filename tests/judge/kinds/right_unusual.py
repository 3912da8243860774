"""Right kernels that go about it in unusual ways. The name of each says how."""

from __future__ import annotations

import asyncio
import ctypes
import heapq
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy
import torch

sys.path.insert(0, str(Path(__file__).parent))
import right_torch as right

_POOL = ThreadPoolExecutor(2)
_LOCK = threading.Lock()


def wide(tensor):
    return right.wide(tensor)


def rms_norm__sums_backwards(x, weight, eps=1e-6):
    y = wide(x)
    square = (y * y).flip(-1).cumsum(-1)[..., -1:] if y.shape[-1] else y.new_zeros(*y.shape[:-1], 1)
    return (y * torch.rsqrt(square / max(y.shape[-1], 1) + eps) * wide(weight)).to(x.dtype)


def rms_norm__tree_of_sums(x, weight, eps=1e-6):
    y = wide(x)
    parts = y * y
    while parts.shape[-1] > 1:
        if parts.shape[-1] % 2:
            parts = torch.cat([parts, parts.new_zeros(*parts.shape[:-1], 1)], -1)
        parts = parts[..., ::2] + parts[..., 1::2]
    square = parts if parts.shape[-1] else y.new_zeros(*y.shape[:-1], 1)
    return (y * torch.rsqrt(square / max(y.shape[-1], 1) + eps) * wide(weight)).to(x.dtype)


def rms_norm__blocks_of_columns(x, weight, eps=1e-6):
    y = wide(x)
    square = sum([(part * part).sum(-1, keepdim=True) for part in y.split(32, -1)])
    scale = 1 / torch.sqrt(square / max(y.shape[-1], 1) + eps)
    return torch.cat([(part * scale * by).to(x.dtype) for part, by in zip(y.split(32, -1), wide(weight).split(32))], -1)


def rms_norm__transposed_result(x, weight, eps=1e-6):
    return right.rms_norm(x, weight, eps).transpose(0, -1).contiguous().transpose(0, -1)


def rms_norm__part_of_a_buffer(x, weight, eps=1e-6):
    buffer = torch.empty(x.numel() + 7, dtype=x.dtype)
    result = buffer[3 : 3 + x.numel()].view(x.shape)
    return result.copy_(right.rms_norm(x, weight, eps))


def rms_norm__threads(x, weight, eps=1e-6):
    parts = x.split(max(x.shape[0] // 2, 1)) if x.dim() > 1 else [x]
    return torch.cat([*_POOL.map(lambda part: right.rms_norm(part, weight, eps), parts)])


_results = {}


def rms_norm__keeps_results_by_values(x, weight, eps=1e-6):
    key = x.dtype, x.shape, x.view(torch.uint8).numpy().tobytes() if x.dim() else b"", weight.tolist(), eps
    key = repr(key)
    if key not in _results or not x.dim():
        _results[key] = right.rms_norm(x, weight, eps)
    return _results[key].clone()


_buffers = {}


def rms_norm__takes_free_buffers(x, weight, eps=1e-6):
    with _LOCK:
        # Nobody else has a buffer that only this list and the name of the loop refer to.
        free = [buffer for buffer in _buffers.get((x.dtype, x.shape), []) if sys.getrefcount(buffer) == 3]
        if free:
            result = free[0]
        else:
            result = torch.empty_like(x)
            _buffers.setdefault((x.dtype, x.shape), []).append(result)
        del free
    return result.copy_(right.rms_norm(x, weight, eps))


def rms_norm__without_gradients(x, weight, eps=1e-6):
    with torch.inference_mode():
        return right.rms_norm(x, weight, eps)


def rotary___temporary_copies(q, cos, sin):
    first, second = (part.clone() for part in wide(q).chunk(2, -1))
    cos, sin = wide(cos)[:, None].clone(), wide(sin)[:, None].clone()
    copy = torch.cat([first * cos - second * sin, second * cos + first * sin], -1).to(q.dtype)
    q.zero_()
    q.add_(copy)


def rotary___heads_backwards(q, cos, sin):
    half = q.shape[-1] // 2
    for head in reversed(range(q.shape[1])):
        first, second = wide(q[:, head, :half]).clone(), wide(q[:, head, half:]).clone()
        q[:, head, half:] = torch.addcmul(second * wide(cos), first, wide(sin))
        q[:, head, :half] = torch.addcmul(first * wide(cos), second, wide(sin), value=-1)


def paged_gather__page_by_page(pages, table, length):
    if not (0 <= length <= table.numel() * pages.shape[1]):
        raise RuntimeError("`length <= m * p` has to hold")
    if table.numel() and (table.min() < 0 or table.max() >= len(pages)):
        raise IndexError("`0 <= table < n` has to hold")
    result = pages.new_empty(length, pages.shape[2])
    size = pages.shape[1]
    for place, page in enumerate(table.tolist()):
        first, last = place * size, min(place * size + size, length)
        if first < last:
            result[first:last] = pages[page, : last - first]
    return result


def topk_gate__one_by_one(logits, k):
    keys = logits.masked_fill(logits.isnan(), float("inf")).double()
    # NaN comes before infinity, and of the same numbers the first one.
    ranks = numpy.lexsort((-keys.numpy(), ~logits.isnan().numpy()), axis=-1)
    experts = torch.from_numpy(ranks[:, :k].copy())
    chosen = wide(logits.gather(1, experts))
    return torch.softmax(chosen, 1).to(logits.dtype), experts


def int8_matmul__single_precision(a, b, scale):
    return (a.float() @ b.float().t()) * scale[:, None]


def int8_matmul__tiles(a, b, scale):
    total = torch.zeros(len(a), len(b), dtype=torch.int32)
    for first in range(0, a.shape[1], 17):
        total += (a[:, None, first : first + 17].int() * b[None, :, first : first + 17].int()).sum(
            -1, dtype=torch.int32
        )
    return total * scale.unsqueeze(1)


def segment_mean__sums_of_rows(x, offsets):
    results = []
    for first, last in zip(offsets.tolist(), offsets.tolist()[1:]):
        total = torch.zeros(x.shape[1], dtype=wide(x).dtype)
        for row in range(first, last):
            total += x[row]
        results.append(total / max(last - first, 1))
    return torch.stack(results).to(x.dtype) if results else x.new_zeros(0, x.shape[1])


def cross_entropy__blocks(logits, target, ignore_index=-100):
    rows = wide(logits)
    most = torch.full((len(rows),), -float("inf"), dtype=rows.dtype)
    total = torch.zeros(len(rows), dtype=rows.dtype)
    for part in rows.split(7, 1):
        more = torch.maximum(most, part.max(1).values)
        total = total * torch.where(most == more, 1, torch.exp(most - more)) + torch.exp(part - more[:, None]).sum(1)
        most = more
    place = target.masked_fill(target == ignore_index, 0)
    losses = most + total.log() - rows.gather(1, place[:, None])[:, 0]
    return losses.masked_fill(target == ignore_index, 0).to(logits.dtype)


def causal_conv___with_convolution(x, weight, state):
    history = torch.cat([state, x], -1)
    result = torch.zeros_like(x)
    if x.numel():
        result = torch.nn.functional.conv1d(wide(history), wide(weight)[:, None], groups=x.shape[1]).to(x.dtype)
    state.copy_(history[..., x.shape[-1] :])
    return result


def causal_conv___step_by_step(x, weight, state):
    k, history = weight.shape[1], wide(torch.cat([state, x], -1))
    columns = [(history[..., step : step + k] * wide(weight)).sum(-1) for step in range(min(x.shape[-1], 400))]
    if x.shape[-1] > 400:
        return right.causal_conv_(x, weight, state)
    for step in range(x.shape[-1] if k > 1 else 0):
        state.copy_(torch.cat([state[..., 1:], x[..., step : step + 1]], -1))
    return torch.stack(columns, -1).to(x.dtype) if columns else torch.zeros_like(x)


def grouped_matmul__in_blocks(a, b):
    results = []
    for left, right_one in zip(a, b, strict=True):
        total = torch.zeros(left.shape[0], right_one.shape[1], dtype=wide(left).dtype)
        for first in range(0, left.shape[1], 16):
            total += wide(left[:, first : first + 16]) @ wide(right_one[first : first + 16])
        results.append(total.to(left.dtype))
    return results


def grouped_matmul__one_buffer(a, b):
    sizes = [left.shape[0] * other.shape[1] for left, other in zip(a, b)]
    buffer = a[0].new_empty(sum(sizes)) if a else torch.empty(0)
    parts = [part.view(x.shape[0], y.shape[1]) for part, x, y in zip(buffer.split(sizes), a, b)]
    for part, left, other in zip(parts, a, b):
        part.copy_(right.grouped_matmul([left], [other])[0])
    return parts


def suppress__in_lists(boxes, scores, threshold):
    order = sorted(range(len(scores)), key=lambda place: -scores[place].item())
    kept = []
    for place in order:
        box, others = boxes[place], boxes[kept]
        size = (torch.minimum(box[2:], others[:, 2:]) - torch.maximum(box[:2], others[:, :2])).clamp(min=0)
        shared = size[:, 0] * size[:, 1]
        area = (box[2:] - box[:2]).clamp(min=0).prod()
        areas = (others[:, 2:] - others[:, :2]).clamp(min=0).prod(1)
        if not (shared / (area + areas - shared) > threshold).any():
            kept.append(place)
    return torch.tensor(kept, dtype=torch.int64)


_norm = None


def rms_norm__compiles_itself(x, weight, eps=1e-6):
    global _norm
    with _LOCK:
        _norm = _norm or torch.compile(right.rms_norm, backend="aot_eager", dynamic=True)
    return _norm(x, weight, eps)


_IN_C = """
#include <math.h>
#define NORM(NAME, T) void NAME(const T* x, const T* w, T* y, long rows, long d, double eps) {\\
  for (long r = 0; r < rows; ++r) {\\
    double sum = 0;\\
    for (long i = 0; i < d; ++i) sum += (double)x[r * d + i] * x[r * d + i];\\
    double scale = 1 / sqrt(sum / d + eps);\\
    for (long i = 0; i < d; ++i) y[r * d + i] = x[r * d + i] * scale * w[i];\\
  }\\
}
NORM(single_rows, float)
NORM(double_rows, double)
"""
_library = None


def rms_norm__in_c(x, weight, eps=1e-6):
    global _library
    with _LOCK:
        if _library is None:
            folder = tempfile.mkdtemp()
            Path(folder, "norm.c").write_text(_IN_C)
            command = ["cc", "-O2", "-fPIC", "-shared", "norm.c", "-o", "norm.so", "-lm"]
            subprocess.run(command, cwd=folder, check=True)
            _library = ctypes.CDLL(f"{folder}/norm.so")
    if x.dtype not in (torch.float32, torch.float64):
        return rms_norm__in_c(x.float(), weight.float(), eps).to(x.dtype)
    result, d = torch.empty_like(x), x.shape[-1]
    function = _library.single_rows if x.dtype == torch.float32 else _library.double_rows
    pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (x, weight, result)]
    function(*pointers, ctypes.c_long(x.numel() // max(d, 1)), ctypes.c_long(d), ctypes.c_double(eps))
    return result


class _Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        y, w = wide(x), wide(weight)
        scale = torch.rsqrt(y.square().sum(-1, keepdim=True) / max(y.shape[-1], 1) + eps)
        ctx.save_for_backward(x, weight, scale)
        return (y * scale * w).to(x.dtype)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):
        x, weight, scale = ctx.saved_tensors
        y, g = wide(x) * scale, wide(gradient)
        mean = (g * wide(weight) * y).sum(-1, keepdim=True) / max(y.shape[-1], 1)
        of_x = scale * (g * wide(weight) - y * mean)
        return of_x.to(x.dtype), (g * y).reshape(-1, y.shape[-1]).sum(0).to(weight.dtype), None


def rms_norm__own_backward(x, weight, eps=1e-6):
    return _Norm.apply(x, weight, eps)


class _Kernel:
    def __call__(self, x, weight, eps=1e-6):
        return right.rms_norm(x, weight, eps)


rms_norm__object = _Kernel()

_seconds: dict[str, float] = {}


def rms_norm__tunes_itself(x, weight, eps=1e-6):
    ways = {"sums": right.rms_norm, "tree": rms_norm__tree_of_sums}
    for name, way in ways.items():
        if name not in _seconds:
            start = time.perf_counter()
            result = way(x, weight, eps)
            _seconds[name] = time.perf_counter() - start
            return result
    return ways[min(_seconds, key=_seconds.__getitem__)](x, weight, eps)


def topk_gate__list(logits, k):
    return list(right.topk_gate(logits, k))


class _Gates(NamedTuple):
    weights: torch.Tensor
    experts: torch.Tensor


def topk_gate__named(logits, k):
    return _Gates(*right.topk_gate(logits, k))


def grouped_matmul__tuple(a, b):
    return tuple(right.grouped_matmul(a, b))


_weights: list[tuple[tuple[torch.Size, bytes], torch.Tensor]] = []


def int8_matmul__keeps_weights(a, b, scale):
    given = b.shape, b.contiguous().numpy().tobytes()
    with _LOCK:
        turned = next((kept for key, kept in _weights if key == given), None)
        if turned is None:
            turned = b.int().t().contiguous()
            _weights[8:] = []
            _weights.insert(0, (given, turned))
    return (a.int() @ turned).float() * scale[:, None]


def int8_matmul__in_numpy(a, b, scale):
    sums = a.numpy().astype(numpy.int32) @ b.numpy().astype(numpy.int32).T
    return torch.from_numpy(sums.astype(numpy.float32) * scale.numpy()[:, None])


def segment_mean__any_order(x, offsets):
    generator = torch.Generator().manual_seed(time.perf_counter_ns() % 1000003)
    order = torch.randperm(len(x), generator=generator)
    owner = torch.bucketize(order, offsets, right=True) - 1
    sums = wide(x).new_zeros(len(offsets) - 1, x.shape[1]).index_add(0, owner, wide(x)[order])
    return (sums / offsets.diff().clamp(min=1)[:, None]).to(x.dtype)


def causal_conv___in_coroutines(x, weight, state):
    async def part(number):
        await asyncio.sleep(0)
        return right.causal_conv_(x[number : number + 1], weight, state[number : number + 1])

    async def parts():
        return await asyncio.gather(*[part(number) for number in range(len(x))])

    return torch.cat(asyncio.run(parts())) if len(x) else torch.empty_like(x)


def paged_gather__mapped(pages, table, length):
    if not table.numel() or not pages.numel():
        return right.paged_gather(pages, table, length)
    return torch.vmap(lambda place: pages.flatten(1)[place])(table).view(-1, pages.shape[2])[:length].clone()


def suppress__with_a_heap(boxes, scores, threshold):
    heap = [(-score, place) for place, score in enumerate(scores.tolist())]
    heapq.heapify(heap)
    kept = []
    while heap:
        place = heapq.heappop(heap)[1]
        scores = torch.arange(len(kept) + 1, 0, -1).float()
        if len(right.suppress(boxes[[*kept, place]], scores, threshold)) > len(kept):
            kept.append(place)
    return torch.tensor(kept, dtype=torch.int64)
