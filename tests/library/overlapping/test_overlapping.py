"""Operators that write: calls in which written tensors share memory with others, alone and in compiled programs."""

from __future__ import annotations

import gc
import importlib
import itertools
import operator
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from tests.library.conftest import operators_of_abi
from tests.library.overlapping.plain import plain_operators
from tests.library.overlapping.programs import SIZE
from tests.library.overlapping.programs import program as drawn_program

if TYPE_CHECKING:
    from torch import Tensor

    from tests.library.overlapping.programs import Program

    Inputs: TypeAlias = "tuple[Tensor, Tensor]"

OWN = Path(__file__).parent

#: Programs that Inductor 2.13 computes wrongly with `torch.library.custom_op` too: it reads a view too late.
FAULTS_OF_INDUCTOR = {1051}


@pytest.fixture(autouse=True)
def _without_old_programs(torch: ModuleType) -> Iterator[None]:
    """The functional program is made in each test: PyTorch's cache of them does not know the module `_overlap`."""
    with importlib.import_module("torch._functorch.config").patch(enable_autograd_cache=False):
        yield


@pytest.fixture(scope="session")
def plain(torch: ModuleType) -> SimpleNamespace:
    """The operators as PyTorch alone makes them."""
    return plain_operators(torch)


@pytest.fixture(scope="session", params=[pytest.param("native", marks=pytest.mark.thorough), "stable"])
def operators(
    request: pytest.FixtureRequest, program: str, torch: ModuleType, tmp_path_factory: pytest.TempPathFactory
) -> ModuleType:
    """The operators, with each C++ interface, and what their Python package registers."""
    return operators_of_abi(str(request.param), OWN, program, torch, tmp_path_factory)


def inputs(torch: ModuleType, seed: int) -> Inputs:
    """Two tensors, every fourth time with memory in common."""
    memory = torch.arange(2.0 * SIZE) + 1
    apart = 8 if seed % 4 == 3 else SIZE
    return memory[:SIZE], memory[apart : apart + SIZE]


def outcome(torch: ModuleType, run: Callable[[Tensor, Tensor], Tensor], seed: int) -> list[list[float]] | str:
    """What a program returns and leaves in its inputs; a text if it raises."""
    x, y = inputs(torch, seed)
    try:
        result = run(x, y)
    except Exception as error:
        return f"raises: {error}"
    return [result.tolist(), x.tolist(), y.tolist()]


def outcomes(torch: ModuleType, run: Program, seed: int, backend: str) -> list[list[list[float]] | str]:
    """What a program does in eager mode, and when it is compiled."""
    torch._dynamo.reset()
    compiled = torch.compile(run, backend=backend, fullgraph=True, dynamic=False)
    return [outcome(torch, run, seed), outcome(torch, compiled, seed)]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("backend", "seeds"),
    [
        ("aot_eager", range(12)),
        ("aot_eager", range(100, 600)),
        ("inductor", range(1000, 1060)),
    ],
)
def test_compiled_programs_do_what_eager_ones_do(
    torch: ModuleType, operators: ModuleType, plain: SimpleNamespace, backend: str, seeds: range
) -> None:
    """A program of views and writes has the same results when it is compiled, or raises in both ways."""
    different, ran, raised = [], 0, 0
    for seed in seeds:
        eager, compiled = own = outcomes(torch, drawn_program(seed, operators), seed, backend)
        if isinstance(eager, str) and isinstance(compiled, str):
            raised += 1
        elif eager == compiled:
            ran += 1
        elif seed not in FAULTS_OF_INDUCTOR or own != outcomes(torch, drawn_program(seed, plain), seed, backend):
            different.append(f"program {seed}:\n  eager {eager}\n  {backend} {compiled}")
    assert not different, "\n".join(different)
    assert ran
    assert len(seeds) < 10 or raised


def write_to_views(operators: ModuleType, x: Tensor, y: Tensor) -> Tensor:
    """Writes to views that are made before their base changes."""
    first, second, third = y[8:14], y[14:20].view(2, 3), y[2:8:2]
    operators.reverse_into(x[:6], first)
    operators.spread(x[6:12].view(2, 3), [second])
    y.add_(1)
    operators.negate_(third)
    return x * 2 + y + first.sum() + second.sum() + third.sum()


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.thorough)])
def test_views_of_an_input_that_begins_inside_its_storage(
    torch: ModuleType, operators: ModuleType, backend: str
) -> None:
    """A view is written at its place: PyTorch alone looks for it behind the end of a base with an offset."""
    # Of an even seed, the second input has an offset.
    eager, compiled = outcomes(torch, partial(write_to_views, operators), 0, backend)
    assert not isinstance(eager, str)
    assert compiled == eager


def strided(draw: random.Random, memory: Tensor) -> Tensor:
    """A tensor with three dimensions of any strides, in some memory."""
    sizes = [draw.randint(0 if draw.random() < 0.1 else 1, 4) for _ in range(3)]
    strides = [draw.choice([0, 1, 2, 3, 4, 6, 8, 12]) for _ in range(3)]
    return memory.as_strided(sizes, strides, draw.randrange(20))


def places(tensor: Tensor) -> list[int]:
    """Where the elements of a tensor are."""
    indices = itertools.product(*map(range, tensor.shape))
    strides = tensor.stride()
    return [tensor.storage_offset() + sum(map(operator.mul, index, strides)) for index in indices]


def test_the_check_is_exact(torch: ModuleType, operators: ModuleType) -> None:
    """A call raises if and only if some element has two places, or a place that another argument has too."""
    draw, memory = random.Random(3), torch.zeros(120)
    outcomes = set()
    for _ in range(2000):
        src, low, high = (strided(draw, memory) for _ in range(3))
        # The kernel reads as many elements as it writes.
        src, high = src.new_zeros(low.shape) if src.shape != low.shape else src, high.new_zeros(low.shape)
        written, read = places(low), places(src)
        apart = src.untyped_storage().data_ptr() != memory.untyped_storage().data_ptr()
        is_shared = len(set(written)) < len(written) or (not apart and not set(written).isdisjoint(read))
        try:
            operators.split_into(src, low, high)
            raised = False
        except RuntimeError:
            raised = True
        assert raised == is_shared, (src.shape, src.stride(), src.storage_offset(), low.stride(), low.storage_offset())
        outcomes.add((raised, apart))
    assert len(outcomes) == 4


def test_other_dtypes_of_the_same_memory(torch: ModuleType, operators: ModuleType) -> None:
    """Elements of different sizes share bytes."""
    memory = torch.zeros(8)
    halves = memory.view(torch.float16)
    with pytest.raises(RuntimeError, match="shares memory with `src`"):
        operators.reverse_into(halves[4:8], memory[2:6])
    operators.reverse_into(halves[8:12].view(torch.float32), memory[0:2])


def test_lists_that_may_be_left_out(torch: ModuleType, operators: ModuleType) -> None:
    """The tensors of an optional list are looked at like those of a list."""
    x = torch.arange(6.0)
    operators.gather_into(x[4:], [x[:1], x[2:3]])
    operators.gather_into(x[:2])
    assert x.tolist() == [0, 1, 2, 3, 0, 2]
    with pytest.raises(RuntimeError, match="gather_into writes to `dst`, which shares memory with `parts`"):
        operators.gather_into(x[4:], [x[:1], x[5:]])


def test_a_kernel_of_an_in_place_overload_gets_its_result(torch: ModuleType, operators: ModuleType) -> None:
    """With the contract `inplace`, the result may be exactly what is read, and nothing between that and another."""
    x = torch.arange(6.0)
    assert operators.negate_(x).tolist() == [0, -1, -2, -3, -4, -5]
    operators.negate(x, x)
    operators.negate.out(x[1:3], out=x[1:3])
    assert x.tolist() == [0, -1, -2, 3, 4, 5]
    with pytest.raises(RuntimeError, match="negate writes to `result`, which shares memory with `self`"):
        operators.negate(x[:3], x[1:4])
    with pytest.raises(RuntimeError, match=r"rotate.* writes to `.*`, which shares memory with `src`"):
        operators.rotate.out(x, out=x)


def test_allowed_overlap(torch: ModuleType, operators: ModuleType) -> None:
    """An operator with `overlap: allowed` has no check; tensors without memory pass those of others."""
    x = torch.arange(6.0)
    operators.shift_into(x[:5], x[1:])
    assert x.tolist() == [0, 1, 2, 3, 4, 5]
    operators.spread(None, [x])
    assert operators.split_into(torch.zeros(0), torch.zeros(0), torch.zeros(0)) is None


def test_none_in_place_of_a_written_argument(torch: ModuleType, operators: ModuleType) -> None:
    """A call without the tensor that it may write to runs, whatever else is on; one with it counts as a write."""
    x = torch.arange(3.0)
    compiled = torch.compile(lambda x: operators.update(x), backend="aot_eager", fullgraph=True)
    for call in (operators.update, lambda x: operators.update(x, None), compiled):
        for context in (torch.enable_grad, torch.no_grad, torch.inference_mode):
            with context():
                assert call(x).tolist() == [0, -1, -2]
    # Nothing has to be differentiated.
    assert operators.update(x.clone().requires_grad_()).tolist() == [0, -1, -2]
    assert operators.update(x.to("meta")).shape == (3,)
    total = torch.ones(3)
    before = total._version
    assert operators.update(x, total).tolist() == [0, -1, -2]
    assert total.tolist() == [1, 2, 3]
    assert total._version > before


def test_tensors_whose_numbers_are_negated_when_read(torch: ModuleType, operators: ModuleType) -> None:
    """PyTorch negates the imaginary part of a conjugate when someone reads it: kernels see numbers, and write them."""
    for src_is_lazy, dst_is_lazy in itertools.product((False, True), repeat=2):
        pairs = [torch.complex(torch.zeros(6), torch.arange(6.0) + start).conj() for start in (1, 10)]
        src, dst = (
            pair.imag if is_lazy else pair.imag.resolve_neg()
            for pair, is_lazy in zip(pairs, (src_is_lazy, dst_is_lazy), strict=True)
        )
        assert (src.is_neg(), dst.is_neg()) == (src_is_lazy, dst_is_lazy)
        for _ in range(5):
            # Operators that return nothing of what they write: PyTorch's fallback would take what is not there.
            assert operators.reverse_into(src, dst) is None
            assert dst.tolist() == [-6, -5, -4, -3, -2, -1]
            assert operators.update(src, dst).tolist() == [1, 2, 3, 4, 5, 6]
            assert dst.tolist() == [-7] * 6
        assert src.tolist() == [-1, -2, -3, -4, -5, -6]
        assert not dst_is_lazy or pairs[1].resolve_conj().imag.tolist() == [-7] * 6
    gc.collect()


@pytest.mark.thorough
def test_inductor_keeps_copies_that_are_read(torch: ModuleType, operators: ModuleType) -> None:
    """Inductor removes the clone, and lets the operator write in place; the program copies what it reads again."""

    def run(x: Tensor) -> Tensor:
        operators.reverse_into(x.clone(), x)
        operators.rotate(x, x[:] * 1)
        return x * 2

    eager, compiled = torch.arange(8.0), torch.arange(8.0)
    torch._dynamo.reset()
    assert run(eager).equal(torch.compile(run)(compiled))
    assert eager.equal(compiled)


def module(torch: ModuleType, run: Callable[..., Tensor]) -> Any:  # noqa: ANN401
    """A module that runs a function, for exports."""
    return type("Run", (torch.nn.Module,), {"forward": lambda self, *args: run(*args)})()


def test_exports_raise(torch: ModuleType, operators: ModuleType) -> None:
    """`torch.export` raises where eager calls do, and takes other programs, also of any size."""

    def run(x: Tensor, y: Tensor) -> Tensor:
        out = y.clone()
        operators.reverse_into(x[:, :2], x[:, 2:4])
        operators.reverse_into(x, out)
        return out

    def overlapping(x: Tensor) -> Tensor:
        operators.reverse_into(x[:, :3], x[:, 2:5])
        return x * 2

    x, y = torch.arange(18.0).view(3, 6), torch.zeros(3, 6)
    rows = ({0: torch.export.Dim("rows", min=2)},)
    program = torch.export.export(module(torch, run), (x.clone(), y), dynamic_shapes=(rows * 2,))
    larger = torch.arange(30.0).view(5, 6)
    wanted = run(larger.clone(), torch.zeros(5, 6))
    assert program.module()(larger.clone(), torch.zeros(5, 6)).equal(wanted)
    assert program.run_decompositions().module()(larger.clone(), torch.zeros(5, 6)).equal(wanted)
    with pytest.raises(Exception, match="shares memory with `src`"):
        torch.export.export(module(torch, overlapping), (x.clone(),))
