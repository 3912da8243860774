"""Operators in a namespace of a library's own: their schemas and kernels are compiled, loaded and used from Python."""

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

#: The generated sources that serve operators of any namespace: those that define schemas, and those of kernels.
SOURCES = tuple(
    f"aten/src/ATen/{name}"
    for name in ("RegisterSchema", "RegisterCPU", "RegisterMeta", "RegisterCompositeImplicitAutograd")
)


@pytest.fixture(scope="session")
def demo(program: str, torch: ModuleType, generate: Generate, tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """`torch.ops.demo`, from the same entries and kernels as those that are added to `aten`."""
    entries = (HERE / "operators.yaml").read_text(encoding="utf-8").replace("- func: ", "- func: demo::")
    inputs = library_inputs(tmp_path_factory.mktemp("inputs"), entries)
    release = torch.__version__.partition("+")[0]
    generated = Generated.from_inputs(inputs, generate, ("headers", "sources"), release)
    compiler = Compiler(program, tmp_path_factory.mktemp("demo"), [generated.include])
    torch.ops.load_library(shared_object(generated, compiler, "demo", SOURCES, ["kernels.cpp"]))
    read = {header.name for header in compiler.headers("kernels") if generated.include in header.parents}
    assert {"twice_native.h", "twice_meta.h", "pad_to_native.h", "halves_native.h"} <= read
    operators: ModuleType = torch.ops.demo
    return operators


@pytest.fixture
def matrix(torch: ModuleType) -> Tensor:
    """Two rows of three numbers."""
    return torch.arange(6.0).reshape(2, 3)


def test_schemas_are_defined_with_their_tags(demo: ModuleType, torch: ModuleType) -> None:
    """PyTorch knows each operator by the schema and the tags of its entry."""
    assert str(demo.pad_to.default._schema) == (
        "demo::pad_to(Tensor self, SymInt length, Scalar? value=None, Tensor? bias=None) -> Tensor"
    )
    assert torch.Tag.pt2_compliant_tag in demo.twice.default.tags
    assert set(demo.twice.overloads()) == {"default", "out"}


def test_structured_kernels_serve_all_three_forms(demo: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """One shape function and one computation give the functional, the in-place and the out overload."""
    doubled = [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]
    assert demo.twice(matrix).tolist() == doubled
    out = torch.empty(0)
    assert demo.twice(matrix, out=out) is out
    assert out.tolist() == doubled
    assert demo.twice_(matrix) is matrix
    assert matrix.tolist() == doubled


def test_optional_arguments_may_be_left_out(demo: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """A scalar and a tensor that are optional arrive in the kernel, or their absence does."""
    assert demo.pad_to(matrix, 4).tolist() == [[0.0, 1.0, 2.0, 0.0], [3.0, 4.0, 5.0, 0.0]]
    padded = demo.pad_to(matrix, 4, value=7, bias=torch.ones(4))
    assert padded.tolist() == [[1.0, 2.0, 3.0, 8.0], [4.0, 5.0, 6.0, 8.0]]


def test_composite_kernels_serve_every_backend(demo: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """A kernel that only calls other operators has a gradient, and works for meta tensors, without more."""
    first, second = demo.halves(matrix.requires_grad_(), 1, dim=1)
    assert (first.tolist(), second.tolist()) == ([[0.0], [3.0]], [[1.0, 2.0], [4.0, 5.0]])
    second.sum().backward()
    assert matrix.grad.tolist() == [[0.0, 1.0, 1.0], [0.0, 1.0, 1.0]]
    assert [half.shape for half in demo.halves(matrix.detach().to("meta"), 1)] == [(1, 3), (1, 3)]


def test_meta_tensors_have_shapes_alone(demo: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """Under Meta, a structured operator runs its shape function and others their own kernel."""
    shapeless = matrix.to("meta")
    assert demo.twice(shapeless).shape == (2, 3)
    assert demo.pad_to(shapeless, 9).shape == (2, 9)


def test_vmap_calls_the_operator_for_each_example(demo: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """PyTorch's fallback gives an operator without a batching rule its batches."""
    assert torch.vmap(demo.twice)(matrix).tolist() == demo.twice(matrix).tolist()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_functions_give_the_same(demo: ModuleType, torch: ModuleType, matrix: Tensor, backend: str) -> None:
    """`torch.compile` traces the functional operators without a break."""

    def chain(tensor: Tensor) -> Tensor:
        return demo.pad_to(demo.twice(demo.halves(tensor, 1)[1]), 4)

    assert torch.compile(chain, backend=backend, fullgraph=True)(matrix).tolist() == [[6.0, 8.0, 10.0, 0.0]]


def test_operators_pass_the_checks_of_pytorch(demo: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """`torch.library.opcheck` finds schema, shapes and tracing in order."""
    check = torch.library.opcheck
    check(demo.twice.default, (matrix,))
    check(demo.pad_to.default, (matrix, 5), {"value": 7, "bias": torch.ones(5)})
    check(demo.halves.default, (matrix, 1))


def test_mutation_is_not_functionalized(demo: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """Kernels of functionalization are generated for `aten` alone, so an in-place operator of a library is refused."""
    with pytest.raises(RuntimeError, match="demo::twice_"):
        torch.func.functionalize(lambda tensor: demo.twice_(tensor.clone()))(matrix)
