"""Gradients and autocast of a library with the stable interface, which Python registers, against those of C++."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from opwright.cli.main import main
from tests.compile.compiler import Compiler
from tests.library.conftest import INCLUDE

if TYPE_CHECKING:
    from torch import Tensor

HERE = Path(__file__).parent
#: A variable with the folder of the stable build, which runs under several releases (`make stable-releases`), and one
#: with that of the headers that compile it.
BUILD = "OPWRIGHT_TRAINED_BUILD"
HEADERS = "OPWRIGHT_TRAINED_HEADERS"

pytestmark = pytest.mark.thorough


def _built(name: str, abi: str, program: str, folder: Path) -> tuple[Path, Path]:
    """The generated code and the shared object of the library under a name of its own."""
    for file in ("trained.yaml", "derivatives.yaml", "kernels.cpp"):
        text = (HERE / file).read_text().replace("trained", name)
        (folder / file).write_text(text.replace(f"namespace: {name}", f"namespace: {name}\nabi: {abi}"))
    if abi == "stable":
        kernels = folder / "kernels.cpp"
        kernels.write_text(f"#define {name}_STABLE\n#define TRAINED_STABLE\n{kernels.read_text()}")
    out = folder / "out"
    assert main(["generate", "--library", str(folder / "trained.yaml"), "--torch", "auto", "--out", str(out)]) == 0
    headers = [Path(os.environ[HEADERS])] if abi == "stable" and HEADERS in os.environ else []
    compiler = Compiler(program, folder, [out / "include", INCLUDE, *headers])
    sources = [*sorted((out / "src").rglob("*.cpp")), folder / "kernels.cpp"]
    return out, compiler.library(name, sources)


@pytest.fixture(scope="session")
def stable(program: str, torch: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The operators with the stable interface, and what Python registers for them."""
    folder = Path(os.environ.get(BUILD) or tmp_path_factory.mktemp("steadily"))
    binary = folder / "libsteadily.so"
    out = folder / "out"
    if not binary.exists():
        _built("steadily", "stable", program, folder)
        compiler = Compiler(program, folder, [INCLUDE])
        calls = compiler.library("fast_calls", [INCLUDE / "opwright" / "fast_calls.cpp"])
        calls.rename(out / "python" / "steadily" / "_fast_calls.so")
    torch.ops.load_library(binary)
    sys.path.insert(0, str(out / "python"))
    importlib.import_module("steadily._ops")
    operators: ModuleType = torch.ops.steadily
    return operators


@pytest.fixture(scope="session")
def native(program: str, torch: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The same operators with the native interface."""
    _, binary = _built("natively", "native", program, tmp_path_factory.mktemp("natively"))
    torch.ops.load_library(binary)
    operators: ModuleType = torch.ops.natively
    return operators


#: Each operator with derivatives, as a function of two matrices.
CALLS: dict[str, Callable[[ModuleType, Any, Any], Any]] = {
    "scale": lambda ops, x, y: ops.scale(x, 1.5),
    "multiply": lambda ops, x, y: ops.multiply(x, y, negate=True),
    "squash": lambda ops, x, y: ops.squash(x),
    "cubed": lambda ops, x, y: ops.cubed(x, 0.5),
    "squash_backward": lambda ops, x, y: ops.squash_backward(x, y),
    "biased": lambda ops, x, y: ops.biased(x, y),
    "unbiased": lambda ops, x, y: ops.biased(x),
    "both": lambda ops, x, y: ops.both(x, y)[:2],
    "total": lambda ops, x, y: ops.total([x, y, x], [0.5, 2.0, 1.0]),
    "total_backward": lambda ops, x, y: tuple(ops.total_backward(x, [0.5, 2.0])),
    "halves": lambda ops, x, y: tuple(ops.halves(x)),
    "first": lambda ops, x, y: ops.first(x[0], 2),
}


@pytest.fixture
def matrices(torch: ModuleType) -> tuple[Tensor, Tensor]:
    """Two matrices that require gradients."""
    x = torch.linspace(0.1, 1.2, 12, dtype=torch.float64).reshape(4, 3)
    return x.clone().requires_grad_(), (x.flip(0) * 0.7).requires_grad_()


def _sum(result: Tensor | tuple[Tensor, ...]) -> Tensor:
    parts: tuple[Tensor, ...] = result if isinstance(result, tuple) else (result,)
    sums = [(index + 1) * part.square().sum() for index, part in enumerate(parts)]
    return sums[0] if len(sums) == 1 else sums[0] + sums[1]


def test_two_operators_share_a_kernel(stable: ModuleType, native: ModuleType, torch: ModuleType) -> None:
    """Each passes its own default, and the kernel is declared once for both."""
    row = torch.tensor([1.0, 2.0])
    for ops in (stable, native):
        assert (ops.scale(row).tolist(), ops.amplify(row).tolist()) == ([2, 4], [3, 6])


@pytest.mark.parametrize("name", CALLS)
def test_gradients(
    stable: ModuleType, native: ModuleType, torch: ModuleType, matrices: tuple[Tensor, Tensor], name: str
) -> None:
    """Gradients are those of the native build and of differences, also the second ones and compiled ones."""

    def call(x: Tensor, y: Tensor) -> Tensor | tuple[Tensor, ...]:
        result: Tensor | tuple[Tensor, ...] = CALLS[name](stable, x, y)
        return result

    grad = torch.autograd.grad
    wanted = grad(_sum(CALLS[name](native, *matrices)), matrices, allow_unused=True)
    torch.testing.assert_close(grad(_sum(call(*matrices)), matrices, allow_unused=True), wanted)
    assert torch.autograd.gradcheck(call, matrices)
    assert torch.autograd.gradgradcheck(call, matrices)
    under_func = torch.func.grad(lambda x, y: _sum(call(x, y)), argnums=(0, 1))(*[one.detach() for one in matrices])
    torch.testing.assert_close(under_func, tuple(torch.zeros(4, 3).double() if one is None else one for one in wanted))
    kept = torch.utils.checkpoint.checkpoint(lambda x, y: _sum(call(x, y)), *matrices, use_reentrant=False)
    torch.testing.assert_close(grad(kept, matrices, allow_unused=True), wanted)
    if name not in ("halves", "total_backward", "total"):
        torch.compiler.reset()
        compiled = torch.compile(lambda x, y: _sum(call(x, y)), backend="aot_eager", fullgraph=True, dynamic=True)
        torch.testing.assert_close(grad(compiled(*matrices), matrices, allow_unused=True), wanted)


# The formula of `total` calls an operator without a fake.
@pytest.mark.parametrize("name", sorted(CALLS.keys() - {"total"}))
def test_compiled_autograd_traces_the_nodes(
    stable: ModuleType, torch: ModuleType, matrices: tuple[Tensor, Tensor], name: str
) -> None:
    """Compiled autograd captures the whole backward pass in one graph."""
    from torch._dynamo import compiled_autograd

    wanted = torch.autograd.grad(_sum(CALLS[name](stable, *matrices)), matrices, allow_unused=True)
    torch.compiler.reset()
    result = _sum(CALLS[name](stable, *matrices))
    compiler = torch.compile(backend="aot_eager", fullgraph=True)
    with torch._dynamo.config.patch(compiled_autograd=True), compiled_autograd._enable(compiler):
        result.backward()
    torch.testing.assert_close(tuple(matrix.grad for matrix in matrices), wanted)


def test_compiled_autograd_keeps_calls_apart(
    stable: ModuleType, torch: ModuleType, matrices: tuple[Tensor, Tensor]
) -> None:
    """A compiled backward pass is not taken for a call with another number; without a formula it raises as always."""
    from torch._dynamo import compiled_autograd

    torch.compiler.reset()
    compiler = torch.compile(backend="aot_eager", fullgraph=True)
    with torch._dynamo.config.patch(compiled_autograd=True):
        for factor in (2.0, 2.0, 5.0):
            matrix = matrices[0].detach().requires_grad_()
            result = stable.scale(matrix, factor).sum()
            with compiled_autograd._enable(compiler):
                result.backward()
            torch.testing.assert_close(matrix.grad, torch.full_like(matrix, factor))
        result = stable.amplify(matrix).sum()
        with compiled_autograd._enable(compiler), pytest.raises(RuntimeError, match="derivative for steadily::amplify"):
            result.backward()


def test_calls_that_record_nothing_go_past_python(
    stable: ModuleType, torch: ModuleType, matrices: tuple[Tensor, Tensor]
) -> None:
    """Under the release that compiled the fast calls, they enter no kernel in Python; under others, all calls do."""
    module = importlib.import_module("steadily._autograd")
    with_gradient, without = matrices[0], matrices[1].detach()

    def kernels(call: Callable[[], object]) -> list[str]:
        entered: list[str] = []
        sys.setprofile(lambda frame, event, _: entered.append(frame.f_code.co_name) if event == "call" else None)
        try:
            call()
        finally:
            sys.setprofile(None)
        return [name for name in entered if name.endswith("_kernel")]

    slow = [] if module._fast else ["_multiply_kernel"]
    assert kernels(lambda: stable.multiply(with_gradient, without)) == ["_multiply_kernel"]
    assert kernels(lambda: stable.multiply(without, with_gradient)) == ["_multiply_kernel"]
    assert kernels(lambda: stable.multiply(without, without)) == slow
    with torch.no_grad():
        assert kernels(lambda: stable.multiply(with_gradient, without)) == slow
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(without, without)
        assert kernels(lambda: stable.multiply(without, dual)) == ["_multiply_kernel"]
    assert kernels(lambda: stable.total([without, with_gradient], [0.5, 2.0])) == ["_total_kernel"]
    assert kernels(lambda: stable.total([without, without], [0.5, 2.0])) == (["_total_kernel"] if slow else [])
    # An operator that returns a part of the results of another one.
    assert kernels(lambda: stable.cubed(without)) == (["_cubed_kernel", "__cubed_saved_kernel"] if slow else [])
    assert kernels(lambda: stable.cubed(with_gradient))[-1] == "__cubed_saved_kernel"
    written = without.clone()
    assert kernels(lambda: stable.bump_(written, without)) == (["_bump__kernel"] if slow else [])
    assert written._version == 1
    if BUILD not in os.environ:
        assert module._fast


def test_saved_statistics(
    stable: ModuleType, native: ModuleType, torch: ModuleType, matrices: tuple[Tensor, Tensor]
) -> None:
    """Attention that returns and saves a statistic has the gradients of PyTorch's, of both results."""
    x, y = matrices
    kept: list[Tensor] = []

    def keep(one: Tensor) -> Tensor:
        kept.append(one)
        return one

    def wanted(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        scores = x @ y.t() * 0.5
        return scores.softmax(1) @ (x * y), scores.logsumexp(1, keepdim=True)

    grads = torch.autograd.grad(_sum(wanted(x, y)), matrices)
    for operators in (stable, native):
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda one: one):
            found = operators.attend(x, y, x * y, 0.5)
        torch.testing.assert_close(tuple(found), wanted(x, y))
        torch.testing.assert_close(torch.autograd.grad(_sum(tuple(found)), matrices), grads)
        for saved in found:
            assert any(one.data_ptr() == saved.data_ptr() for one in kept)
        assert torch.autograd.gradcheck(lambda x, y: operators.attend(x, y, y, 0.5), matrices)  # noqa: B023
    first = torch.func.grad(lambda x: stable.attend(x, y.detach(), y.detach())[0].sum())(x.detach())
    torch.testing.assert_close(first, torch.autograd.grad(native.attend(x, y.detach(), y.detach())[0].sum(), x)[0])


@pytest.mark.parametrize("name", ["cubed_once", "cubed_shown", "cubed_unsaid", "cubed_constant", "cubed_twice"])
def test_second_gradients_through_results(stable: ModuleType, native: ModuleType, torch: ModuleType, name: str) -> None:
    """Second gradients through a result are right, or an error names the result, in each way to differentiate twice."""
    x = torch.linspace(0.5, 1.5, 3, dtype=torch.float64)
    is_right = name in ("cubed_constant", "cubed_twice")
    grad, func, forward = torch.autograd.grad, torch.func, torch.autograd.forward_ad
    for operators in (stable, native):

        def call(x: Tensor) -> Tensor:
            results = getattr(operators, name)(x)  # noqa: B023
            first: Tensor = results[0] if isinstance(results, (tuple, list)) else results
            return first

        def gradient(x: Tensor) -> Tensor:
            first: Tensor = func.grad(lambda x: call(x).sum())(x)
            return first

        def over_reverse(x: Tensor) -> Tensor:
            with forward.dual_level():
                dual = forward.make_dual(x.clone().requires_grad_(), torch.ones_like(x))
                second: Tensor = forward.unpack_dual(grad(call(dual).sum(), dual)[0]).tangent
                return second

        leaf = x.clone().requires_grad_()
        assert torch.autograd.gradcheck(call, leaf, check_forward_ad=name in ("cubed_once", "cubed_shown"))
        (first,) = grad(call(leaf).sum(), leaf, create_graph=True)
        torch.testing.assert_close((first.detach(), gradient(x)), (3 * x * x, 3 * x * x))
        ways: list[Callable[[], Tensor]] = [
            lambda: grad(first.sum(), leaf)[0],  # noqa: B023
            lambda: func.grad(lambda x: gradient(x).sum())(x),
            lambda: func.jacrev(gradient)(x).diagonal(),
        ]
        if not is_right and name != "cubed_unsaid":
            ways += [lambda: over_reverse(x), lambda: func.jacfwd(gradient)(x).diagonal()]
        for way in ways:
            if is_right:
                torch.testing.assert_close(way(), 6 * x)
            else:
                with pytest.raises(NotImplementedError, match=f"::{name} .*its result 'square'"):
                    way()


def test_results_that_are_not_returned(stable: ModuleType, torch: ModuleType, matrices: tuple[Tensor, Tensor]) -> None:
    """What a kernel saves is kept for the gradient alone; the operator has the properties of others."""
    x, kept = matrices[0], 0

    def keep(one: Tensor) -> Tensor:
        nonlocal kept
        kept += one.equal(x.detach().square())
        return one

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda one: one):
        result = stable.cubed(x)
    assert kept == 1
    torch.testing.assert_close(result, x**3)
    torch.testing.assert_close(torch.vmap(stable.cubed)(x.detach()), x.detach() ** 3)
    assert set(torch.library.opcheck(stable.cubed.default, (x,)).values()) == {"SUCCESS"}


def test_nothing_is_kept_or_computed_for_inputs_that_need_no_gradient(
    stable: ModuleType, torch: ModuleType, matrices: tuple[Tensor, Tensor]
) -> None:
    """With one input that requires a gradient, only the other one is kept, and one product is computed."""
    x, y = matrices[0], matrices[1].detach()
    kept: list[Tensor] = []

    def keep(one: Tensor) -> Tensor:
        kept.append(one)
        return one

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda one: one):
        result = stable.multiply(x, y)
    assert [one is None or one.equal(y) for one in kept] == [True]
    with torch.profiler.profile() as profile:
        result.backward(torch.ones_like(result))
    names = [event.name for event in profile.events()]
    assert names.count("aten::mul") == 1
    assert "aten::conj" not in names
    assert result.grad_fn.name() == "MultiplyBackward"


def test_saved_tensors_must_not_change(stable: ModuleType, matrices: tuple[Tensor, Tensor]) -> None:
    """The version check covers what Python keeps, also against the library's in-place operator."""
    x = matrices[0].detach().clone()
    result = stable.multiply(matrices[1], x)
    stable.scale_(x, 2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


def test_in_place_operators(
    stable: ModuleType, native: ModuleType, torch: ModuleType, matrices: tuple[Tensor, Tensor]
) -> None:
    """An in-place operator has the gradient and the tangent of the functional one, and leaves refuse it."""
    x, y = matrices

    def loss(operators: ModuleType) -> Callable[[Tensor, Tensor], Tensor]:
        return lambda x, y: operators.scale_(x * y, 3.0).square().sum()

    grad = torch.autograd.grad
    torch.testing.assert_close(grad(loss(stable)(x, y), (x, y)), grad(loss(native)(x, y), (x, y)))
    assert torch.autograd.gradgradcheck(loss(stable), matrices)
    pair = (x.detach(), y.detach())
    wanted = torch.func.jvp(loss(native), pair, pair)
    torch.testing.assert_close(torch.func.jvp(loss(stable), pair, pair), wanted)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        stable.scale_(x)


def test_undefined_gradients_and_results_without_one(
    stable: ModuleType, torch: ModuleType, matrices: tuple[Tensor, Tensor]
) -> None:
    """A result that nobody uses counts as zero, and one that has no gradient says so."""
    sums, _, sign = stable.both(*matrices)
    assert not sign.requires_grad
    sums.sum().backward()
    torch.testing.assert_close(matrices[0].grad, torch.ones(4, 3, dtype=torch.float64))


@pytest.mark.parametrize("abi", ["stable", "native"])
def test_formulas_that_ask_see_undefined_gradients(
    stable: ModuleType, native: ModuleType, torch: ModuleType, matrices: tuple[Tensor, Tensor], abi: str
) -> None:
    """In both builds, the gradient of a result that nobody uses is undefined, so nothing is computed with zeros."""
    operators, x = {"stable": stable, "native": native}[abi], matrices[0]
    for used, operator in ((0, "aten::neg"), (1, "aten::mul")):
        result = operators.copies(x)[used]
        with torch.profiler.profile() as profile:
            (grad,) = torch.autograd.grad(result, x, torch.ones_like(result))
        assert grad.tolist() == torch.full_like(x, used + 1).tolist()
        names = [event.name for event in profile.events() if event.name in ("aten::neg", "aten::mul", "aten::add")]
        assert set(names) == {operator}
    assert torch.autograd.gradgradcheck(lambda x: tuple(operators.copies(x)), (x,))
    assert torch.func.grad(lambda x: operators.copies(x)[1].sum())(x.detach()).unique().tolist() == [2]


@pytest.mark.parametrize("abi", ["stable", "native"])
def test_fused_backward_functions(
    stable: ModuleType, native: ModuleType, torch: ModuleType, matrices: tuple[Tensor, Tensor], abi: str
) -> None:
    """One formula for several gradients runs for defined ones only; without one of its own, second gradients raise."""
    operators = {"stable": stable, "native": native}[abi]
    assert torch.autograd.gradcheck(operators.fused, matrices)
    first = torch.autograd.grad(operators.fused(*matrices).square().sum(), matrices, create_graph=True)
    torch.testing.assert_close(first[0], 2 * matrices[0] * matrices[1] ** 2)
    with pytest.raises(RuntimeError, match=r"derivative for \w+::fused_backward is not implemented"):
        first[1].sum().backward()


def _and_written(operator: Callable[..., Any], x: Tensor, *written: Tensor) -> list[Any]:
    """What an operator returns, and copies that it wrote to."""
    copies = [tensor.clone() for tensor in written]
    results = operator(x, copies[0], copies[1:]) if len(copies) > 1 else operator(x, *copies)
    assert [copy._version for copy in copies] == [1] * len(copies)
    return [results, *copies]


#: Calls of operators without formulas, with a matrix that requires gradients and one that does not.
WITHOUT_FORMULAS: dict[str, Callable[[ModuleType, Any, Any], Any]] = {
    "fused_backward": lambda ops, x, y: ops.fused_backward(x, y, y),
    "maybe": lambda ops, x, y: ops.maybe(x),
    "some": lambda ops, x, y: ops.some(y, [y, x]),
    "nested": lambda ops, x, y: ops.nested(y, [None, x]),
    "bump_": lambda ops, x, y: _and_written(lambda by, self: ops.bump_(self, by), x, y),
    "bump_into": lambda ops, x, y: _and_written(ops.bump_into, x, y, y),
    "bump_and_list": lambda ops, x, y: _and_written(ops.bump_and_list, x, y),
}


@pytest.mark.parametrize("name", WITHOUT_FORMULAS)
@pytest.mark.parametrize("abi", ["stable", "native"])
def test_operators_without_formulas_say_so(
    stable: ModuleType, native: ModuleType, torch: ModuleType, matrices: tuple[Tensor, Tensor], abi: str, name: str
) -> None:
    """In both builds, whatever has tensors that an operator without formulas returns or writes raises its name."""
    operators, x, y = {"stable": stable, "native": native}[abi], matrices[0], matrices[1].detach()
    call = WITHOUT_FORMULAS[name]

    def leaves(results: object) -> list[Tensor]:
        return [item for item in torch.utils._pytree.tree_leaves(results) if isinstance(item, torch.Tensor)]

    message = rf"derivative for \w+::{name} is not implemented"
    plain = leaves(call(operators, x.detach(), y))
    results = leaves(call(operators, x, y))
    torch.testing.assert_close(results, plain)
    for result in results:
        with pytest.raises(RuntimeError, match=message):
            (x.sum() + result.sum()).backward(retain_graph=True)
    with torch.no_grad():
        unrecorded = leaves(call(operators, x, y))
    assert not any(item.requires_grad for item in unrecorded)
    with pytest.raises(RuntimeError, match=message):
        torch.func.grad(lambda x: leaves(call(operators, x, y))[-1].sum() + x.sum())(x.detach())
    with pytest.raises(NotImplementedError, match=rf"(forward AD with|derivative for) \w+::{name}"):
        torch.func.jvp(lambda x: leaves(call(operators, x, y))[-1], (x.detach(),), (y,))


@pytest.mark.parametrize("abi", ["stable", "native"])
def test_arguments_without_formula_need_no_gradient(
    stable: ModuleType, native: ModuleType, torch: ModuleType, matrices: tuple[Tensor, Tensor], abi: str
) -> None:
    """In both builds, an argument that no formula names may not require a gradient, if gradients are recorded."""
    operators, (x, weight) = {"stable": stable, "native": native}[abi], matrices
    message = "The function 'weighted' is not differentiable with respect to argument 'weight'"
    for self in (x, x.detach()):
        with pytest.raises(RuntimeError, match=message):
            operators.weighted(self, weight)
    with torch.no_grad():
        assert operators.weighted(x, weight).equal(x * weight)
    operators.weighted(x, weight.detach()).sum().backward()
    assert x.grad.equal(weight.detach())


@pytest.mark.parametrize("abi", ["stable", "native"])
def test_leaves_are_not_written(
    stable: ModuleType, native: ModuleType, matrices: tuple[Tensor, Tensor], abi: str
) -> None:
    """An operator without formulas refuses to write to a leaf that requires gradients, and leaves it as it was."""
    operators, (leaf, other) = {"stable": stable, "native": native}[abi], matrices
    before = leaf.detach().clone()
    for written, kind in ((leaf, "a leaf"), (leaf[0], "a view of a leaf")):
        with pytest.raises(RuntimeError, match=f"{kind} Variable that requires grad"):
            operators.bump_(written, other)
        with pytest.raises(RuntimeError, match=f"{kind} Variable that requires grad"):
            operators.bump_into(other, written, [])
    assert leaf.equal(before)


def test_formulas_that_do_not_ask(stable: ModuleType, native: ModuleType, matrices: tuple[Tensor, Tensor]) -> None:
    """Where a formula does not ask, a stable build gives zeros for such a gradient, and a native one nothing."""
    stable.both(*matrices)[0].sum().backward()
    assert matrices[0].grad.unique().tolist() == [1]
    with pytest.raises(RuntimeError):
        native.both(*matrices)[0].sum().backward()


@pytest.mark.parametrize("name", ["scale", "multiply", "squash", "both", "halves"])
def test_forward_mode(
    stable: ModuleType, native: ModuleType, torch: ModuleType, matrices: tuple[Tensor, Tensor], name: str
) -> None:
    """Tangents are those of the native build, also where only one argument has one, and can be differentiated."""
    x, y = [one.detach() for one in matrices]
    wanted = torch.func.jvp(lambda x, y: _sum(CALLS[name](native, x, y)), (x, y), (y, x))
    torch.testing.assert_close(torch.func.jvp(lambda x, y: _sum(CALLS[name](stable, x, y)), (x, y), (y, x)), wanted)
    half = torch.func.jvp(lambda x: _sum(CALLS[name](stable, x, y)), (x,), (y,))
    torch.testing.assert_close(half, torch.func.jvp(lambda x: _sum(CALLS[name](native, x, y)), (x,), (y,)))
    assert torch.autograd.gradcheck(lambda x, y: CALLS[name](stable, x, y), matrices, check_forward_ad=True)
    # The native operators have no formula for the tangent of `squash_backward`, and no rule of `vmap` for `halves`.
    if name not in ("squash", "halves"):

        def gradient(operators: ModuleType) -> Callable[[Tensor], Tensor]:
            gradient: Callable[[Tensor], Tensor] = torch.func.grad(lambda x: _sum(CALLS[name](operators, x, y)))
            return gradient

        for jacobian in (torch.func.jacfwd, torch.func.jacrev):
            torch.testing.assert_close(jacobian(gradient(stable))(x), jacobian(gradient(native))(x))


def test_tangents_are_not_lost(stable: ModuleType, torch: ModuleType, matrices: tuple[Tensor, Tensor]) -> None:
    """An operator without a forward formula refuses tangents."""
    x, y = [one.detach() for one in matrices]
    with pytest.raises(RuntimeError, match="jvp"):
        torch.func.jvp(lambda x: stable.biased(x, y), (x,), (y,))


@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")
def test_functions_with_symbolic_integers_can_be_scripted(
    stable: ModuleType, torch: ModuleType, matrices: tuple[Tensor, Tensor]
) -> None:
    """TorchScript compiles a generated function that takes a symbolic integer, and calls of it."""
    first = importlib.import_module("steadily._ops").first

    def program(x: Tensor) -> Tensor:
        return first(x[0], 2)

    x = matrices[0].detach()
    for function, arguments in ((first, (x[0], 2)), (program, (x,))):
        assert torch.jit.script(function)(*arguments).equal(x[0, :2])


def test_autocast(stable: ModuleType, torch: ModuleType) -> None:
    """Policies cast what PyTorch's operators cast, and gradients go through."""
    x = torch.ones(2, 2, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = stable.multiply(x.bfloat16(), x)
    assert result.dtype == torch.float32
    result.sum().backward()
    torch.testing.assert_close(x.grad, torch.full((2, 2), 2.0))


def test_batching_rules(stable: ModuleType, native: ModuleType, torch: ModuleType) -> None:
    """`vmap` calls the rule once for all examples, and gives what the native build gives, whatever is batched."""
    x, y = torch.randn(3, 4, 3).double(), torch.randn(4, 3).double()
    before = stable.count_batches()
    for dims in ((0, None), (None, 0), (0, 0)):
        arguments = [x if dim == 0 else y for dim in dims]
        found = torch.vmap(stable.multiply, dims)(*arguments)
        torch.testing.assert_close(found, torch.vmap(native.multiply, dims)(*arguments))
    assert stable.count_batches() == before + 3
    moved = torch.vmap(lambda x: stable.multiply(y, x, negate=True), 2, 1)(x.permute(1, 2, 0))
    torch.testing.assert_close(moved, (-x * y).transpose(0, 1))
    nested = torch.vmap(torch.vmap(stable.multiply, (0, None)), (None, 0))(x, torch.stack([y, 2 * y]))
    torch.testing.assert_close(nested, torch.stack([x * y, 2 * x * y]))
    written = x.clone()
    assert torch.vmap(stable.scale_)(written) is not None
    torch.testing.assert_close(written, 2 * x)


def test_batching_rules_with_gradients(stable: ModuleType, native: ModuleType, torch: ModuleType) -> None:
    """Gradients of each example, of all, of nested calls, and compiled ones, are those of the native build."""
    x, y = torch.randn(3, 4, 3).double(), torch.randn(4, 3).double()

    def loss(operators: ModuleType) -> Callable[[Tensor, Tensor], Tensor]:
        return lambda x, y: operators.multiply(x, y).square().sum()

    func = torch.func
    transforms: tuple[Callable[[Any], Any], ...] = (
        lambda one: torch.vmap(func.grad(one, argnums=(0, 1)), (0, None)),
        lambda one: func.grad(lambda x, y: torch.vmap(one, (0, None))(x, y).sum(), argnums=(0, 1)),
        lambda one: torch.vmap(func.hessian(one), (0, None)),
        lambda one: torch.vmap(lambda x, y: func.jvp(one, (x, y), (y, x)), (0, None)),
    )
    for transform in transforms:
        torch.testing.assert_close(transform(loss(stable))(x, y), transform(loss(native))(x, y))
    leaf = x.clone().requires_grad_()
    torch.vmap(loss(stable), (0, None))(leaf, y).sum().backward()
    torch.testing.assert_close(leaf.grad, 2 * x * y * y)
    torch.compiler.reset()
    compiled = torch.compile(torch.vmap(loss(stable), (0, None)), backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(x, y), (x * y).square().sum((1, 2)))
