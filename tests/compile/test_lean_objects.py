"""Lean sources export the same symbols as the usual ones, and register the same kernels when a process loads them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from opwright.cli.main import main
from opwright.emit.aten import units
from tests.compile.compiler import Compiler

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

#: Loads a library, and prints the kernels of PyTorch's operators that a source in a folder registered.
REGISTERED = """
import sys, torch
torch.ops.load_library(sys.argv[1])
for operator in torch._C._dispatch_get_all_op_names():
    for line in torch._C._dispatch_dump(operator).splitlines():
        if sys.argv[2] in line:
            print(operator, line)
"""
NAME = "RegisterSparseCsrCPU"
#: Few enough overloads that this source is split.
SPLIT_ABOVE = 50


class Built:
    """The numbered shards of a source, compiled and linked."""

    def __init__(self, program: str, folder: Path, *flags: str) -> None:
        self.folder = folder
        assert main(["generate", "--torch", "auto", "--out", str(folder), *flags]) == 0
        aten = folder / "aten" / "src"
        compiler = Compiler(program, folder, (aten,))
        self.objects = [compiler.object(source) for source in sorted((aten / "ATen").glob(f"{NAME}_[0-9]*.cpp"))]
        self.library = compiler.link(NAME, self.objects)

    def symbols(self) -> list[str]:
        """What the objects define for others, with the kinds of symbols."""
        command = ["nm", "--extern-only", "--defined-only", "--format=posix", *map(str, self.objects)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        symbols = [line.split()[:2] for line in done.stdout.splitlines() if not line.endswith(":")]
        return sorted([f"{name} {kind}" for name, kind in symbols if kind in "TDBR"])

    def registrations(self) -> list[str]:
        """The kernels that a process has from the library: operator, dispatch key and type."""
        command = [sys.executable, "-c", REGISTERED, str(self.library), str(self.folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return sorted([re.sub(r"registered at \S+", "", line) for line in done.stdout.splitlines()])


@pytest.fixture(scope="module")
def usual(program: str, torch: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The usual source."""
    return Built(program, tmp_path_factory.mktemp("usual"))


@pytest.fixture(scope="module")
def lean(program: str, torch: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The lean sources."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(units, "_LEAN_SHARD", SPLIT_ABOVE)
        return Built(program, tmp_path_factory.mktemp("lean"), "--lean")


def test_lean_objects_export_the_same_symbols(usual: Built, lean: Built) -> None:
    """No symbol is missing, defined twice or of another kind."""
    assert len(lean.objects) > len(usual.objects) == 1
    assert usual.symbols()
    assert lean.symbols() == usual.symbols()


def test_lean_objects_register_the_same_kernels(usual: Built, lean: Built) -> None:
    """For the same operators, under the same dispatch key, with the same types."""
    assert any(line.startswith("aten::add.Tensor SparseCsrCPU:") for line in usual.registrations())
    assert lean.registrations() == usual.registrations()
