"""Every structured operator of PyTorch as a structured kernel of a backend."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from types import ModuleType

import pytest

from opwright.backends.emit.headers import kernel_stubs
from opwright.cli.main import main
from opwright.model.dispatch_key import CPU
from tests.backend.conftest import backend_compiler
from tests.backend.structured.all_groups import backend_text, shared_groups, structured_groups
from tests.compile.compiler import torch_folder


def generated(text: str, folder: Path) -> Path:
    """The folder with the code of a backend file."""
    file, out = folder / "acme.yaml", folder / "generated"
    file.write_text(text, encoding="utf-8")
    assert main(["generate", "--backend", str(file), "--torch", "auto", "--out", str(out)]) == 0
    return out


@pytest.mark.thorough
def test_every_operator_has_a_class_and_its_wrappers(tmp_path: Path) -> None:
    """All structured operators have one class, and a registration for each of their overloads."""
    groups = structured_groups()
    out = generated(backend_text(groups, "structured: true"), tmp_path)
    assert (out / "AcmeNativeFunctions.h").read_text().count("void impl(") == len(groups) >= 275
    source = (out / "RegisterAcme.cpp").read_text()
    assert source.count("m.impl(") == sum(len(group.functions()) for group in groups)


def test_stubs_of_every_shared_kernel_are_known() -> None:
    """The table has all kernels that the CPU and CUDA share, and PyTorch's headers declare the stubs that they call."""
    table = kernel_stubs()
    assert {group.out.kernels[CPU].name for group in shared_groups()} <= table.keys()
    for stub in {stub for stubs in table.values() for stub in stubs}:
        text = (torch_folder() / "include" / stub.header).read_text()
        assert re.search(rf"DECLARE_DISPATCH\([^;]*?,\s*{stub.name}\)", text), stub


def test_libraries_of_pytorch_export_the_stubs(torch: ModuleType) -> None:
    """A backend can bind a loop to every stub of the table."""
    library = ctypes.CDLL(str(torch_folder() / "lib" / "libtorch_cpu.so"))
    for stub in {stub for stubs in kernel_stubs().values() for stub in stubs}:
        assert hasattr(library, f"_ZN2at6native{len(stub.name)}{stub.name}E"), stub


@pytest.mark.thorough
@pytest.mark.parametrize("options", ["structured: true", "structured: true, define_meta: true, register_meta: true"])
def test_every_operator_compiles(options: str, program: str, tmp_path: Path) -> None:
    """The wrappers of all structured operators are valid C++ with PyTorch's headers."""
    out = generated(backend_text(structured_groups(), options), tmp_path)
    backend_compiler(program, tmp_path, out).check_syntax(out / "RegisterAcme.cpp")


@pytest.mark.thorough
def test_every_shared_kernel_links(program: str, tmp_path: Path) -> None:
    """PyTorch's libraries have every kernel that `stub` runs."""
    groups = shared_groups()
    assert len(groups) >= 204
    out = generated(backend_text(groups, "stub: true", names=False), tmp_path)
    compiler = backend_compiler(program, tmp_path, out)
    compiler.link("stubs", [compiler.object(out / "RegisterAcme.cpp")])
