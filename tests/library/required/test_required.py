"""Operators whose entries say what they need: eager calls and traces refuse the same calls with the same text."""

from __future__ import annotations

import importlib
import importlib.util
import json
import random
import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from opwright.cli.main import main
from tests.compile.compiler import Compiler
from tests.library.conftest import INCLUDE, generated_code, operators_of_abi, source_of_abi
from tests.library.required import reference as functions
from tests.library.required.distributed import placements_of_results, wrong_results

if TYPE_CHECKING:
    from typing import TypeAlias

    #: An argument or a result, an operator, or a mode of PyTorch's.
    Value: TypeAlias = Any

OWN = Path(__file__).parent


@pytest.fixture(scope="session", params=[pytest.param("native", marks=pytest.mark.thorough), "stable"])
def operators(
    request: pytest.FixtureRequest, program: str, torch: ModuleType, tmp_path_factory: pytest.TempPathFactory
) -> ModuleType:
    """The operators, with each C++ interface, and what their Python package registers."""
    return operators_of_abi(str(request.param), OWN, program, torch, tmp_path_factory)


@pytest.mark.thorough
def test_native_code_is_valid(program: str, torch: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Compilers take what is generated for the native interface, and kernels for it; to build that takes twice this."""
    del torch
    folder = source_of_abi("native", OWN, tmp_path_factory.mktemp("required_source"))
    generated = generated_code(folder / "operators.yaml", tmp_path_factory)
    compiler = Compiler(program, tmp_path_factory.mktemp("required_syntax"), [generated / "include", INCLUDE])
    together = compiler.folder / "required.cpp"
    sources = [*sorted((generated / "src" / "required").glob("*.cpp")), folder / "kernels.cpp"]
    together.write_text("".join(f'#include "{source}"\n' for source in sources), encoding="utf-8")
    compiler.check_syntax(together)


def calls(torch: ModuleType) -> dict[str, Callable[[], list[Value]]]:
    """Operators with the arguments of calls that they take."""
    ones = torch.ones
    return {
        "rms_norm": lambda: [ones(2, 3, 4), ones(4), 1e-6],
        "rms_norm_backward": lambda: [ones(2, 4), ones(2, 4), ones(4), 1e-6],
        "pool": lambda: [ones(1, 3, 8, 2, 4), 2, ones(3, 5), ones(5)],
        "joined": lambda: [[ones(1, 2, 4), ones(3, 1, 4)], ones(2, 4)],
        "windows": lambda: [ones(2, 5), 3],
        "first_of": lambda: [[ones(2, 3), ones(2, 3)]],
        "plus": lambda: [ones(3, 1, 2), ones(4, 1)],
        "halve_": lambda: [ones(3, 2, 4), ones(1, 4, dtype=torch.bool)],
        "over": lambda: [ones(2, 3, 4), ones(2, 4), 1],
        "triple": lambda: [ones(2, 3)],
        "triple_": lambda: [ones(2, 3)],
        "shift_into": lambda: [ones(2, 3), ones(2, 3), torch.tensor(1.0)],
        "shift_into.functional": lambda: [ones(2, 3), torch.tensor(1.0)],
        "shift_into.out": lambda: [ones(2, 3), torch.tensor(1.0), ones(2, 3)],
        "plus.out": lambda: [ones(3, 1, 2), ones(4, 1), ones(3, 4, 2)],
        "plain_norm": lambda: [ones(2, 3, 4), ones(4), 1e-6],
        "elsewhere": lambda: [ones(2, 3)],
        "twice": lambda: [ones(2, 3, 4), ones(4)],
        "nested": lambda: [ones(2, 3, 4), ones(4)],
        "triple.out": lambda: [ones(2, 3), ones(2, 3)],
        "summed.out": lambda: [ones(2, 3), ones(3), ones(2)],
        "chained.out": lambda: [[ones(2, 1), ones(2, 4)], ones(2, 5)],
        "raised_": lambda: [ones(2, 3), ones(1)],
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


#: Overloads that are made from others.
CALLING_OTHERS = ("shift_into.out", "plus.out")


def called(function: Value) -> Value:
    """An overload as a function of values alone: the last one is `out`, where it has that."""
    if function._overloadname != "out":
        return function
    return lambda *arguments: function(*arguments[:-1], out=arguments[-1])


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("count", [30, pytest.param(1000, marks=pytest.mark.thorough)])
def test_eager_calls_and_traces_judge_alike(torch: ModuleType, operators: ModuleType, count: int) -> None:
    """Changed arguments are taken by both with the same results, or refused by both with the same text."""
    fake = importlib.import_module("torch._subclasses.fake_tensor").FakeTensorMode
    different, refused, taken = [], set(), 0
    for name, make in calls(torch).items():
        function, chance = called(overload(operators, name)), random.Random(name)
        assert isinstance(outcome(function, make()), list), outcome(function, make())
        for _ in range(count):
            arguments = make()
            for _ in range(chance.choice([1, 1, 2])):
                place = chance.randrange(len(arguments))
                arguments[place] = mutated(torch, chance, arguments[place])
            with fake() as mode:
                traced = outcome(function, faked(torch, mode, arguments))
            eager = outcome(function, arguments)
            if name in CALLING_OTHERS and "memory" in f"{eager}{traced}":
                # What these overloads call looks for shared memory, and says so of arguments of its own.
                continue
            if isinstance(eager, str):
                refused.add(eager)
                if "no tensor arguments" in eager:
                    continue
                starts = (str(operators.__name__).removeprefix("torch.ops."), "Expected ", "Bad in-place call: ")
                assert eager.startswith(starts), (name, arguments, eager)
            if "share memory" in str(traced) and "meta" in str(arguments):
                # With the stable interface, tensors without memory are checked in traces alone.
                continue
            taken += isinstance(eager, list)
            if eager != traced and on_one_device(torch, arguments):
                different.append((name, arguments, eager, traced))
    assert different == [], "\n".join(map(str, different[:5]))
    assert len(refused) > 30
    assert taken > 50


def test_tensors_without_elements_have_any_layout(torch: ModuleType, operators: ModuleType) -> None:
    """Eager calls and traces take a tensor without elements whose last dimension has another stride than 1."""
    fake = importlib.import_module("torch._subclasses.fake_tensor").FakeTensorMode
    arguments = [torch.ones(4, 0, 2)[..., 0], torch.ones(4, 0, dtype=torch.bool)]
    function = overload(operators, "halve_")
    assert arguments[0].stride() == (2, 2)
    with fake() as mode:
        traced = outcome(function, faked(torch, mode, arguments))
    assert isinstance(traced, list), traced
    assert isinstance(outcome(function, arguments), list)


def with_values(text: str, values: dict[str, Value]) -> str:
    """A text with the sizes and dtypes of tensors in place of expressions."""
    expression = r"\b\w+\.(?:shape\[-1\]|dtype)"
    return re.sub(expression, lambda found: str(eval(found[0], values)).removeprefix("torch."), text)


def test_messages_say_what_is_and_what_has_to_be(
    torch: ModuleType, operators: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    """A refused call learns the operator, the argument, its dimension, what it is, and what it has to be.

    `opwright explain` says beforehand what the last has to be.
    """
    file = str(OWN / "operators.yaml")
    assert main(["explain", "required::rms_norm", "--library", file, "--format", "json"]) == 0
    (explained,) = json.loads(capsys.readouterr().out)["operators"]
    conditions = explained["requirements"]["conditions"]
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
        values = {"x": torch.atleast_1d(x), "weight": weight}
        said = [with_values(text, values) for text in conditions]
        wanted = re.sub(r" has (?!to ).*, and |, and `eps` is .*", " ", message).rstrip()
        assert wanted in said


def test_sizes_of_results_are_required_in_words(
    torch: ModuleType, operators: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    """A call with a result of negative size learns the dimension, of which `opwright explain` says the same."""
    assert main(["explain", "required::windows", "--library", str(OWN / "operators.yaml"), "--format", "json"]) == 0
    (explained,) = json.loads(capsys.readouterr().out)["operators"]
    wanted = "has to have size 0 or more (`d-{width}+1`)"
    assert f"dimension -2 of the result {wanted}" in explained["requirements"]["conditions"]
    with pytest.raises(RuntimeError) as raised:
        operators.windows(torch.ones(2, 3), 5)
    assert str(raised.value).endswith(f"::windows: dimension -2 of the result has size -1, and {wanted}")


def test_kernels_get_the_layout_that_they_need(torch: ModuleType, operators: ModuleType) -> None:
    """Transposed, sliced and expanded arguments are copied; results and gradients are those of PyTorch's operators."""
    made = torch.rand(5, 4, 3, dtype=torch.float64) + 1
    for x in (made.transpose(0, 2), made[::2, 1:3], made[:, :1].expand(5, 4, 3), made[:0]):
        weight = (torch.rand(2 * x.shape[-1], dtype=torch.float64) + 1)[::2].requires_grad_()
        x = x.detach().requires_grad_()
        expected, result = functions.rms_norm(x, weight, 1e-6), operators.rms_norm(x, weight)
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


def test_kernels_get_addresses_that_they_need(torch: ModuleType, operators: ModuleType) -> None:
    """A tensor that begins between two multiples of 16 bytes is copied for a kernel that reads vectors."""
    made, weight = torch.rand(13) + 1, torch.rand(4)
    for start in range(4):
        for x in (made[start : start + 8].view(2, 4), made[start : start + 8].view(4, 2).t()):
            torch.testing.assert_close(operators.plain_norm(x, weight), functions.rms_norm(x, weight, 1e-6))


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


def test_required_dtypes_of_composite_operators_leave_sizes_open(torch: ModuleType, operators: ModuleType) -> None:
    """One trace serves calls of other sizes, and refuses calls of other dtypes as eager mode does."""
    shapes = importlib.import_module("torch.fx.experimental.symbolic_shapes")
    traces = []

    def backend(graph: Value, _: Value) -> Value:
        traces.append(graph)
        return graph

    torch._dynamo.reset()
    aot = importlib.import_module("torch._dynamo.backends.common").aot_autograd(fw_compiler=backend)
    compiled = torch.compile(operators.nested, backend=aot, fullgraph=True, dynamic=True)
    for size in (3, 4, 6):
        x, weight = torch.rand(2 * size, size) + 1, torch.rand(size)
        torch.testing.assert_close(compiled(x, weight), operators.nested(x, weight))
    assert len(traces) == 1
    with importlib.import_module("torch._subclasses.fake_tensor").FakeTensorMode(shape_env=shapes.ShapeEnv()) as mode:
        wrong = [mode.from_tensor(torch.rand(2, 3)), mode.from_tensor(torch.rand(3, dtype=torch.float64))]
        with pytest.raises(RuntimeError, match="nested: `weight` has dtype float64"):
            operators.nested(*wrong)


@pytest.mark.thorough
def test_distributed_tensors_have_rules(torch: ModuleType, operators: ModuleType) -> None:
    """Results and gradients for all placements on a mesh of two by two are those of one device."""
    arguments = torch.rand(4, 6, 8, dtype=torch.float64) + 1, torch.rand(8, dtype=torch.float64)
    count, wrong = wrong_results(torch, lambda x, weight: operators.rms_norm(x, weight), arguments)
    assert (count, wrong) == (225, [])
    backward = operators.rms_norm_backward

    def run(grad: Value, x: Value, weight: Value) -> Value:
        x_grad, weight_grad = backward(grad, x, weight, 1e-6)
        return x_grad * weight_grad

    x = torch.rand(4, 8, dtype=torch.float64)
    count, wrong = wrong_results(torch, run, (x + 2, x + 1, arguments[1]), 60)
    assert (count, wrong) == (60, [])


def test_sums_wait_in_distributed_tensors(torch: ModuleType, operators: ModuleType) -> None:
    """An operator computes sums over parts, and parts of sums, where its entry says that it can, and not elsewhere."""
    tensors = importlib.import_module("torch.distributed.tensor")
    results = placements_of_results(
        lambda *values: operators.rms_norm_backward(*values, 1e-6),
        (torch.rand(4, 8), torch.rand(4, 8), torch.rand(8)),
        {
            "sharded": (tensors.Shard(0), tensors.Shard(0), tensors.Replicate()),
            "sum": (tensors.Partial(), tensors.Replicate(), tensors.Replicate()),
            "sum of x": (tensors.Replicate(), tensors.Partial(), tensors.Replicate()),
        },
    )
    assert results == {
        "sharded": [tensors.Shard(0), tensors.Partial()],
        "sum": [tensors.Partial(), tensors.Partial()],
        # The sum is computed first, of which each device needs a part.
        "sum of x": [tensors.Shard(0), tensors.Partial()],
    }


#: A rule of Shardy: factors of the dimensions of operands and results, their sizes, and what becomes of them.
_RULE = re.compile(
    r"\((?P<operands>.*)\)->\((?P<results>.*)\) \{(?P<sizes>.*?)\}"
    r"(?: reduction=\{(?P<reduction>.*?)\})?(?: need_replication=\{(?P<need_replication>.*?)\})?"
)


@pytest.mark.parametrize("name", ["rms_norm", "plain_norm", "plus", "triple", "column_sums", "rms_norm_backward"])
def test_shardy_has_the_rule_of_distributed_tensors(
    torch: ModuleType, operators: ModuleType, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """Where Shardy propagates a sharding, distributed tensors have it too, and a sum is one of parts."""
    assert main(["dump", "--library", str(OWN / "operators.yaml")]) == 0
    records = {record["name"]: record for record in json.loads(capsys.readouterr().out)["operators"]}
    rule = _RULE.fullmatch(records[name]["sharding_rule"])
    assert rule is not None
    operands, results = [
        [mapping.split(", ") if mapping else [] for mapping in re.findall(r"\[(.*?)\]", rule[side])]
        for side in ("operands", "results")
    ]
    factors = [size.split("=")[0] for size in rule["sizes"].split(", ")]
    reduction, replicated = [set((rule[key] or "").split(", ")) - {""} for key in ("reduction", "need_replication")]
    # What Shardy's parser asks for: letters in their order, each factor somewhere, and no reduced one in a result.
    assert factors == [chr(ord("i") + index) for index in range(len(factors))]
    assert set(factors) == {factor for mapping in operands + results for factor in mapping}
    assert reduction.isdisjoint(replicated | {factor for mapping in results for factor in mapping})
    tensors = importlib.import_module("torch.distributed.tensor")

    def placed(mapping: list[str], factor: str) -> Value:
        missing = tensors.Partial() if factor in reduction else tensors.Replicate()
        return tensors.Shard(mapping.index(factor)) if factor in mapping else missing

    made = [torch.rand(*[4 + 2 * factors.index(factor) for factor in mapping]) for mapping in operands]
    shards: dict[str, Sequence[Value]] = {
        factor: [placed(mapping, factor) if factor in mapping else tensors.Replicate() for mapping in operands]
        for factor in set(factors) - replicated
    }
    more = [1e-6] if name == "rms_norm_backward" else []

    def run(*values: Value) -> Value:
        made = getattr(operators, name)(*values, *more)
        return made if isinstance(made, tuple) else (made,)

    found = placements_of_results(run, made, shards)
    assert found == {factor: [placed(mapping, factor) for mapping in results] for factor in shards}
    assert bool(shards) == (name != "rms_norm_backward")


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


@pytest.mark.parametrize("name", ["rms_norm", "plain_norm"])
def test_references_give_derivatives_without_formulas(torch: ModuleType, operators: ModuleType, name: str) -> None:
    """An operator with a formula of first order, and one without any, have derivatives of every order and mode."""
    autograd, func, operator = torch.autograd, torch.func, getattr(operators, name)
    x, weight = torch.rand(2, 3, dtype=torch.float64) + 1, torch.rand(3, dtype=torch.float64)
    inputs = x.clone().requires_grad_(), weight.clone().requires_grad_()

    def run(x: Value, weight: Value) -> Value:
        return operator(x, weight)

    def expected(x: Value, weight: Value) -> Value:
        return functions.rms_norm(x, weight, 1e-6)

    assert autograd.gradcheck(run, inputs, check_forward_ad=True, check_batched_grad=True)
    assert autograd.gradgradcheck(run, inputs, check_fwd_over_rev=True)
    tangents = torch.ones_like(x), torch.ones_like(weight)
    torch.testing.assert_close(
        func.jvp(run, (x, weight), tangents), func.jvp(expected, (x, weight), tangents), rtol=1e-12, atol=1e-12
    )
    for transform in (func.jacrev, func.jacfwd, func.hessian):
        for argument in (0, 1):
            result, wanted = (transform(function, argument)(x, weight) for function in (run, expected))
            torch.testing.assert_close(result, wanted, rtol=1e-12, atol=1e-12)
    # The kernel computes the results of calls without tangents.
    with importlib.import_module("torch.profiler").profile() as profile:
        run(*inputs)
    assert not {"aten::rsqrt", "aten::mean"} & {event.name for event in profile.events()}


def test_references_differentiate_lists(torch: ModuleType, operators: ModuleType) -> None:
    """Items of lists of arguments and of results have gradients, and names of arguments their defaults."""
    autograd, tensors = torch.autograd, [torch.rand(2, dtype=torch.float64, requires_grad=True) for _ in range(3)]

    def run(x: Value, *others: Value) -> Value:
        scaled, rest = operators.both_of(x, others, scale=3)
        return (scaled, *rest, operators.both_of(x, [])[0])

    assert autograd.gradcheck(run, tensors, check_forward_ad=True)
    assert autograd.gradgradcheck(run, tensors)
    assert operators.both_of(tensors[0], [])[0].equal(tensors[0] * 2)


def test_references_compute_where_there_is_no_kernel(torch: ModuleType, operators: ModuleType) -> None:
    """The first call says so; results have the declared strides and memory of their own."""
    x = torch.rand(3, 4, dtype=torch.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        operators.elsewhere(x)
        warnings.simplefilter("error")
        for value in (x, x.t()):
            result = operators.elsewhere(value)
            assert result.equal(value)
            assert result.is_contiguous()
            assert result.data_ptr() != x.data_ptr()
    assert torch.autograd.gradgradcheck(operators.elsewhere, x.requires_grad_())
    with pytest.raises(NotImplementedError):
        operators.both_of(x.to("meta"), [])
    message = "does not take its arguments: missing a required argument: 'weight'"
    with pytest.warns(UserWarning, match="misnamed has no kernel for cpu"), pytest.raises(TypeError, match=message):
        operators.misnamed(x)


def test_references_are_decompositions(torch: ModuleType, operators: ModuleType) -> None:
    """An exported program has them in place of the operators, with the same results."""

    class Program(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Value, weight: Value) -> Value:
            return operators.rms_norm(x, weight) + operators.elsewhere(x)

    x, weight = torch.rand(3, 4, dtype=torch.float64), torch.rand(4, dtype=torch.float64)
    package = importlib.import_module(f"{str(operators.__name__).removeprefix('torch.ops.')}._ops")
    exported = torch.export.export(Program(), (x, weight))
    program = exported.run_decompositions(package.decompositions())
    called = {str(node.target) for node in program.graph.nodes if node.op == "call_function"}
    assert called
    assert all(target.startswith("aten.") for target in called), called
    expected = functions.rms_norm(x, weight, 1e-6) + x
    torch.testing.assert_close(program.module()(x, weight), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.thorough
def test_generated_tests_compare_with_references(
    torch: ModuleType, operators: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They pass for a kernel that computes what the function does, in each dtype, and fail for one that does not."""
    name = str(operators.__name__).removeprefix("torch.ops.")
    references = importlib.import_module(f"{name}._reference")
    file = Path(references.__file__ or "").parents[2] / "tests" / f"test_{name}.py"
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    generated = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generated)
    tested = generated.OPERATORS["plain_norm"]
    assert list(tested.dtypes) == ["float32", "float64"]
    for sample in tested.samples:
        generated.test_reference("plain_norm", sample)
        generated.test_gradients("plain_norm", sample)
    wrong = dict.fromkeys(references.decompositions(), lambda x, weight: functions.rms_norm(x, weight, 1e-3))
    monkeypatch.setattr(references, "references", lambda: wrong)
    with pytest.raises(AssertionError):
        generated.test_reference("plain_norm", tested.samples[0])


@pytest.mark.thorough
def test_compiled_calls_have_the_gradients_of_references(torch: ModuleType, operators: ModuleType) -> None:
    """A traced program computes the gradients of the function, for sizes that it does not know."""
    torch._dynamo.reset()
    x, weight = torch.rand(3, 4, dtype=torch.float64) + 1, torch.rand(4, dtype=torch.float64)
    inputs = x.requires_grad_(), weight.requires_grad_()
    compiled = torch.compile(operators.plain_norm, backend="aot_eager", fullgraph=True, dynamic=True)
    gradients = torch.autograd.grad(compiled(*inputs).square().sum(), inputs)
    expected = torch.autograd.grad(functions.rms_norm(*inputs, 1e-6).square().sum(), inputs)
    torch.testing.assert_close(gradients, expected, rtol=1e-12, atol=1e-12)
