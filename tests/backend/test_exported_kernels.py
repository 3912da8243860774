"""What Opwright says of the kernels that PyTorch exports agrees with the symbols of the installed library."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

import opwright
from opwright.backends.emit.checks import is_exported
from opwright.release.rules import Rules
from opwright.release.version import parse_version
from tests.compile.compiler import torch_folder


def exported_functions() -> set[str]:
    """The names of the functions in `at::native` that the main library exports."""
    program = shutil.which("nm")
    if program is None:
        pytest.skip("there is no nm")
    command = [program, "-D", "--defined-only", str(torch_folder() / "lib" / "libtorch_cpu.so")]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = set()
    for match in re.finditer(r" [TW] _ZN2at6native(\d+)(\w+)", text):
        names.add(match[2][: int(match[1])])
    return names


def test_exported_kernels() -> None:
    """Every kernel of 2.13 that Opwright lets backends call is a symbol, and no kernel that it refuses is one."""
    torch_version = (torch_folder() / "version.py").read_text(encoding="utf-8")
    if "2.13.0" not in torch_version:
        pytest.skip("the table is for another release")
    exported, rules = exported_functions(), Rules(parse_version("2.13.0"))
    allowed: dict[str, bool] = {}
    for function in opwright.load():
        for kernel in function.kernels.values():
            if not kernel.structured and kernel.namespace == "at::native":
                allowed[kernel.name] = allowed.get(kernel.name, False) or is_exported(kernel, rules)
    assert sum(allowed.values()) > 2000
    assert not [name for name, is_allowed in allowed.items() if is_allowed and name not in exported]
    assert not [name for name, is_allowed in allowed.items() if not is_allowed and name in exported]
