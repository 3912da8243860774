"""Operators of every kind in a library: generated, compiled, loaded and called from Python."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from torch import Tensor

pytestmark = pytest.mark.thorough


@pytest.fixture
def matrix(torch: ModuleType) -> Tensor:
    """Two rows of three numbers."""
    return torch.arange(6.0).reshape(2, 3)


def test_three_forms_of_an_operator(acme: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """The functional, in-place and out overloads call their kernels; the latter two give back what they write to."""
    doubled = [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]
    assert acme.scale(matrix, 2.0).tolist() == doubled
    out = torch.empty(2, 3)
    assert acme.scale(matrix, 2.0, out=out) is out
    assert out.tolist() == doubled
    assert acme.scale_(matrix, 2.0) is matrix
    assert matrix.tolist() == doubled


def test_a_mutable_operator_writes_to_its_argument(acme: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """An operator that returns nothing writes to any of its arguments, also in a compiled function."""
    total = torch.ones(2, 3)
    assert acme.accumulate(matrix, total) is None
    assert total.tolist() == (matrix + 1).tolist()

    def add_twice(tensor: Tensor, total: Tensor) -> Tensor:
        acme.accumulate(tensor, total)
        acme.accumulate(tensor, total)
        return total * 2

    compiled = torch.compile(add_twice, backend="aot_eager", fullgraph=True)
    assert compiled(matrix, torch.zeros(2, 3)).tolist() == (matrix * 4).tolist()


def test_lists_numbers_and_optional_arguments(acme: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """Arguments of every type arrive in the kernel, and those that are left out have the default of the schema."""
    assert acme.combine([matrix, matrix]).tolist() == (matrix * 2).tolist()
    combined = acme.combine([matrix, matrix], matrix, weight=2, pads=[1, 2], mode="mean")
    assert combined.tolist() == (matrix * 2.5 + 3).tolist()
    assert acme.combine([matrix], pads=3).tolist() == (matrix + 6).tolist()


def test_several_results_and_lists_of_results(acme: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """An operator gives a tuple, or a list of any length."""
    first, second = acme.halves(matrix, 1, dim=1)
    assert (first.tolist(), second.tolist()) == ([[0.0], [3.0]], [[1.0, 2.0], [4.0, 5.0]])
    assert [row.tolist() for row in acme.rows(matrix)] == matrix.tolist()


def test_symbolic_sizes(acme: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """A kernel may take symbols or numbers; while PyTorch traces with symbols, the kernel for Meta takes them."""
    assert acme.repeat(matrix[:1], [2, 3]).tolist() == [[0.0, 1.0, 2.0]] * 2

    def repeated(tensor: Tensor) -> Tensor:
        return acme.repeat(tensor, [tensor.shape[1], tensor.shape[1]])

    compiled = torch.compile(repeated, backend="aot_eager", fullgraph=True, dynamic=True)
    for width in (2, 3, 4):
        assert compiled(torch.ones(width)[None]).shape == (width, width)


def test_factories_and_random_operators(acme: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """A factory takes dtype and device, a random operator a generator."""
    ramp = acme.ramp(3, dtype=torch.float64)
    assert (ramp.tolist(), ramp.dtype) == ([0.0, 1.0, 2.0], torch.float64)
    assert acme.ramp(3, device="meta").device.type == "meta"
    first, second = [acme.jitter(matrix, generator=torch.Generator().manual_seed(1)) for _ in range(2)]
    assert torch.equal(first, second)
    assert not torch.equal(first, acme.jitter(matrix))


def test_structured_kernels_serve_all_forms(acme: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """One shape function and one computation give the functional, in-place and out overloads, and the one for Meta."""
    product = [[0.0, 0.0, 0.0], [3.0, 4.0, 5.0], [6.0, 8.0, 10.0]]
    out = torch.empty(0)
    assert acme.outer(*matrix).tolist() == product
    assert acme.outer(*matrix, out=out) is out
    assert out.tolist() == product
    assert acme.outer(*matrix.to("meta")).shape == (3, 3)
    low, high = acme.extremes(matrix)
    assert (low.tolist(), high.tolist()) == ([0.0, 3.0], [2.0, 5.0])
    assert acme.mix(matrix, matrix.int(), alpha=2).tolist() == (matrix * 3).tolist()
    assert acme.mix_(matrix, torch.ones(3)) is matrix
    assert matrix.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def test_errors_of_structured_kernels(acme: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """Wrong calls give the messages that PyTorch's structured operators give."""
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype float, but got int instead"):
        acme.outer(*matrix, out=torch.empty(0, dtype=torch.int32))
    with pytest.raises(RuntimeError, match="can't be cast"):
        acme.mix_(torch.zeros(3, dtype=torch.int32), torch.ones(3))
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        acme.mix(matrix, torch.ones(4))


def test_composite_kernels_have_gradients(acme: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """A kernel made of differentiable operators is differentiated through them; vmap needs nothing either."""
    _, second = acme.halves(matrix.requires_grad_(), 1, dim=1)
    second.sum().backward()
    assert matrix.grad is not None
    assert matrix.grad.tolist() == [[0.0, 1.0, 1.0], [0.0, 1.0, 1.0]]
    assert acme.twice(matrix.detach()).tolist() == (matrix * 2).tolist()
    assert torch.vmap(acme.outer)(matrix.detach(), matrix.detach()).shape == (2, 3, 3)


def test_kernels_of_other_namespaces(acme: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """A kernel named `mine::negate` is that function, wherever the library's kernels are."""
    assert acme.negate(matrix).tolist() == (-matrix).tolist()


def test_every_key_has_its_kernels(acme: ModuleType, torch: ModuleType) -> None:
    """The dispatcher has the kernels of all keys, also of those without a device at hand."""
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    for name in ("negate", "ramp", "outer", "outer.out"):
        assert has_kernel(f"acme::{name}", "PrivateUse1"), name
    assert not has_kernel("acme::scale", "PrivateUse1")
    assert has_kernel("acme::scale_", "Meta")


def test_operators_pass_the_checks_of_pytorch(acme: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """`torch.library.opcheck` finds schemas, shapes and tracing in order."""
    check = torch.library.opcheck
    check(acme.scale.default, (matrix, 2.0))
    check(acme.accumulate.default, (matrix, torch.ones(2, 3)))
    check(acme.combine.default, ([matrix, matrix], matrix))
    check(acme.halves.default, (matrix, 1))
    check(acme.repeat.default, (matrix[:1], [2, 3]))
    check(acme.outer.default, tuple(matrix))
    check(acme.extremes.default, (matrix,))


def test_synthesized_forms(acme: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """Forms that `autogen` asks for call the form that has a kernel."""
    first, second = torch.empty(0), torch.empty(0)
    acme.shift(matrix, 1, out0=first, out1=second)
    assert (first - second).tolist() == [[2.0] * 3] * 2
    assert acme.count(matrix, matrix).tolist() == (matrix + 6).tolist()
    out = torch.empty(2, 3)
    assert acme.count(matrix, matrix, out=out) is out
    assert out.tolist() == (matrix + 6).tolist()
    with pytest.raises(RuntimeError, match=r"have dtype torch.float32, but got torch.int32 instead"):
        acme.count(matrix, matrix, out=torch.empty(2, 3, dtype=torch.int32))


def test_synthesized_forms_of_a_mutable_operator(acme: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """The functional form leaves its arguments alone and returns what they would be; the out form writes to them."""
    state, part = torch.zeros(2, 3), torch.zeros(1)
    result, new_state, (new_part,) = acme.update_functional(matrix, state, [part])
    assert (state.sum(), part.sum()) == (0, 0)
    assert new_state.tolist() == matrix.tolist()
    assert (result.tolist(), new_part.tolist()) == ((matrix * 2).tolist(), [1.0])
    out = torch.empty(0)
    acme.update(matrix, state, [part], out=out)
    assert (state.tolist(), part.tolist(), out.tolist()) == (matrix.tolist(), [1.0], (matrix * 2).tolist())


def test_copies_of_views(acme: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """The copying form of a view, and its out form, call the view and clone its result."""
    view, copy = acme.pick(matrix, 1), acme.pick_copy(matrix, 1)
    matrix[1] = 7
    assert view.tolist() == [7.0] * 3
    assert copy.tolist() == [3.0, 4.0, 5.0]
    assert acme.pick_copy(matrix, 1, out=torch.empty(0)).tolist() == [7.0] * 3


def test_synthesized_forms_trace_with_symbols(acme: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """Out forms take symbolic sizes from the results of the functional form."""

    def shifted(tensor: Tensor, out: Tensor) -> Tensor:
        acme.shift(tensor, tensor.shape[1], out0=out, out1=torch.empty_like(tensor))
        return acme.pick_copy(out, 1)

    compiled = torch.compile(shifted, backend="aot_eager", fullgraph=True, dynamic=True)
    assert compiled(matrix, torch.empty(2, 3)).tolist() == [6.0, 7.0, 8.0]
    assert compiled(torch.ones(4, 5), torch.empty(4, 5)).tolist() == [6.0] * 5
