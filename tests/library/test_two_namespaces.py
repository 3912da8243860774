"""One file with operators of the same name in two namespaces: both are compiled, loaded and called."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from tests.compile.compiler import Compiler
from tests.library.conftest import INCLUDE, generated_code

TWO = Path(__file__).parent / "two"


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The generated code of both libraries."""
    return generated_code(TWO / "operators.yaml", tmp_path_factory)


def test_each_namespace_has_files_of_its_own(generated: Path) -> None:
    """Headers, sources, Python modules and tests are in the folders of the namespaces."""
    files = {str(path.relative_to(generated)) for path in generated.rglob("*.*") if ".opwright" not in path.parts}
    for name in ("left", "right"):
        assert {f"include/{name}/ops.h", f"src/{name}/register_0.cpp", f"python/{name}/_ops.py"} <= files
    assert "at::Tensor scale(const at::Tensor & self, double factor)" in (generated / "include/left/ops.h").read_text()


@pytest.mark.thorough
def test_operators_of_one_name_do_not_meet(program: str, torch: ModuleType, generated: Path, tmp_path: Path) -> None:
    """Each operator runs its own kernel, one calls the other from C++, and a traced function may use both."""
    compiler = Compiler(program, tmp_path, [generated / "include", INCLUDE])
    objects = []
    for name in ("left", "right"):
        source = (generated / f"src/{name}/register_0.cpp").rename(generated / f"src/{name}/{name}.cpp")
        objects.append(compiler.object(source))
    torch.ops.load_library(compiler.link("two", [*objects, compiler.object(TWO / "kernels.cpp")]))
    left, right = torch.ops.left.scale, torch.ops.right.scale
    row = torch.tensor([1.0, 2.0])
    assert left(row, 2.0).tolist() == [2, 4]
    assert right(row, 2.0, 1.0).tolist() == [3, 5]
    traced = torch.compile(lambda tensor: right(left(tensor, 2.0), 3.0), backend="aot_eager", fullgraph=True)
    assert traced(row).tolist() == [6, 12]
