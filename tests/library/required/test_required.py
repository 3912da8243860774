"""Operators whose entries say what they need: eager calls and traces refuse the same calls with the same text."""

from __future__ import annotations

import importlib
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from tests.library.conftest import operators_of_abi
from tests.library.required.distributed import wrong_results

if TYPE_CHECKING:
    from typing import TypeAlias

    #: An argument or a result, an operator, or a mode of PyTorch's.
    Value: TypeAlias = Any

OWN = Path(__file__).parent


@pytest.fixture(scope="module", params=["native", "stable"])
def operators(
    request: pytest.FixtureRequest, program: str, torch: ModuleType, tmp_path_factory: pytest.TempPathFactory
) -> ModuleType:
    """The operators, with each C++ interface, and what their Python package registers."""
    return operators_of_abi(str(request.param), OWN, program, torch, tmp_path_factory)


def calls(torch: ModuleType) -> dict[str, Callable[[], list[Value]]]:
    """Operators with the arguments of calls that they take."""
    ones = torch.ones
    return {
        "rms_norm": lambda: [ones(2, 3, 4), ones(4), 1e-6],
        "rms_norm_backward": lambda: [ones(2, 4), ones(2, 4), ones(4), 1e-6],
        "pool": lambda: [ones(1, 3, 8, 2, 4), 2, ones(3, 5), ones(5)],
        "joined": lambda: [[ones(1, 2, 4), ones(3, 1, 4)], ones(2, 4)],
        "first_of": lambda: [[ones(2, 3), ones(2, 3)]],
        "plus": lambda: [ones(3, 1, 2), ones(4, 1)],
        "halve_": lambda: [ones(3, 2, 4), ones(1, 4, dtype=torch.bool)],
        "triple": lambda: [ones(2, 3)],
        "triple_": lambda: [ones(2, 3)],
        "shift_into": lambda: [ones(2, 3), ones(2, 3), torch.tensor(1.0)],
        "shift_into.functional": lambda: [ones(2, 3), torch.tensor(1.0)],
        "twice": lambda: [ones(2, 3, 4), ones(4)],
    }


def mutated(torch: ModuleType, chance: random.Random, value: Value) -> Value:
    """A value with another size, rank, dtype, stride or device; another number; a list with other items."""
    if isinstance(value, list):
        place = chance.randrange(len(value) + 1)
        if place == len(value):
            return [*value, mutated(torch, chance, value[0])] if chance.random() < 0.5 else value[:-1]
        return [mutated(torch, chance, item) if index == place else item for index, item in enumerate(value)]
    if not isinstance(value, torch.Tensor):
        return chance.choice([value, -value, 0, value + 1, 9])
    sizes = list(value.shape)
    place = chance.randrange(len(sizes)) if sizes else 0
    match chance.randrange(8):
        case 0 if sizes:
            sizes[place] = chance.choice([0, 1, 2, 3, 4, 5])
        case 1 if sizes:
            del sizes[place]
        case 2:
            sizes.insert(place, chance.choice([1, 2, 3]))
        case 3:
            dtypes = (torch.float64, torch.int64, torch.bool, torch.bfloat16, torch.complex64, torch.uint8)
            return value.to(chance.choice(dtypes))
        case 4:
            return value.transpose(place, -1) if sizes else value
        case 5:
            return value.repeat_interleave(2, -1)[..., ::2] if sizes else value
        case 6 if sizes:
            return value.narrow(place, 0, min(1, sizes[place])).expand(sizes)
        case 7:
            return value.to("meta")
    return torch.ones(sizes, dtype=value.dtype)


def outcome(call: Callable[..., Any], arguments: list[Value]) -> Value:
    """What a call does: the sizes, dtypes and strides of its results, or its error."""
    try:
        results = call(*arguments)
    except Exception as error:
        return str(error).partition("\n")[0]
    listed = results if isinstance(results, tuple | list) else [results]
    return [(list(result.shape), result.dtype, result.stride()) for result in listed if result is not None]


def faked(torch: ModuleType, mode: Value, value: Value) -> Value:
    """A value as it is in a trace."""
    if isinstance(value, list):
        return [faked(torch, mode, item) for item in value]
    return mode.from_tensor(value, static_shapes=True) if isinstance(value, torch.Tensor) else value


def on_one_device(torch: ModuleType, values: list[Value]) -> bool:
    """Whether all tensors are on one device. PyTorch compares those of traces itself."""
    tensors = [item for value in values for item in (value if isinstance(value, list) else [value])]
    return len({tensor.device for tensor in tensors if isinstance(tensor, torch.Tensor)}) < 2


def overload(operators: ModuleType, name: str) -> Value:
    """The overload of a name."""
    packet, _, of = name.partition(".")
    return getattr(getattr(operators, packet), of or "default")


@pytest.mark.parametrize("count", [60, pytest.param(1000, marks=pytest.mark.thorough)])
def test_eager_calls_and_traces_judge_alike(torch: ModuleType, operators: ModuleType, count: int) -> None:
    """Changed arguments are taken by both with the same results, or refused by both with the same text."""
    fake = importlib.import_module("torch._subclasses.fake_tensor").FakeTensorMode
    different, refused, taken = [], set(), 0
    for name, make in calls(torch).items():
        function, chance = overload(operators, name), random.Random(name)
        assert isinstance(outcome(function, make()), list), outcome(function, make())
        for _ in range(count):
            arguments = make()
            for _ in range(chance.choice([1, 1, 2])):
                place = chance.randrange(len(arguments))
                arguments[place] = mutated(torch, chance, arguments[place])
            with fake() as mode:
                traced = outcome(function, faked(torch, mode, arguments))
            eager = outcome(function, arguments)
            if isinstance(eager, str):
                refused.add(eager)
                if "no tensor arguments" in eager:
                    continue
                assert eager.startswith(str(operators.__name__).removeprefix("torch.ops.")), (name, arguments, eager)
            if "share memory" in str(traced) and "meta" in str(arguments):
                # With the stable interface, tensors without memory are checked in traces alone.
                continue
            taken += isinstance(eager, list)
            if eager != traced and on_one_device(torch, arguments):
                different.append((name, arguments, eager, traced))
    assert different == [], "\n".join(map(str, different[:5]))
    assert len(refused) > 30
    assert taken > 50


def test_messages_say_what_is_and_what_has_to_be(torch: ModuleType, operators: ModuleType) -> None:
    """A refused call learns the operator, the argument, its dimension, what it is, and what it has to be."""
    name, ones = str(operators.__name__), torch.ones
    messages = [
        (ones(2, 8), ones(4), 1e-6, "dimension 0 of `weight` has size 4, and has to have size 8 (`d` of `x`)"),
        (ones(2, 4), ones(2, 4), 1e-6, "`weight` has rank 2, and has to have rank 1 (`d`)"),
        (torch.tensor(1.0), ones(4), 1e-6, "`x` has rank 0, and has to have rank 1 or more (`*b d`)"),
        (ones(4).int(), ones(4), 1e-6, "`x` has dtype int32, and has to have dtype float32 or float64"),
        (ones(4), ones(4).double(), 1e-6, "`weight` has dtype float64, and has to have dtype float32 (that of `x`)"),
        (ones(4), ones(4), -1, "`eps > 0` has to hold, and `eps` is -1"),
    ]
    for x, weight, eps, message in messages:
        with pytest.raises(RuntimeError) as raised:
            operators.rms_norm(x, weight, eps)
        assert str(raised.value) == f"{name.removeprefix('torch.ops.')}::rms_norm: {message}"


def reference(torch: ModuleType, x: Value, weight: Value) -> Value:
    """The same as `rms_norm`, of PyTorch's operators."""
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * weight


def test_kernels_get_the_layout_that_they_need(torch: ModuleType, operators: ModuleType) -> None:
    """Transposed, sliced and expanded arguments are copied; results and gradients are those of PyTorch's operators."""
    made = torch.rand(5, 4, 3, dtype=torch.float64) + 1
    for x in (made.transpose(0, 2), made[::2, 1:3], made[:, :1].expand(5, 4, 3), made[:0]):
        weight = (torch.rand(2 * x.shape[-1], dtype=torch.float64) + 1)[::2].requires_grad_()
        x = x.detach().requires_grad_()
        expected, result = reference(torch, x, weight), operators.rms_norm(x, weight)
        torch.testing.assert_close(result, expected)
        assert result.is_contiguous()
        direction = torch.rand_like(expected)
        gradients = torch.autograd.grad(result, (x, weight), direction)
        torch.testing.assert_close(gradients, torch.autograd.grad(expected, (x, weight), direction))


def test_arguments_that_are_written_are_not_copied(torch: ModuleType, operators: ModuleType) -> None:
    """An in-place overload refuses the layouts of which the functional one gets copies, since a copy loses writes."""
    made = torch.rand(3, 4)
    torch.testing.assert_close(operators.triple(made.t()), 3 * made.t())
    expected = 3 * made
    with pytest.raises(RuntimeError, match="`self` is not contiguous, and has to be"):
        operators.triple_(made.t())
    operators.triple_(made)
    torch.testing.assert_close(made, expected)


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.thorough)])
@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled_calls_know_the_strides(torch: ModuleType, operators: ModuleType, backend: str, dynamic: bool) -> None:
    """A compiled call with a transposed argument gives the eager result; Inductor asserts the strides."""
    torch._dynamo.reset()

    def run(x: Value, weight: Value) -> Value:
        return operators.rms_norm(x.transpose(0, 1), weight) * 2

    x, weight = torch.rand(3, 5, 4) + 1, torch.rand(4)
    compiled = torch.compile(run, backend=backend, fullgraph=True, dynamic=dynamic)
    torch.testing.assert_close(compiled(x, weight), run(x, weight))
    torch.testing.assert_close(compiled(x[:2], weight), run(x[:2], weight))


def test_traces_expect_sizes_that_they_do_not_know(torch: ModuleType, operators: ModuleType) -> None:
    """A size that depends on values is taken in a trace, and checked when the program runs."""

    class Program(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Value, weight: Value) -> Value:
            chosen = weight.nonzero().squeeze(1).to(x.dtype)
            return operators.rms_norm(x, chosen)

    x, weight = torch.rand(3, 4), torch.tensor([1, 0, 1, 1, 1])
    program = torch.export.export(Program(), (x, weight)).module()
    torch.testing.assert_close(program(x, weight), Program()(x, weight))
    with pytest.raises(RuntimeError):
        program(x, torch.tensor([1, 0, 0, 1, 1]))


@pytest.mark.thorough
def test_distributed_tensors_have_rules(torch: ModuleType, operators: ModuleType) -> None:
    """Results and gradients for all placements on a mesh of two by two are those of one device."""
    arguments = torch.rand(4, 6, 8, dtype=torch.float64) + 1, torch.rand(8, dtype=torch.float64)
    count, wrong = wrong_results(torch, lambda x, weight: operators.rms_norm(x, weight), arguments)
    assert (count, wrong) == (64, [])


def test_vmap_adds_its_dimension_to_those_of_a_pattern(torch: ModuleType, operators: ModuleType) -> None:
    """Results of `vmap` over any dimensions of one or all arguments are those of one call after the other."""
    rand = torch.rand
    cases = [
        (operators.rms_norm, (rand(5, 2, 3, 4), rand(4)), (0, None)),
        (operators.rms_norm, (rand(3, 4, 5), rand(4)), (-1, None)),
        (operators.rms_norm, (rand(3, 4), rand(5, 4)), (None, 0)),
        (operators.rms_norm, (rand(5, 4), rand(4, 5)), (0, 1)),
        (operators.plus, (rand(5, 3, 1, 2), rand(4, 1)), (0, None)),
        (operators.plus, (rand(3, 1, 2), rand(4, 1, 5).movedim(2, 0)), (None, 0)),
        (operators.plus, (rand(5, 3, 1, 2), rand(5, 4, 1)), (0, 0)),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for operator, values, dims in cases:
            rows = [
                operator(
                    *[value if dim is None else value.select(dim, row) for value, dim in zip(values, dims, strict=True)]
                )
                for row in range(5)
            ]
            torch.testing.assert_close(torch.vmap(operator, dims)(*values), torch.stack(rows))
            nested = torch.vmap(torch.vmap(operator, dims), (0, None))(torch.stack([values[0]] * 2), values[1])
            torch.testing.assert_close(nested, torch.stack([torch.stack(rows)] * 2))


def test_gradients_of_samples_follow_from_vmap(torch: ModuleType, operators: ModuleType) -> None:
    """The gradient of each sample, by `vmap` of `grad`, is that of one call after the other."""
    x, weight = torch.rand(5, 3, 4) + 1, torch.rand(4)
    gradient = torch.func.grad(lambda x, weight: operators.rms_norm(x, weight).square().sum(), 1)
    rows = torch.stack([gradient(row, weight) for row in x])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="There is a performance drop")
        torch.testing.assert_close(torch.vmap(gradient, (0, None))(x, weight), rows)
