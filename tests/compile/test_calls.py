"""C++ that includes the generated headers, before those of PyTorch, calls PyTorch in each way that they declare."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from tests.compile.compiler import Compiler, torch_folder
from tests.compile.conftest import Generate

pytestmark = pytest.mark.thorough

SOURCE = Path(__file__).parent / "calls.cpp"

#: The functions of calls.cpp that give `a + 2 * b`.
ADDITIONS = (
    "add_function",
    "add_method",
    "add_in_place",
    "add_out_first",
    "add_out_last",
    "add_operator",
    "add_operator_out",
    "add_operator_redispatch",
    "add_redispatch",
    "add_redispatch_out",
    "add_direct",
    "add_direct_out",
    "add_structured",
)

#: Those that give `a[1:3]`.
NARROWINGS = (
    "narrow_function",
    "narrow_function_symint",
    "narrow_number_template",
    "narrow_symbol_template",
    "narrow_method",
    "narrow_method_symint",
    "narrow_operator",
    "narrow_native",
)

#: Those that give three sevens.
FILLINGS = ("full_options", "full_faithful", "full_out", "full_operator", "full_factory")


@dataclass(frozen=True)
class Calls:
    """The compiled functions, and where the headers came from."""

    functions: ModuleType
    compiler: Compiler
    generated: Path


@pytest.fixture(scope="session")
def calls(program: str, torch: ModuleType, generate: Generate, tmp_path_factory: pytest.TempPathFactory) -> Calls:
    """calls.cpp, compiled with the generated headers of the installed PyTorch and loaded."""
    generated = generate("--torch", "auto", "--only", "headers", "--only", "autograd")
    folder = tmp_path_factory.mktemp("calls")
    compiler = Compiler(program, folder, (generated / "aten" / "src", generated))
    torch.ops.load_library(compiler.library("calls", [SOURCE]))
    return Calls(torch.ops.opwright_calls, compiler, generated)


def test_generated_headers_are_those_that_were_read(calls: Calls) -> None:
    """Whatever header is generated is read from the output folder, and from PyTorch's only what is not."""
    read = calls.compiler.headers("calls")
    ours = {header for header in read if calls.generated.resolve() in header.parents}
    stock = (torch_folder() / "include").resolve()
    roots = calls.compiler.includes[:2]
    for header in read:
        if stock in header.parents:
            assert not any((root / header.relative_to(stock)).exists() for root in roots), f"{header} was read"
    names = {header.name for header in ours}
    assert {"TensorBody.h", "Functions.h", "RedispatchFunctions.h", "NativeFunctions.h", "enum_tag.h"} <= names
    per_operator = {header.name for header in (calls.generated / "aten/src/ATen/ops").glob("*_ops.h")}
    assert per_operator <= names


@pytest.mark.parametrize("name", ADDITIONS)
def test_every_way_to_add_gives_the_same(calls: Calls, torch: ModuleType, name: str) -> None:
    """Functions, methods, outputs, operators and kernels of one operator give the right numbers."""
    left, right = torch.arange(3.0), torch.tensor([1.0, 0.0, 2.0])
    assert getattr(calls.functions, name)(left, right).tolist() == [2.0, 1.0, 6.0]


@pytest.mark.parametrize("name", NARROWINGS)
def test_sizes_may_be_numbers_or_symbols(calls: Calls, torch: ModuleType, name: str) -> None:
    """The forms for numbers and for symbols of an operator with symbolic sizes give the right slice."""
    assert getattr(calls.functions, name)(torch.arange(4.0)).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("name", FILLINGS)
def test_tensor_options_may_be_one_argument_or_four(calls: Calls, torch: ModuleType, name: str) -> None:
    """The forms with `TensorOptions` and the faithful ones make the same tensor."""
    filled = getattr(calls.functions, name)()
    assert filled.tolist() == [7.0, 7.0, 7.0]
    assert filled.dtype == torch.float64


def test_lists_and_optional_values_reach_the_kernel(calls: Calls, torch: ModuleType) -> None:
    """Lists of tensors and values that are left out are passed on."""
    values = torch.arange(3.0)
    assert calls.functions.lists(values, values).tolist() == [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]
    assert calls.functions.optional_values(values).tolist() == [0.0, 1.0, 1.5]


def test_several_results_come_in_order(calls: Calls, torch: ModuleType) -> None:
    """An operator with two outputs writes them in the order of its schema."""
    values, indices = calls.functions.several_results(torch.tensor([1.0, 5.0, 3.0]))
    assert (values.item(), indices.item()) == (5.0, 1)


def test_node_classes_are_laid_out_as_in_pytorch(calls: Calls, torch: ModuleType) -> None:
    """What PyTorch saved for the backward pass is read through a class of the generated header."""
    left, right = torch.arange(3.0), torch.tensor([1.0, 0.0, 2.0])
    assert calls.functions.saved_for_backward(left, right).tolist() == right.tolist()


def test_operators_know_their_schema(calls: Calls, torch: ModuleType) -> None:
    """The schema in an operator's header is the one that PyTorch has registered."""
    assert f"aten::{calls.functions.schema_text()}" == str(torch.ops.aten.add.Tensor._schema)


def test_headers_of_the_aggregated_layout_compile(
    program: str, torch: ModuleType, generate: Generate, tmp_path: Path
) -> None:
    """The same calls are valid C++ with the few large headers of `--no-per-operator-headers`."""
    generated = generate("--torch", "auto", "--only", "headers", "--only", "autograd", "--no-per-operator-headers")
    includes = (generated / "aten" / "src", generated)
    Compiler(program, tmp_path, includes, per_operator_headers=False).check_syntax(SOURCE)
