"""Operators that a library adds to `aten`: all that is generated for them is compiled, loaded and used from Python."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from tests.compile.build import HERE, Generated, library_inputs, shared_object
from tests.compile.compiler import Compiler
from tests.compile.conftest import Generate

if TYPE_CHECKING:
    from torch import Tensor

pytestmark = pytest.mark.thorough

#: The generated sources.
SOURCES = (
    *(
        f"aten/src/ATen/{name}"
        for name in (
            "Operators",
            "RegisterSchema",
            "RegisterCPU",
            "RegisterMeta",
            "RegisterCompositeImplicitAutograd",
            "RegisterCompositeExplicitAutograd",
            "RegisterCompositeExplicitAutogradNonFunctional",
            "RegisterFunctionalization",
            "CompositeViewCopyKernels",
            "ViewMetaClasses",
            "UnboxingFunctions",
        )
    ),
    *(
        f"torch/csrc/autograd/generated/{name}"
        for name in ("Functions", "VariableType", "ADInplaceOrViewType", "TraceType")
    ),
)

OWN = ("kernels.cpp", "more_kernels.cpp", "unexported.cpp", "boxed_calls.cpp")


@pytest.fixture(scope="session")
def aten(program: str, torch: ModuleType, generate: Generate, tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """`torch.ops.aten` with the library's operators."""
    entries = "\n".join((HERE / name).read_text(encoding="utf-8") for name in ("operators.yaml", "more_operators.yaml"))
    inputs = library_inputs(tmp_path_factory.mktemp("inputs"), entries)
    families = ("headers", "sources", "autograd", "unboxing")
    generated = Generated.from_inputs(inputs, generate, families, torch.__version__.partition("+")[0])
    folder = tmp_path_factory.mktemp("added")
    compiler = Compiler(program, folder, [generated.include], prefix=HERE / "operators.h")
    torch.ops.load_library(shared_object(generated, compiler, "added", SOURCES, OWN))
    read = {header.name for header in compiler.headers("operators.h") if generated.include in header.parents}
    assert {"twice.h", "twice_ops.h", "pad_to.h", "halves.h", "row.h", "row_copy.h"} <= read
    operators: ModuleType = torch.ops.aten
    return operators


@pytest.fixture
def matrix(torch: ModuleType) -> Tensor:
    """Two rows of three numbers."""
    return torch.arange(6.0).reshape(2, 3)


def change_a_row(aten: ModuleType, tensor: Tensor) -> Tensor:
    """Doubles the second row, through a view of a copy."""
    copy = tensor.clone()
    aten.twice_(aten.row(copy, 1))
    return copy


CHANGED = [[0.0, 1.0, 2.0], [6.0, 8.0, 10.0]]


def test_structured_kernels_serve_all_three_forms(aten: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """One shape function and one computation give the functional, the in-place and the out overload."""
    doubled = [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]
    assert aten.twice(matrix).tolist() == doubled
    out = torch.empty(3, 2).t()
    assert aten.twice(matrix, out=out) is out
    assert out.tolist() == doubled
    assert out.stride() == (1, 2)
    assert aten.twice_(matrix) is matrix
    assert matrix.tolist() == doubled


def test_structured_kernels_refuse_other_types(aten: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """The generated check compares the output's type with that of the shape function."""
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype float, but got int instead"):
        aten.twice(matrix, out=torch.empty(0, dtype=torch.int32))


def test_meta_tensors_have_shapes_alone(aten: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """Under Meta, a structured operator runs its shape function and others their own kernel."""
    shapeless = matrix.to("meta")
    assert aten.twice(shapeless).shape == (2, 3)
    assert aten.pad_to(shapeless, 9).shape == (2, 9)


def test_views_and_copies_of_them(aten: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """A view shares memory, its generated copying form and the overload synthesized for that do not."""
    assert aten.row(matrix, 1).data_ptr() == matrix[1].data_ptr()
    copied, out = aten.row_copy(matrix, 1), torch.empty(0)
    assert copied.data_ptr() != matrix[1].data_ptr()
    assert aten.row_copy(matrix, 1, out=out) is out
    assert copied.tolist() == out.tolist() == [3.0, 4.0, 5.0]


def test_gradients_are_those_of_the_derivatives(aten: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """Formulas give the right gradients, backward and forward, in the functional and the in-place form."""
    point = matrix.double().requires_grad_()
    check = torch.autograd.gradcheck
    assert check(aten.twice, point, check_forward_ad=True)
    assert check(lambda tensor: aten.twice_(tensor.clone()), point, check_forward_ad=True)
    assert check(lambda tensor: aten.halves(tensor, 1, 1), point)


def test_operators_without_derivative_say_so(aten: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """Where no formula is given, the backward pass names the operator."""
    padded = aten.pad_to(matrix.requires_grad_(), 4)
    with pytest.raises(RuntimeError, match="derivative for aten::pad_to is not implemented"):
        padded.sum().backward()


def test_outputs_that_require_gradients_are_refused(aten: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """The out overload does not record, and says so."""
    with pytest.raises(RuntimeError, match=r"twice\(\): functions with out=.* don't support automatic differentiation"):
        aten.twice(matrix.requires_grad_(), out=torch.empty(2, 3))


def test_functionalization_takes_mutation_away(aten: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """A change through a view becomes functional calls, with the same result."""
    from torch.fx.experimental.proxy_tensor import make_fx

    functional = torch.func.functionalize(lambda tensor: change_a_row(aten, tensor))
    assert functional(matrix).tolist() == CHANGED
    called = [str(node.target) for node in make_fx(functional)(matrix).graph.nodes if node.op == "call_function"]
    assert "aten.twice.default" in called
    assert "aten.select_scatter.default" in called
    assert "aten.twice_.default" not in called


def test_functionalization_replaces_outputs(aten: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """A call of the out overload becomes one of the functional overload."""
    doubled = torch.func.functionalize(lambda tensor: aten.twice(tensor, out=torch.empty(2, 3)))(matrix)
    assert doubled.tolist() == aten.twice(matrix).tolist()


def test_vmap_calls_the_operator_for_each_example(aten: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """PyTorch's fallback gives an operator without a batching rule its batches."""
    assert torch.vmap(aten.twice)(matrix).tolist() == aten.twice(matrix).tolist()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_functions_give_the_same(aten: ModuleType, torch: ModuleType, matrix: Tensor, backend: str) -> None:
    """`torch.compile` traces the operators without a break."""
    compiled = torch.compile(lambda tensor: change_a_row(aten, tensor), backend=backend, fullgraph=True)
    assert compiled(matrix).tolist() == CHANGED


def test_sizes_stay_symbolic_in_graphs(aten: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """A size that is worked out from another stays a symbol through the operator, so that one graph serves all."""
    from torch.fx.experimental.proxy_tensor import make_fx

    graph = make_fx(lambda tensor: aten.pad_to(tensor, tensor.shape[1] + 1), tracing_mode="symbolic")(matrix)
    assert graph(matrix).shape == (2, 4)
    assert graph(torch.ones(4, 6)).shape == (4, 7)


def test_operators_pass_the_checks_of_pytorch(aten: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """`torch.library.opcheck` finds schema, autograd registration, shapes and tracing in order."""
    check = torch.library.opcheck
    check(aten.twice.default, (matrix.clone().requires_grad_(),))
    check(aten.twice.out, (matrix,), {"out": torch.empty(2, 3)})
    check(aten.pad_to.default, (matrix, 5), {"value": 7, "bias": torch.ones(5)})
    check(aten.halves.default, (matrix, 1))
    check(aten.row.default, (matrix, 1))
    # A structured shape function is called with sizes that are numbers, so that tracing with symbols is left out.
    check(
        aten.twice_.default,
        (matrix,),
        test_utils=("test_schema", "test_autograd_registration", "test_faketensor"),
    )


def test_tracing_records_calls_from_cpp(aten: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """The tracer's kernels put a call into the graph that a derivative's formula makes, where no Python is involved."""
    # PyTorch's fallback records as well, so that a kernel that is missing would not show in the graph.
    assert torch._C._dispatch_has_kernel_for_dispatch_key("aten::twice", "Tracer")
    matrix.requires_grad_()

    def gradient(tensor: Tensor) -> Tensor:
        return torch.autograd.grad(aten.twice(tensor).sum(), tensor)[0]

    with pytest.warns(DeprecationWarning, match=r"torch\.jit"):
        graph = torch.jit.trace(gradient, matrix, check_trace=False).graph
    assert str(graph).count("= aten::twice(") == 2


def test_boxed_calls_unbox_their_arguments(aten: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """The unboxing functions take arguments, absent ones too, from a stack, and put all results back."""
    boxed = torch.ops.opwright_boxed
    assert boxed.twice(matrix).tolist() == aten.twice(matrix).tolist()
    assert boxed.pad_to(matrix, 4, 7).tolist() == [[0.0, 1.0, 2.0, 7.0], [3.0, 4.0, 5.0, 7.0]]
    assert boxed.pad_to(matrix, 4, None).tolist() == [[0.0, 1.0, 2.0, 0.0], [3.0, 4.0, 5.0, 0.0]]
    first, second = boxed.halves(matrix, 1)
    assert (first.tolist(), second.tolist()) == ([[0.0, 1.0, 2.0]], [[3.0, 4.0, 5.0]])
