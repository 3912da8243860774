"""The code of ExecuTorch's kernels, compiled against a small stand-in for its runtime, and run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.compile.conftest import Generate

RUNTIME = Path(__file__).parents[1] / "executorch" / "runtime"

#: What the program prints: for each call the error, and the values that the kernel wrote.
PRINTED = """\
add 0 21
short 2
abs 0 3
every 0 111123.5
two 0 6 7
count 0 15
fail 1
fill 0
now 0 42
"""


@pytest.mark.thorough
@pytest.mark.parametrize("flags", [(), ("--manual-registration",)], ids=["static", "manual"])
def test_registered_kernels_are_called(
    program: str, generate: Generate, tmp_path: Path, flags: tuple[str, ...]
) -> None:
    """Boxed functions convert arguments of all types, give results back, and report what is wrong with a call."""
    out = generate("--executorch", RUNTIME / "operators.yaml", "--add-exception-boundary", *flags)
    (source,) = out.glob("Register*_0.cpp")
    define = [f"-D{flag[2:].upper().replace('-', '_')}" for flag in flags]
    places = [f"-I{RUNTIME}", f"-I{out}"]
    binary = tmp_path / "calls"
    sources = [str(RUNTIME / "main.cpp"), str(source)]
    subprocess.run([program, "-std=c++17", "-Wall", *define, *places, *sources, "-o", str(binary)], check=True)
    done = subprocess.run([str(binary)], capture_output=True, text=True, check=True)
    assert done.stdout == PRINTED
