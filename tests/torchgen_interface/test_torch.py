"""The installed PyTorch runs on Opwright's modules in place of its generator."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

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


def test_values_of_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of PyTorch's classes have their types, if the process has imported PyTorch."""
    classes = {name: type(name, (), {}) for name in ("Tensor", "SymInt", "SymBool", "GraphModule")}
    scripted = type("ScriptObject", (), {"_type": lambda _: SimpleNamespace(name=lambda: "acme.Stack")})
    values = [kind() for kind in (*classes.values(), scripted)]
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    with pytest.raises(RuntimeError, match="unsupported type"):
        TypeGen.from_example(values[0])
    graphs = SimpleNamespace(GraphModule=classes.pop("GraphModule"))
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(**classes, fx=graphs, ScriptObject=scripted))
    types = [str(TypeGen.from_example(value)) for value in values]
    assert types == ["Tensor", "SymInt", "SymBool", "GraphModule", "__torch__.torch.classes.acme.Stack"]
