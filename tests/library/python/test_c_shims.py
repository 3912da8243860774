"""C shims of a library: which operators have one, and that a model compiled by AOTInductor calls them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from opwright.cli.main import main
from tests.compile.compiler import Compiler
from tests.compile.conftest import program
from tests.library.conftest import INCLUDE

__all__ = ["program"]

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The generated code of the library."""
    out = tmp_path_factory.mktemp("shims")
    assert main(["generate", "--library", str(HERE / "shims.yaml"), "--out", str(out)]) == 0
    return out


def test_operators_with_a_shim(generated: Path) -> None:
    """Functional operators have one shim each, unless C lacks a type of theirs or PyTorch has a shim of that name."""
    declared = (generated / "include" / "acme" / "c_shim.h").read_text(encoding="utf-8")
    heads = re.findall(r"AOTI_TORCH_EXPORT (AOTITorchError .*);", declared)
    assert [head.partition("(")[0] for head in heads] == [
        "AOTITorchError aoti_torch_cpu_blend",
        "AOTITorchError aoti_torch_cpu_scale",
        "AOTITorchError aoti_torch_cpu_exact",
    ]
    assert heads[1].endswith(
        "(AtenTensorHandle self, double factor, const int64_t* shape, int64_t shape_len_, AtenTensorHandle* ret0)"
    )
    source = (generated / "src" / "acme" / "c_shim.cpp").read_text(encoding="utf-8")
    assert re.findall(r"auto tmp_result = (.*)\(", source) == [
        f"acme::_ops::{name}::call" for name in ("blend", "scale", "exact")
    ]


def test_settings_of_aotinductor(generated: Path) -> None:
    """The Python module has the declarations of the header, by operator and overload."""
    declared = (generated / "include" / "acme" / "c_shim.h").read_text(encoding="utf-8")
    values: dict[str, dict[tuple[str, str], list[str]]] = {}
    text = (generated / "python" / "acme" / "_aoti.py").read_text(encoding="utf-8")
    exec(text[text.index("_DECLARATIONS") : text.index("def c_shims")], values)
    assert values["_DECLARATIONS"].keys() == {(name, "default") for name in ("blend", "scale", "exact")}
    for heads in values["_DECLARATIONS"].values():
        assert all(f"AOTI_TORCH_EXPORT {head};" in declared for head in heads)


def test_shims_are_made_where_the_head_asks_for_them(tmp_path: Path) -> None:
    """There is a shim for each device of the head, and no file without any."""
    library = tmp_path / "library.yaml"
    text = (HERE / "shims.yaml").read_text(encoding="utf-8")
    library.write_text(text.replace("[cpu]", "[cuda, cpu]"), encoding="utf-8")
    out = tmp_path / "out"
    assert main(["generate", "--library", str(library), "--out", str(out)]) == 0
    declared = (out / "include" / "acme" / "c_shim.h").read_text(encoding="utf-8")
    names = ["cuda_blend", "cpu_blend", "cuda_scale", "cpu_scale", "cuda_exact", "cpu_exact"]
    assert re.findall(r"aoti_torch_(\w+)\(", declared) == names
    library.write_text(text.replace("c_shims: [cpu]\n", ""), encoding="utf-8")
    assert main(["generate", "--library", str(library), "--out", str(out)]) == 0
    assert not list(out.rglob("*c_shim*")) + list(out.rglob("_aoti.py"))


@pytest.mark.thorough
def test_compiled_models_call_shims(program: str, generated: Path, tmp_path: Path) -> None:
    """A model compiled with the shims gives what the operators give, and calls only operators without one by name."""
    compiler = Compiler(program, tmp_path, [generated / "include", INCLUDE])
    sources = sorted((generated / "src" / "acme").glob("*.cpp"))
    shared_object = compiler.library("acme", [*sources, HERE / "shims.cpp"])
    (generated / "python" / "acme" / "__init__.py").write_text("", encoding="utf-8")
    (tmp_path / "model").mkdir()
    command = [sys.executable, str(HERE / "runtime_shims.py"), str(shared_object), str(generated / "python")]
    ran = subprocess.run([*command, str(tmp_path / "model")], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    counts = ["aoti_torch_cpu_blend 2", "aoti_torch_cpu_exact 2", "aoti_torch_cpu_scale 1", "proxy executor 4"]
    assert ran.stdout.splitlines() == counts
