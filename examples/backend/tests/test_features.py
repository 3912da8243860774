"""What users of a device try first: each feature of PyTorch does on the device what it does on the CPU."""

from __future__ import annotations

import copy
import importlib
import io
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.utils.data import DataLoader, TensorDataset

#: What a feature gives: tensors, or what can be compared.
Found = object


def numbers(device: str, *sizes: int) -> torch.Tensor:
    """Some numbers that are the same on each device."""
    count = torch.Size(sizes).numel()
    return ((torch.arange(float(count)) * 0.37).sin() + 0.1).reshape(sizes).to(device)


def written(tensor: torch.Tensor, write: Callable[[torch.Tensor], object]) -> torch.Tensor:
    """A tensor after something wrote to it."""
    write(tensor)
    return tensor


def gradient(function: Callable[[torch.Tensor], torch.Tensor], value: torch.Tensor) -> torch.Tensor:
    """The gradient of the sum of the squares of what a function returns."""
    value = value.detach().clone().requires_grad_()
    return torch.autograd.grad(function(value).square().sum(), value)[0]


def layer(make: Callable[[], nn.Module], *sizes: int) -> Callable[[str], Found]:
    """The results of a module, and the gradients of its input and of its parameters."""

    def run(device: str) -> Found:
        torch.manual_seed(0)
        module = make().to(device)
        value = numbers(device, *sizes).requires_grad_()
        result = module(value)
        result = result[0] if isinstance(result, tuple) else result
        return result, torch.autograd.grad(result.square().sum(), [value, *module.parameters()])

    return run


def trained(optimizer: type[torch.optim.Optimizer], **options: object) -> Callable[[str], Found]:
    """The parameters of a layer after two steps of an optimizer."""

    def run(device: str) -> Found:
        torch.manual_seed(0)
        module = nn.Linear(3, 2).to(device)
        steps = optimizer(module.parameters(), lr=0.1, **options)
        for _ in range(2):
            steps.zero_grad()
            module(numbers(device, 4, 3)).square().sum().backward()
            nn.utils.clip_grad_norm_(module.parameters(), 0.5)
            steps.step()
        return list(module.parameters())

    return run


def stored(device: str) -> Found:
    """A module that is saved and loaded again, to the same device and to the CPU."""
    torch.manual_seed(0)
    file = io.BytesIO()
    torch.save(nn.Linear(3, 2).to(device).state_dict(), file)
    loaded = []
    for place in (None, "cpu"):
        file.seek(0)
        loaded.append([value.cpu() for value in torch.load(file, map_location=place).values()])
    return loaded


def checkpointed(device: str) -> Found:
    """A gradient whose forward pass runs twice."""
    run = torch.utils.checkpoint.checkpoint
    return gradient(lambda x: run(lambda y: y.exp().sin(), x, use_reentrant=False), numbers(device, 3))


class Doubled(torch.autograd.Function):
    """A gradient in Python."""

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, value: torch.Tensor) -> torch.Tensor:  # noqa: ARG004
        """Twice the value."""
        return value * 2

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, grad: torch.Tensor) -> torch.Tensor:  # noqa: ARG004
        """Twice the gradient."""
        return grad * 2


def batches(device: str) -> Found:
    """The batches of a loader, on the device."""
    loader = DataLoader(TensorDataset(torch.arange(6.0)), batch_size=4)
    return [batch.to(device, non_blocking=True) for (batch,) in loader]


def with_default_device(device: str) -> Found:
    """A tensor that is made where no device is named."""
    with torch.device(device):
        made = torch.ones(2)
    return made, made.device.type == device


def seeded(device: str) -> torch.Tensor:
    """Random numbers after a seed."""
    torch.manual_seed(3)
    return torch.randn(5, device=device)


def hooked(device: str) -> Found:
    """A gradient that a hook sees and changes."""
    seen = []
    value = numbers(device, 3).requires_grad_()
    value.register_hook(lambda grad: seen.append(grad.clone()) or grad * 2)
    value.sum().backward()
    return seen, value.grad


def inferred(device: str) -> Found:
    """A result that records nothing."""
    with torch.inference_mode():
        return numbers(device, 3).exp() + 1


def cast(device: str) -> Found:
    """A product that is computed in fewer bits."""
    with torch.autocast(device, dtype=torch.bfloat16):
        result = numbers(device, 2, 3) @ numbers(device, 3, 2)
    return result.dtype == torch.bfloat16, result


def module_of(device: str, name: str) -> Any:  # noqa: ANN401
    """A module of `torch.acme`; that of the same name in `torch` stands for it on the CPU."""
    return importlib.import_module(f"torch.{device}.{name}" if device != "cpu" else f"torch.{name}")


def masked_gradient(device: str) -> torch.Tensor | None:
    """The gradient of a sparse tensor of which a mask leaves a part."""
    values = numbers(device, 2, 3).to_sparse().requires_grad_()
    values.sparse_mask(sparse(device).coalesce()).to_dense().sum().backward()
    return values.grad


def refused(device: str) -> str:
    """What an outer product says of a factor that its type cannot have."""
    matrix, left, right = [numbers(device, *sizes).short() for sizes in ((2, 3), (2,), (3,))]
    with pytest.raises(RuntimeError) as caught:
        torch.addr(matrix, left, right, beta=2.0)
    return str(caught.value)


#: What makes sparse matrices in compressed formats.
COMPRESSED: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (
    torch.Tensor.to_sparse_csr,
    torch.Tensor.to_sparse_csc,
    lambda matrix: matrix.to_sparse_bsr((2, 2)),
    lambda matrix: matrix.to_sparse_bsc((2, 2)),
)


def complex_numbers(device: str) -> torch.Tensor:
    """Four complex numbers."""
    return numbers(device, 2, 2) * (1 + 2j) + 3


def sparse(device: str) -> torch.Tensor:
    """A sparse matrix with an index that is there twice."""
    return torch.sparse_coo_tensor([[0, 1, 1, 1], [2, 0, 2, 2]], [3.0, 4.0, 5.0, 6.0], (2, 3), device=device)


def quantized(device: str) -> torch.Tensor:
    """A matrix of eight bits with one scale."""
    return torch.quantize_per_tensor(numbers(device, 2, 3), 0.1, 3, torch.quint8)


def nested(device: str, *sizes: int) -> torch.Tensor:
    """Matrices with different numbers of rows, as one tensor."""
    return torch.nested.nested_tensor([numbers(device, size, 3) for size in sizes or (2, 4)])


def written_out(tensor: torch.Tensor) -> torch.Tensor:
    """A nested tensor as a dense one."""
    return tensor.to_padded_tensor(-1.0)


def saved(value: Found) -> Found:
    """What comes back from a file."""
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file)


def embedded(device: str) -> Found:
    """An embedding that SparseAdam trains with sparse gradients."""
    weight = numbers(device, 4, 2).requires_grad_()
    steps = torch.optim.SparseAdam([weight], lr=0.1)
    for _ in range(2):
        steps.zero_grad()
        F.embedding(torch.tensor([1, 3, 1], device=device), weight, sparse=True).square().sum().backward()
        steps.step()
    return weight


def encoded(device: str) -> Found:
    """What a trained transformer says of sequences of two lengths, which PyTorch computes with nested tensors."""
    torch.manual_seed(0)
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True), 1)
    mask = torch.tensor([[False, False, True], [False, False, False]], device=device)
    with torch.inference_mode():
        return encoder.to(device).eval()(numbers(device, 2, 3, 4), src_key_padding_mask=mask)


def scaled(device: str) -> Found:
    """A layer after a step with scaled gradients, in the words of `torch.cuda.amp`."""
    torch.manual_seed(0)
    amp, module = module_of(device, "amp"), nn.Linear(3, 2).to(device)
    own = () if device != "cpu" else ("cpu",)
    optimizer, scaler = torch.optim.SGD(module.parameters(), lr=0.1), amp.GradScaler(*own, init_scale=4.0)
    with amp.autocast(*own, dtype=torch.bfloat16):
        loss = module(numbers(device, 4, 3)).float().square().sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return [parameter.bfloat16() for parameter in module.parameters()]


#: Features by their names. Each is called with a device.
FEATURES: dict[str, Callable[[str], Found]] = {
    # Tensors.
    "zeros, ones, full": lambda d: (
        torch.zeros(2, device=d), torch.ones(2, 3, dtype=torch.int32, device=d), torch.full((2,), 1.5, device=d)
    ),
    "arange, linspace, eye": lambda d: (
        torch.arange(5, device=d), torch.linspace(0, 1, 4, device=d), torch.eye(3, device=d)
    ),
    "tensor, as_tensor": lambda d: (torch.tensor([[1, 2], [3, 4]], device=d), torch.as_tensor([1.5], device=d)),
    "rand within bounds": lambda d: torch.rand(100, device=d).lt(1).all(),
    "randperm is a permutation": lambda d: torch.randperm(9, device=d).sort().values,
    "to another type": lambda d: numbers(d, 4).to(torch.float16).to(torch.float64),
    "print": lambda d: repr(numbers(d, 3)).replace(f", device='{d}:0'", ""),
    "item, bool, tolist": lambda d: (numbers(d, 1).item(), bool(numbers(d, 1) > 0), numbers(d, 2).tolist()),
    "format": lambda d: f"{numbers(d, 1)[0]:.3f}",
    "index and slice": lambda d: (numbers(d, 4, 3)[1], numbers(d, 4, 3)[::2, -1], numbers(d, 4, 3)[..., None]),
    "index with tensors": lambda d: numbers(d, 4, 3)[torch.tensor([3, 0], device=d)],
    "index with a mask": lambda d: numbers(d, 9)[numbers(d, 9) > 0],
    "write to a slice": lambda d: written(numbers(d, 4, 3), lambda x: x[1:3].fill_(2)),
    "write with a mask": lambda d: written(numbers(d, 9), lambda x: x.__setitem__(x > 0, 5.0)),
    "index_put with accumulate": lambda d: numbers(d, 3).index_put(
        (torch.tensor([1, 1], device=d),), torch.ones(2, device=d), accumulate=True
    ),
    "cat, stack, split": lambda d: (
        torch.cat([numbers(d, 2), numbers(d, 3)]), torch.stack([numbers(d, 2)] * 2), numbers(d, 5).split(2)
    ),
    "where, clamp": lambda d: (torch.where(numbers(d, 5) > 0, 1.0, numbers(d, 5)), numbers(d, 5).clamp(0, 0.5)),
    "sort, topk, argmax": lambda d: (*numbers(d, 7).sort(), *numbers(d, 7).topk(2), numbers(d, 7).argmax()),
    "nonzero, unique": lambda d: ((numbers(d, 7) > 0).nonzero(), torch.tensor([3, 1, 3], device=d).unique()),
    "sum, mean, var, norm": lambda d: (
        numbers(d, 4, 3).sum(0), numbers(d, 4, 3).mean(), numbers(d, 4, 3).var(1), numbers(d, 4, 3).norm()
    ),
    "cumsum, scatter_add, gather": lambda d: (
        numbers(d, 4).cumsum(0),
        torch.zeros(3, device=d).scatter_add(0, torch.tensor([1, 1, 2], device=d), torch.ones(3, device=d)),
        numbers(d, 4).gather(0, torch.tensor([2, 0], device=d)),
    ),
    "matmul, einsum": lambda d: (
        numbers(d, 2, 3) @ numbers(d, 3, 4), torch.einsum("bij,bjk->bik", numbers(d, 2, 3, 4), numbers(d, 2, 4, 5))
    ),
    "linear algebra": lambda d: (
        torch.linalg.solve(torch.eye(3, device=d) + 0.1, numbers(d, 3)), torch.linalg.svdvals(numbers(d, 3, 4))
    ),
    "Fourier transforms": lambda d: torch.fft.irfft(torch.fft.rfft(numbers(d, 8))),
    "out that is conjugated": lambda d: [
        written(torch.zeros(2, 2, dtype=torch.complex64, device=d).conj(), partial(write, complex_numbers(d)))
        for write in (
            lambda values, out: torch.mm(values, values, out=out),
            lambda values, out: torch.addmm(values, values, values, out=out),
            lambda values, out: torch.linalg.solve_triangular(values, values, upper=True, out=out),
        )
    ],
    "addr": refused,
    "complex numbers": lambda d: (torch.complex(numbers(d, 3), numbers(d, 3)).conj_physical_().conj() * 1j).abs(),
    "types are promoted": lambda d: torch.arange(3, device=d) * 0.5,
    "a number of the CPU": lambda d: numbers(d, 3) + torch.tensor(2.0),
    "views": lambda d: (numbers(d, 4, 6).view(2, 12), numbers(d, 4, 6).t(), numbers(d, 4).expand(2, 4)),
    "as_strided, unfold": lambda d: (numbers(d, 9).as_strided((3,), (2,), 1), numbers(d, 9).unfold(0, 3, 2)),
    "writes through a view": lambda d: written(numbers(d, 4, 3), lambda x: x.t()[0].mul_(2)),
    "channels_last": lambda d: numbers(d, 1, 2, 3, 4).to(memory_format=torch.channels_last).stride(),
    "out=": lambda d: written(torch.empty(3, device=d), lambda out: torch.add(numbers(d, 3), 1, out=out)),
    "resize by out=": lambda d: written(torch.empty(0, device=d), lambda out: torch.exp(numbers(d, 3), out=out)),
    "in-place": lambda d: numbers(d, 3).add_(1).mul_(2).clamp_(max=1),
    "foreach": lambda d: torch._foreach_add([numbers(d, 2), numbers(d, 3)], 1),
    "bitwise and shifts": lambda d: (torch.arange(8, device=d) & 5, torch.arange(8, device=d) << 1),
    "tensor_split with a tensor": lambda d: numbers(d, 6).tensor_split(torch.tensor([2, 4])),
    "deepcopy": lambda d: copy.deepcopy(numbers(d, 3)),
    "default device": with_default_device,
    "a type of before": lambda d: (
        numbers("cpu", 3).type(f"torch.{d}.FloatTensor".replace("cpu.", "")),
        (torch if d == "cpu" else torch.acme).DoubleTensor([[1, 2]]),
        isinstance(numbers(d, 3), (torch if d == "cpu" else torch.acme).FloatTensor),
        isinstance(numbers(d, 3), (torch if d == "cpu" else torch.acme).LongTensor),
    ),
    # Sparse tensors.
    "sparse_coo_tensor": sparse,
    "coalesce, indices, values": lambda d: (sparse(d).coalesce().indices(), sparse(d).coalesce().values()),
    "to_sparse, to_dense": lambda d: (numbers(d, 2, 3).relu().to_sparse(), numbers(d, 2, 3).to_sparse(1).to_dense()),
    "sparse to the CPU and back": lambda d: sparse(d).cpu().to(d),
    "sparse_mask": lambda d: (numbers(d, 2, 3).sparse_mask(sparse(d).coalesce()), masked_gradient(d)),
    "sum of sparse": lambda d: (sparse(d) + sparse(d) * 2, numbers(d, 2, 3) + sparse(d), sparse(d).sub_(sparse(d))),
    "product of sparse": lambda d: (
        sparse(d) * sparse(d), sparse(d) @ numbers(d, 3, 2), torch.sparse.mm(sparse(d), sparse(d).t())
    ),
    "functions of sparse": lambda d: (
        sparse(d).sin(), -sparse(d), torch.sparse.softmax(sparse(d), 1), torch.sparse.sum(sparse(d), 0)
    ),
    "sparse that is made larger": lambda d: (
        torch.zeros(2, 3, 4, out=sparse(d)), torch._sparse_broadcast_to(sparse(d), (2, 2, 3))
    ),
    "compressed sparse": lambda d: [
        (matrix, matrix.to_dense(), matrix.values(), matrix.cpu(), matrix.sin(), matrix * 2)
        for make in COMPRESSED
        for matrix in [make(numbers(d, 4, 4).relu())]
    ],
    "other formats of compressed sparse": lambda d: [
        matrix.to_sparse(layout=layout)
        for matrix in (numbers(d, 4, 4).to_sparse_csr(), numbers(d, 4, 4).to_sparse_csc())
        for layout in (torch.sparse_csr, torch.sparse_csc, torch.sparse_coo)
    ],
    "gradient of compressed sparse": lambda d: gradient(
        lambda x: numbers(d, 4, 4).to_sparse_csr() @ x, numbers(d, 4, 2)
    ),
    "cat, index, transpose sparse": lambda d: (
        torch.cat([sparse(d), sparse(d)]), sparse(d).index_select(0, torch.tensor([1], device=d)), sparse(d).t()
    ),
    "gradient of sparse": lambda d: gradient(lambda x: torch.sparse.mm(sparse(d), x), numbers(d, 3, 2)),
    "print, save, copy sparse": lambda d: (
        repr(sparse(d)).replace(f"device='{d}:0', ", ""), saved(sparse(d)), copy.deepcopy(sparse(d))
    ),
    "sparse gradients": embedded,
    # Quantized tensors.
    "quantize_per_tensor": quantized,
    "quantize_per_channel": lambda d: torch.quantize_per_channel(
        numbers(d, 2, 3), torch.tensor([0.1, 0.2], device=d), torch.tensor([0, 1], device=d), 0, torch.qint8
    ),
    "dequantize, int_repr": lambda d: (
        quantized(d).dequantize(), quantized(d).int_repr(), quantized(d).q_scale(), quantized(d).q_zero_point()
    ),
    "quantized to the CPU and back": lambda d: quantized(d).cpu().to(d),
    "views of quantized": lambda d: (quantized(d).view(6), quantized(d)[1], quantized(d).t().contiguous()),
    "functions of quantized": lambda d: (
        F.relu(quantized(d)), torch.cat([quantized(d), quantized(d)]), quantized(d).mean(1), quantized(d).max(1).values
    ),
    "index, sort quantized": lambda d: (
        quantized(d)[torch.tensor([1], device=d)], quantized(d).sort(1), quantized(d) > 0.3
    ),
    "copy_, fill_ quantized": lambda d: (
        quantized(d).copy_(numbers(d, 2, 3) + 1), quantized(d).fill_(0.5), quantized(d).clone()
    ),
    "operators of quantized": lambda d: torch.ops.quantized.add(quantized(d), quantized(d), 0.2, 3),
    "print, save, copy quantized": lambda d: (
        repr(quantized(d)).replace(f"device='{d}:0', ", "").split(), saved(quantized(d)), copy.deepcopy(quantized(d))
    ),
    # Nested tensors.
    "nested_tensor": lambda d: list(nested(d).unbind()),
    "nested to the CPU and back": lambda d: written_out(nested(d).cpu().to(d)),
    "functions of nested": lambda d: [
        written_out(tensor)
        for tensor in (nested(d) + nested(d) * 2, nested(d).softmax(-1), F.gelu(nested(d)), nested(d).cos())
    ],
    "products of nested": lambda d: (
        written_out(F.linear(nested(d), numbers(d, 2, 3), numbers(d, 2))), written_out(nested(d) @ nested(d, 3, 3))
    ),
    "gradient of nested": lambda d: gradient(
        lambda x: written_out(torch.nested.as_nested_tensor([x[:1], x[1:]])), numbers(d, 3, 2)
    ),
    "print, save nested": lambda d: (repr(nested(d)).replace(f", device='{d}:0'", ""), written_out(saved(nested(d)))),
    "encoder with nested": encoded,
    "jagged": lambda d: torch.nested.nested_tensor([numbers(d, 2), numbers(d, 3)], layout=torch.jagged).sin().values(),
    # Random numbers.
    "the same seed, the same numbers": lambda d: seeded(d).equal(seeded(d)),
    "dropout keeps some": lambda d: 0 < F.dropout(torch.ones(1000, device=d)).count_nonzero().item() < 1000,
    "distributions": lambda d: torch.distributions.Normal(numbers(d, 3), 1.0).log_prob(numbers(d, 3)),
    # Autograd.
    "gradient": lambda d: gradient(lambda x: x.exp() * x, numbers(d, 3)),
    "gradient of a gradient": lambda d: gradient(
        lambda x: torch.autograd.grad((x**3).sum(), x, create_graph=True)[0], numbers(d, 3)
    ),
    "accumulated gradients": lambda d: written(
        numbers(d, 3).requires_grad_(), lambda x: [x.square().sum().backward() for _ in range(2)]
    ).grad,
    "hooks": hooked,
    "checkpoint": checkpointed,
    "autograd.Function": lambda d: gradient(Doubled.apply, numbers(d, 3)),
    "inference_mode": inferred,
    "func.grad, vmap": lambda d: torch.vmap(torch.func.grad(lambda x: x.sin().sum()))(numbers(d, 2, 3)),
    "func.jvp": lambda d: torch.func.jvp(torch.sin, (numbers(d, 3),), (numbers(d, 3),)),
    # Layers.
    "Linear": layer(lambda: nn.Linear(3, 2), 4, 3),
    "Conv1d": layer(lambda: nn.Conv1d(2, 3, 2), 2, 2, 5),
    "Conv2d": layer(lambda: nn.Conv2d(2, 4, 3, stride=2, padding=1, groups=2), 1, 2, 6, 6),
    "ConvTranspose2d": layer(lambda: nn.ConvTranspose2d(2, 3, 2), 1, 2, 3, 3),
    "BatchNorm2d": layer(lambda: nn.BatchNorm2d(2), 3, 2, 2, 2),
    "LayerNorm": layer(lambda: nn.LayerNorm(4), 3, 4),
    "GroupNorm": layer(lambda: nn.GroupNorm(2, 4), 2, 4, 3),
    "pooling": layer(lambda: nn.Sequential(nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1)), 1, 2, 4, 4),
    "upsampling": layer(lambda: nn.Upsample(scale_factor=2, mode="bilinear"), 1, 1, 3, 3),
    "activations": layer(lambda: nn.Sequential(nn.GELU(), nn.SiLU(), nn.Softplus(), nn.Softmax(-1)), 2, 3),
    "LSTM": layer(lambda: nn.LSTM(3, 4, batch_first=True), 2, 5, 3),
    "GRU": layer(lambda: nn.GRU(3, 4, bidirectional=True), 5, 2, 3),
    "attention": layer(lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True), 2, 3, 4),
    "Embedding": lambda d: nn.Embedding.from_pretrained(numbers("cpu", 5, 2)).to(d)(torch.tensor([4, 0], device=d)),
    "losses": lambda d: (
        F.cross_entropy(numbers(d, 3, 4), torch.tensor([1, 0, 3], device=d)),
        F.mse_loss(numbers(d, 3), torch.zeros(3, device=d)),
        F.binary_cross_entropy_with_logits(numbers(d, 3), torch.ones(3, device=d)),
    ),
    # Training.
    "amp": scaled,
    "random": lambda d: (module_of(d, "random").get_rng_state().dtype, module_of(d, "random").initial_seed() >= 0),
    "SGD": trained(torch.optim.SGD, momentum=0.9),
    "Adam": trained(torch.optim.Adam),
    "AdamW, foreach": trained(torch.optim.AdamW, foreach=True),
    "autocast": cast,
    "state_dict, save, load": stored,
    "data loader": batches,
    "jit.trace": lambda d: torch.jit.trace(lambda x: x.exp() + 1, numbers(d, 3))(numbers(d, 3)),
    "make_fx": lambda d: torch.fx.experimental.proxy_tensor.make_fx(torch.sin)(numbers(d, 3))(numbers(d, 3)),
    "export": lambda d: torch.export.export(nn.ReLU(), (numbers(d, 3),)).module()(numbers(d, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", FEATURES)
def test_feature(name: str) -> None:
    """The device gives what the CPU gives."""
    found, wanted = FEATURES[name]("acme"), FEATURES[name]("cpu")
    leaves = [torch.utils._pytree.tree_leaves(value) for value in (found, wanted)]
    assert len(leaves[0]) == len(leaves[1]) > 0
    for value, right in zip(*leaves, strict=True):
        if isinstance(right, torch.Tensor):
            assert value.layout == right.layout
            torch.testing.assert_close(value.cpu(), right, rtol=1e-4, atol=1e-4)
        else:
            assert value == right
