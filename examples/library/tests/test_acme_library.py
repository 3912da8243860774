"""The operators of acme, used the ways in which users of PyTorch use operators."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import acme
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import gradcheck
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils.cpp_extension import load

from cases import CASES, STABLE, call, leaf, numbers, overload

HERE = Path(__file__).parent
DIFFERENTIABLE = [name for name, case in CASES.items() if case.is_differentiable]
#: Those whose results are the same in every call.
DETERMINISTIC = [name for name in CASES if name != "sprinkle"]


def test_there_is_a_case_for_every_operator() -> None:
    """Every overload in the namespace is tested, those included that no entry writes.

    Those of generated code begin with an underscore: they take part in traces of operators that write.
    """
    schemas = [schema for schema in torch._C._jit_get_all_schemas() if re.match("acme::(?!_)", schema.name)]
    names = {".".join(filter(None, (schema.name[6:], schema.overload_name))) for schema in schemas}
    assert names == set(CASES)


def test_refusals_below_a_composite_operator_have_their_text_in_traces() -> None:
    """One of `attention` and `scores`, which it calls, says in traces, too, what is wrong with a call."""
    query, key, value = torch.ones(3, 5), torch.ones(4, 4), torch.ones(4, 5)
    with FakeTensorMode(shape_env=ShapeEnv()) as mode:
        faked = [mode.from_tensor(tensor, static_shapes=True) for tensor in (query, key, value)]
        with pytest.raises(RuntimeError, match="dimension -1 of `key` has size 4, and has to have size 5"):
            acme.attention(*faked)


@pytest.mark.parametrize("name", CASES)
def test_operators_pass_all_checks_of_pytorch(name: str) -> None:
    """Schema, registration for autograd, fake tensors, and tracing with symbolic sizes are right."""
    case = CASES[name]
    results = torch.library.opcheck(overload(name), case.args(), case.kwargs())
    assert set(results.values()) == {"SUCCESS"}
    assert len(results) == 4


# What the operators compute.


def test_results() -> None:
    """The functional overloads compute what their descriptions say."""
    image, other = numbers(4, 6), numbers(6)
    torch.testing.assert_close(acme.gamma(image, 2.0), image**2)
    torch.testing.assert_close(acme.mix(image, other, weight=0.25), torch.lerp(image, other.expand(4, 6), 0.25))
    assert acme.patches(image, 2)[1].equal(image[:2, 2:4].flatten())
    assert acme.rows(image, 1, 2).equal(image[1:3])
    torch.testing.assert_close(acme.weave([image, image], [0.5, 2.0]), image * 2.5)
    assert [band.shape[0] for band in acme.tiles(image, 3)] == [3, 1]
    assert acme.affine(image).equal(image)
    torch.testing.assert_close(acme.affine(image, other, 2), image * other + 2)
    assert acme.pad_right(image, 8, 7)[:, 6:].eq(7).all()
    torch.testing.assert_close(acme.soft_clip(image, 0.5), 0.5 * torch.tanh(image / 0.5))
    expected = torch.nn.functional.scaled_dot_product_attention(image, image, image, scale=0.5)
    torch.testing.assert_close(acme.attention(image, image, image, scale=0.5), expected)


def test_several_results_have_names() -> None:
    """An operator with several results returns them with the names of its schema."""
    image = numbers(3, 4)
    moments = acme.moments(image, dim=0)
    torch.testing.assert_close(moments.mean, image.mean(0))
    torch.testing.assert_close(moments.deviation, image.std(0, correction=0))
    assert acme.moments(image, 0, keepdim=True).mean.shape == (1, 4)


@pytest.mark.parametrize("name", ["gamma", "mix"])
def test_overloads_agree(name: str) -> None:
    """In-place and out overloads give the numbers of the functional one, whatever the layout of the output is."""
    case = CASES[name]
    (tensor, *args), kwargs = case.args(), case.kwargs()
    expected = call(name).detach()
    out = torch.empty(3, 2, dtype=torch.double).t()
    with torch.no_grad():
        assert getattr(acme, name)(tensor, *args, **kwargs, out=out) is out
        assert out.equal(expected)
        assert getattr(acme, f"{name}_")(tensor, *args, **kwargs) is tensor
    assert tensor.equal(expected)


def test_views_share_memory() -> None:
    """A write to a view is seen in its base; the copying overload has memory of its own."""
    image = numbers(4, 3)
    acme.rows(image, 1, 2).zero_()
    assert image[1:3].eq(0).all()
    assert acme.rows(image, 0, 2)._base is image
    assert torch.ops.acme.rows_copy(image, 0, 2)._base is None


def test_writes_are_seen_by_autograd() -> None:
    """A write counts as a new version of the argument, so that a stale saved value is an error."""
    mean, value = numbers(3), numbers(3) + 1
    expected = mean * 0.5 + value * 0.5
    acme.track(mean, value, momentum=0.5)
    torch.testing.assert_close(mean, expected)
    assert mean._version == 1


def test_random_numbers_come_from_the_generator() -> None:
    """A generator makes a call repeatable, and so does the global seed."""
    image = numbers(8, 8)

    def sprinkle(seed: int) -> torch.Tensor:
        values: torch.Tensor = acme.sprinkle(image, 0.5, generator=torch.Generator().manual_seed(seed))[0]
        return values

    assert sprinkle(1).equal(sprinkle(1))
    assert not sprinkle(1).equal(sprinkle(2))
    with torch.random.fork_rng():
        torch.manual_seed(3)
        first = acme.sprinkle(image)[0]
        torch.manual_seed(3)
        assert acme.sprinkle(image)[0].equal(first)


# Derivatives.


def _as_function(name: str) -> tuple[Callable[..., Any], tuple[torch.Tensor, ...]]:
    """A case as a function of its tensors, for gradcheck."""
    case = CASES[name]
    kwargs = case.kwargs()
    leaves, structure = torch.utils._pytree.tree_flatten(case.args())
    places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def function(*tensors: torch.Tensor) -> Any:
        values = list(leaves)
        for place, tensor in zip(places, tensors, strict=True):
            values[place] = tensor
        if name == "sprinkle":
            kwargs["generator"] = torch.Generator().manual_seed(1)
            return overload(name)(*torch.utils._pytree.tree_unflatten(values, structure), **kwargs)[0]
        return overload(name)(*torch.utils._pytree.tree_unflatten(values, structure), **kwargs)

    return function, tuple(leaves[place] for place in places)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients(name: str) -> None:
    """Backward and forward mode agree with differences of results, in double precision."""
    function, tensors = _as_function(name)
    # This check uses the old vmap, for which composite operators of the stable interface have no rule.
    is_batched = not (STABLE and name.startswith("weave"))
    assert gradcheck(function, tensors, check_forward_ad=True, check_batched_grad=is_batched)


@pytest.mark.parametrize("name", ["soft_clip", "mix", "rows", "scores"])
def test_second_gradients(name: str) -> None:
    """Formulas that use differentiable operators can be differentiated again."""
    function, tensors = _as_function(name)
    assert torch.autograd.gradgradcheck(function, tensors)


def test_only_the_result_is_saved() -> None:
    """The node of `soft_clip` keeps its result and not its input, as the formula needs."""
    saved: list[torch.Tensor] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: saved.append(tensor.detach()), lambda _: saved[0]):
        result = acme.soft_clip(leaf(2), 0.5)
    assert result.grad_fn is not None
    assert result.grad_fn.name().startswith("SoftClipBackward")
    assert [tensor.equal(result) for tensor in saved] == [True]


def test_in_place_and_out_overloads_in_autograd() -> None:
    """An in-place call has the gradient of the functional one, and an out call in a graph is refused."""
    image = leaf(2, 3)
    with pytest.raises(RuntimeError, match=r"don't support automatic differentiation, but one of the arguments"):
        acme.gamma(image, 2.0, out=torch.empty(2, 3, dtype=torch.double))
    acme.gamma_(image.clone(), 2.0).sum().backward()
    torch.testing.assert_close(image.grad, 2 * image.detach())
    with pytest.raises(RuntimeError, match=r"a leaf Variable that requires grad is being used in an in-place"):
        acme.gamma_(image, 2.0)


# Transformations.


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_compiled_functions_give_the_same(name: str) -> None:
    """`torch.compile` traces every operator without a break and with symbolic sizes."""
    torch.compiler.reset()
    case = CASES[name]

    def function(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        args, kwargs = torch.utils._pytree.tree_map_only(torch.Tensor, torch.clone, (args, kwargs))
        result = overload(name)(*args, **kwargs)
        return result, args, kwargs

    compiled = torch.compile(function, backend="aot_eager", fullgraph=True, dynamic=True)
    with torch.no_grad():
        torch.testing.assert_close(compiled(case.args(), case.kwargs()), function(case.args(), case.kwargs()))


def test_gradients_of_compiled_functions() -> None:
    """A compiled function has the gradients of the original, for other sizes than those of the first call too."""

    def function(query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        mixed = acme.mix(acme.soft_clip(query, 0.5), acme.rows(key, 0, 1))
        return acme.attention(mixed, acme.gamma(key), acme.pad_right(key, 6)).square().sum()

    compiled = torch.compile(function, backend="aot_eager", fullgraph=True, dynamic=True)
    for rows in (3, 5):
        grads = [torch.autograd.grad(run(query := leaf(rows, 4), leaf(rows, 4)), query) for run in (compiled, function)]
        torch.testing.assert_close(*grads)


def test_inductor() -> None:
    """The default backend compiles calls of the operators between its own kernels, writes included."""

    def function(image: torch.Tensor, mean: torch.Tensor) -> torch.Tensor:
        clipped = acme.soft_clip(image * 2, 0.5)
        acme.track(mean, clipped.mean(0))
        return acme.gamma_(clipped) + mean

    arguments = numbers(3, 4, dtype=torch.float), torch.zeros(4)
    expected = function(arguments[0], arguments[1].clone())
    compiled = torch.compile(function, fullgraph=True, dynamic=True)
    torch.testing.assert_close(compiled(*arguments), expected)
    assert arguments[1].ne(0).all()


class Model(torch.nn.Module):
    """A model of the operators."""

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Some of the operators in a row."""
        scaled = acme.affine(acme.gamma(image), None, 1)
        mean, deviation = acme.moments(scaled, -1, True)
        return acme.attention(scaled - mean, acme.weave([scaled, image], [1.0, 2.0]), image) / deviation


def test_exported_programs_give_the_same() -> None:
    """`torch.export` records the operators, for sizes that it does not know."""
    image = numbers(3, 4)
    rows = torch.export.Dim("rows", min=2)
    program = torch.export.export(Model(), (image,), dynamic_shapes={"image": {0: rows}})
    assert "torch.ops.acme.moments.default" in program.graph_module.code
    for size in (3, 7):
        torch.testing.assert_close(program.module()(numbers(size, 4)), Model()(numbers(size, 4)))


#: Those that `torch.vmap` takes. `rows` is a view, which is composite with the stable interface alone.
BATCHED = ["gamma", "mix", "soft_clip", "scores", "pad_right", "moments", "rows_copy", "affine", "attention"]


@pytest.mark.parametrize("name", [*BATCHED, *(["rows"] if STABLE else [])])
def test_vmap(name: str) -> None:
    """`torch.vmap` over the first argument gives what a loop gives."""
    case = CASES[name]
    (first, *args), kwargs = case.args(), case.kwargs()
    batch = torch.stack([first.detach(), first.detach() * 0.5, first.detach() * 0.25])

    def function(tensor: torch.Tensor) -> Any:
        return overload(name)(tensor, *args, **kwargs)

    with torch.no_grad():
        expected = [function(example) for example in batch]
        result = torch.vmap(function)(batch)
    if isinstance(result, tuple):
        torch.testing.assert_close(result, tuple(map(torch.stack, zip(*expected, strict=True))))
    else:
        torch.testing.assert_close(result, torch.stack(expected))


def test_vmap_of_gradients() -> None:
    """`torch.func` composes: gradients for each example, and Jacobians in both modes."""
    batch = numbers(3, 4)

    def function(example: torch.Tensor) -> torch.Tensor:
        return acme.soft_clip(example, 0.5).sum()

    grads = torch.vmap(torch.func.grad(function))(batch)
    torch.testing.assert_close(grads, 1 - torch.tanh(batch / 0.5) ** 2)
    jacobians = [
        jacobian(lambda x: acme.soft_clip(x, 0.5))(batch[0]) for jacobian in (torch.func.jacrev, torch.func.jacfwd)
    ]
    torch.testing.assert_close(*jacobians)


def test_autocast() -> None:
    """Under autocast, `scores` runs in lower precision, also when another operator calls it."""
    query = numbers(3, 4, dtype=torch.float)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert acme.scores(query, query).dtype == torch.bfloat16
        assert acme.attention(query, query, query).dtype == torch.bfloat16
        assert acme.gamma(query).dtype == torch.float
    assert acme.scores(query, query).dtype == torch.float


# Wrong calls.


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: acme.gamma("image"), RuntimeError, "Expected a value of type 'Tensor' for argument 'self'"),
        (lambda: acme.pad_right(numbers(2, 3)), TypeError, "missing 1 required positional argument: 'length'"),
        (lambda: acme.gamma(numbers(2), exponents=2.0), TypeError, "unexpected keyword argument 'exponents'"),
        (lambda: torch.ops.acme.pad_right(numbers(2)), RuntimeError, "missing value for argument 'length'"),
        (
            lambda: acme.mix(numbers(2, 3), numbers(4)),
            RuntimeError,
            r"`other` are \[4\], and have to broadcast to \[2, 3\]",
        ),
        (lambda: acme.mix_(numbers(3), numbers(2, 3)), RuntimeError, "Bad in-place call: "),
        (lambda: acme.patches(numbers(4, 5), 2), RuntimeError, "have to be multiples of `size`, and `h` is 4"),
        (
            lambda: acme.mix(numbers(2), numbers(2), out=torch.empty(2, dtype=torch.int)),
            RuntimeError,
            "Expected out tensor to have dtype",
        ),
        (
            lambda: acme.gamma(numbers(2), out=torch.empty(2, dtype=torch.int)),
            RuntimeError,
            "Expected out tensor to have dtype",
        ),
        (
            lambda: acme.soft_clip(torch.ones(2, dtype=torch.int), 1.0),
            RuntimeError,
            "`self` has dtype int32, and has to have dtype",
        ),
        (lambda: acme.gamma(torch.empty(2).to_sparse()), NotImplementedError, "'SparseCPU' backend"),
    ],
)
def test_wrong_calls(wrong: Callable[[], object], error: type[Exception], message: str) -> None:
    """A wrong call raises the error that PyTorch's operators raise."""
    with pytest.raises(error, match=message):
        wrong()


# Calls from C++.


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The operators of `calls.cpp`, which call those of acme from another library."""
    package, folder = Path(acme.__file__).parent, tmp_path_factory.mktemp("calls")
    source = HERE.parent / "stable" / "calls.cpp" if STABLE else HERE / "calls.cpp"
    load(
        "acme_calls",
        [str(source)],
        extra_cflags=["-O0", "-DAT_PER_OPERATOR_HEADERS"],
        extra_include_paths=[acme.get_include()],
        extra_ldflags=[] if STABLE else [str(package / "_C.so"), f"-Wl,-rpath,{package}"],
        build_directory=str(folder),
        is_python_module=False,
    )
    return torch.ops.acme_calls


def test_calls_from_cpp(calls: Any) -> None:
    """C++ functions, and natively operator classes and redispatch, do what the same calls from Python do."""
    image = numbers(2, 3)
    results = calls.all(image)
    expected = [acme.gamma(image, 2.0), acme.mix(image, image + 1), acme.rows(image, 0, 1), image.mean(-1), image]
    torch.testing.assert_close(results, expected)
    leaf = image.double().requires_grad_()
    grads = [torch.autograd.grad(call.sum(), leaf) for call in (calls.one(leaf), acme.soft_clip(leaf, 0.5))]
    torch.testing.assert_close(*grads)


# Types.


@pytest.mark.parametrize(
    "checker",
    [
        ["mypy", "--strict", "--config-file", os.devnull],
        ["basedpyright", "--level", "error", "--pythonpath", sys.executable],
    ],
    ids=lambda c: c[0],
)
def test_types_of_calls(checker: list[str]) -> None:
    """Checkers of types find the wrong calls in `typed_calls.py`, and nothing else there or in the package."""
    calls = HERE / "typed_calls.py"
    program = shutil.which(checker[0], path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if program is None:
        pytest.skip(f"{checker[0]} is not installed")
    command = [program, *checker[1:], str(calls), str(Path(acme.__file__).parent / "_ops.py")]
    done = subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True, check=False)
    places = re.findall(r"(\w+\.py):(\d+).*error", done.stdout)
    wrong = [number for number, line in enumerate(calls.read_text().splitlines(), 1) if line.endswith("# wrong")]
    assert sorted(set(places)) == sorted((calls.name, str(number)) for number in wrong), done.stdout
