"""The change of PyTorch's tree that docs/build-systems.md offers, which leaves symbols of operators to their users."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.compile.compiler import Compiler, torch_folder

ROOT = Path(__file__).parents[2]
#: Sources see these headers, which came with the include of ir.h: no symbol of an operator, or some in a header.
HEADERS = ("ir/ir.h", "passes/restore_mutation.h", "frontend/sugared_value.h")

pytestmark = [pytest.mark.thorough, pytest.mark.slow]


@pytest.fixture(scope="module")
def tree(program: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """PyTorch's headers at their places in a source tree, changed as the page says."""
    page = (ROOT / "docs" / "build-systems.md").read_text(encoding="utf-8")
    commands = re.search(r"^```sh\n(cd aten/src/ATen/core\n.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert commands is not None
    installed, folder = torch_folder() / "include", tmp_path_factory.mktemp("tree")
    core, built = folder / "aten/src/ATen/core", folder / "build/aten/src/ATen/core"
    shutil.copytree(installed / "torch", folder / "torch")
    shutil.copytree(installed / "ATen/core", core)
    built.mkdir(parents=True)
    shutil.move(core / "aten_interned_strings.h", built)
    (folder / "test").mkdir()
    subprocess.run(["bash", "-ec", commands[1]], cwd=folder, env={**os.environ, "OPWRIGHT": str(ROOT)}, check=True)
    return folder


def compiler(tree: Path, program: str, folder: Path) -> Compiler:
    """The compiler with the headers of the changed tree before those of PyTorch."""
    return Compiler(program, folder, (tree / "aten/src", tree / "build/aten/src", tree))


@pytest.mark.parametrize("header", HEADERS)
def test_headers_compile_as_before(tree: Path, program: str, tmp_path: Path, header: str) -> None:
    """Those that name a symbol of an operator include all symbols, and others need none."""
    source = tmp_path / "source.cpp"
    source.write_text(f"#include <torch/csrc/jit/{header}>\nauto kind = c10::prim::Constant;\n", encoding="utf-8")
    compiled = compiler(tree, program, tmp_path)
    compiled.check_syntax(source)


def test_symbols_have_the_numbers_of_the_table(tree: Path, program: str, tmp_path: Path) -> None:
    """The number of a symbol is its place in the list of all symbols, with and without the header of operators."""
    (tmp_path / "builtin.cpp").write_text(
        "#include <ATen/core/builtin_symbols.h>\nunsigned f() { return c10::onnx::Add; }\n", encoding="utf-8"
    )
    source = tmp_path / "source.cpp"
    source.write_text(
        "#include <ATen/core/interned_strings.h>\n"
        "using c10::unique_t;\n"
        "#define CHECK(ns, s) static_assert(unique_t(c10::ns::s) == unique_t(c10::_keys::ns##_##s));\n"
        "FORALL_NS_SYMBOLS(CHECK)\n"
        "static_assert(unique_t(c10::_builtin_keys::num_symbols) < unique_t(c10::aten::add));\n"
        "static_assert(c10::attr::self < unique_t(c10::_keys::num_symbols));\n",
        encoding="utf-8",
    )
    compiled = compiler(tree, program, tmp_path)
    compiled.check_syntax(source)
    compiled.object(tmp_path / "builtin.cpp")
    assert not [path for path in compiled.headers("builtin") if path.name == "aten_interned_strings.h"]
