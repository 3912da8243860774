"""The installed PyTorch runs on Opwright's modules in place of its generator."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from opwright.torchgen.gen_schema_utils import FunctionSchemaGen, TypeGen


@pytest.mark.thorough
def test_torch_runs_on_the_interface() -> None:
    """Schemas of custom operators, a compiled function, and schemas of calls."""
    program = Path(__file__).parent / "torch_program.py"
    command = [sys.executable, "-m", "opwright.torchgen.run", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "cond(Tensor self, GraphModule graph, int[2] sizes) -> (Tensor, int)\n"


def test_schemas_of_calls() -> None:
    """Values give types; those that no argument has are refused."""
    schema = FunctionSchemaGen.from_example("op", (("a", 1), ("b", [True]), ("c", ("x", "y"))), (1.5,))
    assert str(schema) == "op(int a, bool[1] b, str[2] c) -> float"
    for value, message in (
        (None, "unsupported type <class 'NoneType'>"),
        ([1, "a"], "heterogeneous types `int`, `str`"),
    ):
        with pytest.raises(RuntimeError, match=message):
            TypeGen.from_example(value)
    with pytest.raises(AssertionError, match="empty list"):
        TypeGen.from_example([])
