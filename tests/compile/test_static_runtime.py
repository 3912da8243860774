"""The code of static runtime and of upgraders, compiled with the headers that PyTorch ships."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from opwright.mobile.upgraders.emitter import FILE_NAME
from opwright.torchgen import gen_mobile_upgraders, gen_static_runtime_ops
from tests.compile.compiler import Compiler
from tests.static_runtime.sides import OPERATORS, TESTS


@pytest.mark.thorough
def test_operators_of_static_runtime_compile(
    program: str, torch: ModuleType, reference_inputs: Path, tmp_path: Path
) -> None:
    """The code of all operators is valid C++; the tests need headers that PyTorch does not ship."""
    flags = ["-p", str(tmp_path / OPERATORS), "-t", str(tmp_path / TESTS), "--no-format"]
    assert gen_static_runtime_ops.main(["-s", str(reference_inputs), *flags]) == 0
    Compiler(program, tmp_path, [], per_operator_headers=False).check_syntax(tmp_path / OPERATORS)


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="PyTorch for Windows has no mobile interpreter")
def test_upgraders_compile(program: str, torch: ModuleType, tmp_path: Path) -> None:
    """The bytecode of PyTorch's upgraders is valid C++, and so is an operator with two upgraders."""
    dumped, edited = tmp_path / "dumped.json", tmp_path / "edited.json"
    assert gen_mobile_upgraders.main(["--out", str(tmp_path), "--dump-bytecode", str(dumped)]) == 0
    one, two = (
        '"upgraders": ["gelu_0_9"],\n      "ranges": [[0, 9]]',
        '"upgraders": ["gelu_0_9", "gelu_0_9"],\n      "ranges": [[0, 5], [6, 9]]',
    )
    text = dumped.read_text()
    assert one in text
    edited.write_text(text.replace(one, two))
    assert gen_mobile_upgraders.main(["--out", str(tmp_path), "--bytecode", str(edited)]) == 0
    Compiler(program, tmp_path, [], per_operator_headers=False).check_syntax(tmp_path / FILE_NAME)
