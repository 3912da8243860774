"""Derivatives of a library: generated, compiled, loaded, and compared with numerical ones."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from torch import Tensor

pytestmark = pytest.mark.thorough

#: The operators with formulas in both modes, as functions of one matrix.
CALLS: dict[str, Callable[[ModuleType, Tensor], object]] = {
    "scale": lambda graded, matrix: graded.scale(matrix, 2.5),
    "scale_": lambda graded, matrix: graded.scale_(matrix.clone(), 2.5),
    "cube": lambda graded, matrix: graded.cube(matrix),
    "cube_": lambda graded, matrix: graded.cube_(matrix.clone()),
    "squash": lambda graded, matrix: graded.squash(matrix),
    "squash_": lambda graded, matrix: graded.squash_(matrix.clone()),
    "polar": lambda graded, matrix: graded.polar(matrix, matrix + 1),
    "largest": lambda graded, matrix: graded.largest(matrix[0])[0],
    "row": lambda graded, matrix: graded.row(matrix, 1),
    "row_copy": lambda graded, matrix: graded.row_copy(matrix, 1),
    "window": lambda graded, matrix: graded.window(matrix, 1, 2),
    "bands": lambda graded, matrix: graded.bands(matrix, 3),
    "turned": lambda graded, matrix: graded.turned(matrix),
    "turned_": lambda graded, matrix: graded.turned_(matrix.clone()),
    "shaped": lambda graded, matrix: graded.shaped(matrix, (2, 6)),
}


@pytest.fixture
def matrix(torch: ModuleType) -> Tensor:
    """Three rows of four different numbers, which require gradients."""
    return torch.linspace(0.1, 1.2, 12, dtype=torch.float64).reshape(3, 4).requires_grad_()


@pytest.mark.parametrize("name", CALLS)
def test_gradients_of_both_modes_and_of_gradients(
    graded: ModuleType, torch: ModuleType, matrix: Tensor, name: str
) -> None:
    """Formulas give the gradients that differences give: backward, forward, and of the backward function."""

    def call(tensor: Tensor) -> object:
        return CALLS[name](graded, tensor)

    assert torch.autograd.gradcheck(call, matrix, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(call, matrix)


def test_lists_and_optional_arguments(graded: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """A list gets a gradient for each of its tensors; an optional argument one if it is given."""
    vectors = [matrix.detach()[row].clone().requires_grad_() for row in range(3)]
    check = torch.autograd.gradcheck
    assert check(lambda *tensors: graded.total(tensors), vectors)
    assert check(lambda self, weight, bias: graded.affine(self, weight, bias, alpha=2), vectors)
    assert check(graded.affine, vectors[:2])


def test_writing_to_a_view_reaches_the_base(graded: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """An in-place operator on a view changes the history of the base, like one of PyTorch's."""

    def write(tensor: Tensor) -> Tensor:
        base = tensor.clone()
        graded.cube_(graded.window(base, 1, 2))
        graded.scale_(graded.row(base, 1), 3.0)
        return base * 2

    assert torch.autograd.gradcheck(write, matrix, check_forward_ad=True)
    base = matrix.clone()
    row = graded.row(base, 0)
    graded.scale_(row, 2.0)
    assert row._base is base
    assert base.grad_fn.name() == "torch::autograd::CopySlices"
    # PyTorch makes strided views again by their strides.
    assert row.grad_fn.name() == "AsStridedBackward0"
    assert base._version == row._version == 1


def test_gradients_go_through_what_is_written_beside_a_result(
    graded: ModuleType, torch: ModuleType, matrix: Tensor
) -> None:
    """Accumulation continues the history of the argument, also several times and in a view that comes first."""

    def accumulated(x: Tensor) -> Tensor:
        least = x.flip(0) * 1.5
        written, _ = graded.raise_to(x * 2, least)
        assert written is least
        graded.raise_to(x.flip(1) * 3, least)
        return least.exp()

    def in_view(x: Tensor) -> Tensor:
        base = torch.cat([x, x * 0.3])
        graded.raised_by(base[1:4], x * 0.7)
        return base.square()

    x = matrix.detach().clone().requires_grad_()
    assert torch.autograd.gradcheck(accumulated, x)
    assert torch.autograd.gradcheck(in_view, x)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        graded.raise_to(x * 2, x)
    with pytest.raises(NotImplementedError, match="graded::raise_to cannot record gradients through a view"):
        graded.raise_to(x[:2], (x * 1)[1:])
    plain = torch.zeros(3, 4, dtype=torch.float64)
    written, is_taken = graded.raise_to(x, plain)
    assert (written.requires_grad, is_taken.requires_grad, plain.requires_grad) == (True, False, True)


def test_nodes_have_the_names_of_their_operators(graded: ModuleType, matrix: Tensor) -> None:
    """The node of a result says which operator made it."""
    assert graded.cube(matrix).grad_fn.name() == "CubeBackward0"
    assert graded.row(matrix, 0).grad_fn.name() == "RowBackward0"


def test_saved_tensors_must_not_change(graded: ModuleType, matrix: Tensor) -> None:
    """A tensor that the backward function needs is refused if an in-place operator changed it meanwhile."""
    saved = matrix.clone()
    result = graded.cube(saved)
    graded.scale_(saved, 2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


def test_leaves_and_out_arguments_are_refused(graded: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """Writing to a leaf that requires gradients, or into an out argument, gives PyTorch's errors."""
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        graded.scale_(matrix, 2.0)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        graded.scale_(graded.row(matrix, 0), 2.0)
    with pytest.raises(RuntimeError, match="the output of a function that returns multiple views"):
        graded.scale_(graded.bands(matrix.clone(), 3)[0], 2.0)
    with pytest.raises(RuntimeError, match=r"scale\(\): functions with out=.* don't support automatic differentiation"):
        graded.scale(matrix, 2.0, out=torch.empty(3, 4))


def test_operators_without_derivatives_say_so(graded: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """The backward pass names an operator that has no formula, whether it returns a tensor or writes to one."""
    for result in (graded.steps(matrix), graded.steps_(matrix.clone()), graded.named(matrix)["steps"]):
        with pytest.raises(RuntimeError, match=r"derivative for graded::(steps_?|named) is not implemented"):
            result.sum().backward()
    total, counts = torch.zeros(3, 4), [torch.zeros(1), torch.zeros((), dtype=torch.int64)]
    graded.accumulate(matrix, total, counts)
    assert [total._version, *[count._version for count in counts]] == [1, 1, 1]
    assert counts[1].grad_fn is None
    with pytest.raises(RuntimeError, match="derivative for graded::accumulate is not implemented"):
        total.sum().backward()
    state = torch.zeros(3, 4, dtype=torch.float64)
    before = graded.swap(matrix, state)
    assert before.grad_fn is state.grad_fn is not None
    graded.accumulate(matrix.detach(), before.detach(), [])


def test_tangents_without_a_formula_are_refused(graded: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """Forward mode names an operator that has no forward formula."""
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(matrix.detach(), matrix.detach())
        for operator, arguments in (
            (graded.total, ([dual, dual],)),
            (graded.steps, (dual,)),
            (graded.accumulate, (dual, torch.zeros(3, 4), [])),
        ):
            with pytest.raises(NotImplementedError, match="Trying to use forward AD with graded::"):
                operator(*arguments)


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_transforms_of_functions(graded: ModuleType, torch: ModuleType) -> None:
    """`grad`, `jvp` and `vmap` compose over the operators, also over those that write."""
    batch = torch.ones(2, 3)
    gradient = torch.func.grad(lambda tensor: graded.cube_(tensor.clone()).sum())
    assert torch.vmap(gradient)(batch).tolist() == (3 * batch).tolist()
    assert torch.func.jvp(graded.cube, (batch,), (batch,))[1].tolist() == (3 * batch).tolist()
    with pytest.raises(RuntimeError, match="Batching rule not implemented for graded::row"):
        torch.vmap(lambda tensor: graded.row(tensor, 0))(batch)


def test_compiled_autograd_traces_the_nodes(graded: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """Compiled autograd captures the whole backward pass in one graph, whatever nodes save, for any sizes."""
    from torch._dynamo import compiled_autograd

    weight = matrix.detach().neg().requires_grad_()

    def loss(tensor: Tensor) -> Tensor:
        product = graded.affine(graded.cube(graded.scale(tensor, 2.0)), weight, alpha=3)
        total = graded.total([*graded.polar(product, product + 1), product])
        copy = tensor.clone()
        graded.squash_(graded.row(copy, 1))
        return total.sum() + graded.largest(tensor[0])[0] + copy.sum() + graded.bands(tensor, 3)[1].sum()

    expected = torch.autograd.grad(loss(matrix), (matrix, weight))
    compiler = torch.compile(backend="aot_eager", dynamic=True, fullgraph=True)
    result = loss(matrix)
    with torch._dynamo.config.patch(compiled_autograd=True), compiled_autograd._enable(compiler):
        result.backward()
    torch.testing.assert_close((matrix.grad, weight.grad), expected)
