"""Operators of a library that write to arguments or give views: compiled, and functionalized by PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from torch import Tensor

pytestmark = pytest.mark.thorough


def change_views(graded: ModuleType, tensor: Tensor) -> Tensor:
    """Writes to two views of a copy, one of them in the other."""
    copy = tensor.clone()
    window = graded.window(copy, 1, 2)
    graded.scale_(graded.row(window, 0), 3.0)
    graded.cube_(window)
    return graded.scale(copy, 2.0)


def write_to_arguments(graded: ModuleType, tensor: Tensor) -> Tensor:
    """Writes to an out argument, and with operators that return none of the arguments that they write to."""
    out, state, counts = tensor.new_empty(tensor.shape), tensor.new_zeros(tensor.shape), [tensor.new_zeros(1)]
    graded.cube(tensor, out=out)
    graded.accumulate(out, state, counts)
    graded.polar(tensor, tensor, radius=out, angle=state)
    graded.scale_all([out, counts[0]], 2.0)
    before = graded.swap(out, state)
    return before + state + counts[0]


def change_other_views(graded: ModuleType, tensor: Tensor) -> Tensor:
    """Writes to views of other kinds: one of several, one of other sizes, and one that turns the tensor itself."""
    copy = tensor.clone()
    graded.turned_(copy)
    first, _ = graded.bands(copy, 2)
    graded.scale_(first, 3.0)
    graded.cube_(graded.shaped(graded.turned(copy), (-1,)))
    return graded.scale(copy, 2.0)


CHANGES = (change_views, change_other_views, write_to_arguments)


@pytest.fixture
def matrix(torch: ModuleType) -> Tensor:
    """Three rows of four numbers."""
    return torch.linspace(0.1, 1.2, 12, dtype=torch.float64).reshape(3, 4)


@pytest.mark.parametrize("change", CHANGES[:2])
def test_functionalization_takes_writes_away(
    graded: ModuleType, torch: ModuleType, matrix: Tensor, change: Callable[[ModuleType, Tensor], Tensor]
) -> None:
    """A write through views becomes calls of functional operators, with the same result."""
    from torch.fx.experimental.proxy_tensor import make_fx

    functional = torch.func.functionalize(lambda tensor: change(graded, tensor))
    torch.testing.assert_close(functional(matrix), change(graded, matrix))
    graph = make_fx(functional, tracing_mode="symbolic")(matrix).graph
    called = {str(node.target) for node in graph.nodes if node.op == "call_function"}
    assert {"graded.scale.default", "graded.cube.default", "aten.as_strided_scatter.default"} <= called
    assert not {"graded.scale_.default", "graded.cube_.default"} & called


def test_out_arguments_are_replaced(graded: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """A call with an out argument becomes one of the functional operator."""
    cubed = torch.func.functionalize(lambda tensor: graded.cube(tensor, out=torch.empty_like(tensor)))(matrix)
    torch.testing.assert_close(cubed, matrix**3)


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_compiled_functions_give_the_same(
    graded: ModuleType,
    torch: ModuleType,
    matrix: Tensor,
    change: Callable[[ModuleType, Tensor], Tensor],
    requires_grad: bool,
) -> None:
    """`torch.compile` traces the operators without a break, for any sizes, with the same results and gradients."""
    if requires_grad and change is not change_views:
        pytest.skip("PyTorch records no gradients of writes without derivatives, and of writes to one of several views")
    torch._dynamo.reset()
    compiled = torch.compile(lambda tensor: change(graded, tensor), backend="aot_eager", fullgraph=True, dynamic=True)
    for rows in (3, 5):
        given = matrix[:1].expand(rows, 4).clone().requires_grad_(requires_grad)
        expected, found = change(graded, given), compiled(given)
        torch.testing.assert_close(found, expected)
        if requires_grad:
            torch.testing.assert_close(
                torch.autograd.grad(found.sum(), given), torch.autograd.grad(expected.sum(), given)
            )


def test_views_of_inputs_leave_a_compiled_function(graded: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """A compiled function returns a view of its argument, and writes to the argument through a view."""
    torch._dynamo.reset()

    def write(tensor: Tensor) -> Tensor:
        graded.scale_(graded.row(tensor, 1), 2.0)
        return graded.window(tensor, 0, 2)

    given, expected = matrix.clone(), matrix.clone()
    window = torch.compile(write, backend="aot_eager", fullgraph=True, dynamic=True)(given)
    torch.testing.assert_close(window, write(expected))
    torch.testing.assert_close(given, expected)
    assert window.data_ptr() == given.data_ptr()


@pytest.mark.parametrize("requires_grad", [False, True])
def test_operators_pass_the_checks_of_pytorch(
    graded: ModuleType, torch: ModuleType, matrix: Tensor, requires_grad: bool
) -> None:
    """`torch.library.opcheck` finds schemas, registrations, shapes and tracing in order, for any sizes."""

    def tensor() -> Tensor:
        return matrix.clone().requires_grad_(requires_grad)

    def written() -> Tensor:
        # No operator writes to a leaf that requires gradients.
        return tensor() * 1

    check = torch.library.opcheck
    check(graded.scale.default, (tensor(), 2.0))
    check(graded.scale_.default, (written(), 2.0))
    check(graded.cube_.default, (written(),))
    check(graded.squash_.default, (written(),))
    check(graded.polar.default, (tensor(), tensor()))
    check(graded.largest.default, (tensor()[0],))
    check(graded.total.default, ([tensor(), tensor()],))
    check(graded.affine.default, (tensor(), tensor()), {"alpha": 2})
    check(graded.row.default, (tensor(), 1))
    check(graded.window.default, (tensor(), 1, 2))
    check(graded.bands.default, (tensor(), 3))
    check(graded.turned.default, (tensor(),))
    check(graded.shaped.default, (tensor(), (2, 6)))
    check(graded.steps.default, (matrix.clone(),))
    check(graded.steps_.default, (matrix.clone(),))
    check(graded.scale.out, (matrix.clone(), 2.0), {"out": torch.empty_like(matrix)})
    check(graded.polar.out, (matrix, matrix), {"radius": torch.empty_like(matrix), "angle": torch.empty_like(matrix)})
    check(graded.scale_all.default, ([matrix.clone(), matrix.clone()], 2.0))
    check(graded.turned_.default, (matrix.clone(),))
    check(graded.accumulate.default, (matrix.clone(), matrix.clone(), [matrix.clone()]))
    check(graded.swap.default, (matrix.clone(), matrix.clone()))
