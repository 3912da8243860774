"""Schemas as libraries write them, not as PyTorch's files have them: compiled, loaded and called."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.compile.compiler import Compiler
from tests.library.conftest import INCLUDE, generated_code

if TYPE_CHECKING:
    from torch import Tensor

WRITTEN = Path(__file__).parent / "written"

TEXTS = [entry["func"] for entry in yaml.load((WRITTEN / "operators.yaml").read_text(), yaml.CSafeLoader)["operators"]]


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The generated code of the library."""
    return generated_code(WRITTEN / "operators.yaml", tmp_path_factory)


@pytest.fixture(scope="session")
def written(program: str, torch: ModuleType, generated: Path, tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """`torch.ops.written`, compiled and loaded."""
    compiler = Compiler(program, tmp_path_factory.mktemp("written_build"), [generated / "include", INCLUDE])
    sources = sorted((generated / "src" / "written").glob("*.cpp"))
    torch.ops.load_library(compiler.library("written", [*sources, WRITTEN / "kernels.cpp"]))
    operators: ModuleType = torch.ops.written
    return operators


@pytest.fixture
def row(torch: ModuleType) -> Tensor:
    """Two numbers."""
    return torch.tensor([1.0, 2.0])


def test_python_functions_have_the_types_of_values(generated: Path) -> None:
    """A typed function takes dictionaries, tuples, complex numbers and any value."""
    module = (generated / "python" / "written" / "_ops.py").read_text()
    for line in (
        "def rotate(z: complex, by: complex) -> complex:",
        "def parts(x: Tensor) -> dict[str, Tensor]:",
        "def counted(pair: tuple[int, Tensor]) -> tuple[int, Tensor]:",
        "def kept(numbers: Sequence[int], mask: Sequence[bool]) -> list[int]:",
        "def same(value: Any) -> Any:",
    ):
        assert f"\n{line}\n" in module, line
    for line in (
        "z: Sequence[complex] = (1j, -2.5j),",
        "last: complex | None = 0.5j,",
        "more: Sequence[complex] = (2j, 2j),",
        "mask: Sequence[bool] = (True,),",
    ):
        assert f"\n    {line}\n" in module, line


@pytest.mark.thorough
@pytest.mark.parametrize("text", TEXTS)
def test_registered_schemas_are_those_of_the_texts(written: ModuleType, torch: ModuleType, text: str) -> None:
    """The dispatcher has the schema that PyTorch reads from the text of the file."""
    schema = torch._C.parse_schema(f"written::{text}")
    operator = getattr(getattr(torch.ops.written, schema.name[9:]), schema.overload_name or "default")
    assert str(operator._schema) == str(schema)


@pytest.mark.thorough
def test_tensors_of_any_name_are_written(written: ModuleType, torch: ModuleType, row: Tensor) -> None:
    """An operator writes to arguments of any name, and gives back the one that it returns, or nothing."""
    total, out = torch.ones(2), torch.empty(2)
    assert written.accumulate(row, total) is None
    assert written.add_to(row, total) is total
    assert written.copy(row, out=out) is None
    assert (total.tolist(), out.tolist()) == ([3, 5], [1, 2])
    assert written.halve_(total) is total
    assert written.clear_(out) is None
    assert (total.tolist(), out.tolist()) == ([1.5, 2.5], [0, 0])


@pytest.mark.thorough
def test_optional_tensors_are_written(written: ModuleType, torch: ModuleType, row: Tensor) -> None:
    """An optional argument is written and returned if there is one; otherwise the result is new."""
    out = torch.empty(2)
    assert written.doubled(row, out) is out
    assert out.tolist() == written.doubled(row).tolist() == [2, 4]


@pytest.mark.thorough
def test_values_of_types_that_only_the_dispatcher_has(written: ModuleType, torch: ModuleType, row: Tensor) -> None:
    """Complex numbers, dictionaries, tuples, lists of booleans and any value go in and come out."""
    assert written.rotate(1 + 2j, 1j) == -2 + 1j
    assert written.sum_of() == written.sum_of_defaults() == 0.5 + 2.5j
    assert written.sum_of([], 1 + 1j, None, [1j, 2], [True]) == 3 + 1j
    assert {name: part.tolist() for name, part in written.parts(row).items()} == {"half": [0.5, 1], "rest": [0.5, 1]}
    assert written.total({"half": row, "rest": row}).tolist() == [2, 4]
    count, same = written.counted((3, row))
    assert (count, same.tolist()) == (5, [1, 2])
    assert written.kept([1, 2, 3], [True, False, True]) == [1, 3]
    assert [written.same(value) for value in (1, "text", [1.5], None)] == [1, "text", [1.5], None]


@pytest.mark.thorough
def test_blanks_change_nothing(written: ModuleType, row: Tensor) -> None:
    """Operators whose schemas have odd blanks are called as others, with the defaults that they say."""
    assert written.negated(row).tolist() == [-1, -2]
    assert written.blend(row, row * 3).tolist() == [5, 7]
    assert written.blend(row, row * 3, weight=1.0, shift=[0, 1]).tolist() == [2, 3]


#: One of each list for which `c10::IValue` has no constructor.
LISTS = ([[1, 2], [3]], [4, None], [[5], None], [0.5, None], [0, 2])


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["total_of", "total_again"])
def test_lists_without_constructors_arrive(written: ModuleType, torch: ModuleType, row: Tensor, name: str) -> None:
    """Nested and optional symbols reach a kernel from Python, from C++ and from a compiled program, also as symbols."""
    operator = getattr(written, name)
    assert operator(row, *LISTS).tolist() == [1116.875, 1117.875]
    assert operator(row, *LISTS, [[10], []]).tolist() == [1126.875, 1127.875]
    with pytest.raises(RuntimeError, match="derivative for written::"):
        written.total_of(row.requires_grad_(), *LISTS).sum().backward()

    def program(x: Tensor) -> Tensor:
        n = x.shape[0]
        result: Tensor = operator(x, [[n, 2], [3]], [n, None], [[n], None], [0.5, None], [0, 2], [[n]])
        return result

    compiled = torch.compile(program, backend="aot_eager", fullgraph=True, dynamic=True)
    for count in (3, 5):
        x = torch.ones(count)
        assert compiled(x).tolist() == program(x).tolist() == [1 + 4 * count + 1105.875] * count


@pytest.mark.thorough
def test_lists_without_constructors_come_with_writes(written: ModuleType, torch: ModuleType, row: Tensor) -> None:
    """An operator that writes returns its argument, and counts its version, with such lists too."""
    for operator in (written.add_total_, written.add_total_again_):
        before = row._version
        assert operator(row, [[1, 2], [3]]) is row
        assert row._version > before
    assert row.tolist() == [13, 14]


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["store", "gather"])
def test_optional_lists_are_written(written: ModuleType, torch: ModuleType, row: Tensor, name: str) -> None:
    """The items of an optional list are written, in eager and compiled programs, and their versions are counted."""
    operator = getattr(written, name)
    caches = [torch.zeros(2), torch.zeros(2)]
    assert operator(row, caches) is operator(row) is operator(row, None) is None
    assert [cache.tolist() for cache in caches] == [[1, 2], [1, 2]]
    assert [cache._version for cache in caches] == [1, 1]
    with pytest.raises(RuntimeError, match="writes to"):
        operator(row, [caches[0], caches[0]])

    def program(x: Tensor, first: Tensor, second: Tensor) -> Tensor:
        operator(x, [first, second])
        operator(x)
        return first + second

    compiled = torch.compile(program, backend="aot_eager", fullgraph=True)
    caches = [torch.zeros(2), torch.zeros(2)]
    assert compiled(row, *caches).tolist() == [2, 4]
    assert [cache.tolist() for cache in caches] == [[1, 2], [1, 2]]
    leaf = torch.zeros(2, requires_grad=True) * 1
    operator(row, [leaf])
    with pytest.raises(RuntimeError, match=f"derivative for written::{name} is not implemented"):
        leaf.sum().backward()
