"""Values that entries say arguments have: drawn samples keep to them, and C++ refuses others where it is asked."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from opwright.libraries.emit.openings import opening_source
from tests.compile.compiler import Compiler
from tests.library.conftest import INCLUDE, generated_code

if TYPE_CHECKING:
    from torch import Tensor

HERE = Path(__file__).parent

#: Calls of operators, and what C++ says of each where it checks values; empty where it takes the call.
CALLS = [
    ("take_rows", "x, T([3, 0])", ""),
    ("take_rows", "x, T([3, 4])", "`index` has the value 4, and `0 <= index < n` has to hold, and `n` is 4"),
    ("take_rows", "x, T([-1], dtype=torch.int32)", "`index` has the value -1, and `0 <= index < n` has to hold"),
    ("take_rows", "x.log(), T([0])", "`table` has a value that is infinite or no number"),
    ("segment_sum", "x, T([0, 2, 4])", ""),
    ("segment_sum", "x, T([0, 2, 1])", "`offsets` is not ascending, and has to be"),
    ("segment_sum", "x, T([1, 2])", "`offsets[0] == 0` has to hold, and `offsets[0]` is 1"),
    ("segment_sum", "x, T([0, 5])", "`offsets[-1] <= m` has to hold, and `offsets[-1]` is 5, and `m` is 4"),
    ("segment_sum", "x, T([]).long()", "`offsets[0] == 0` cannot be computed: there is no element 0 of 0"),
    ("segment_sum", "x, T([0]), T([1.0, 0.5, 0.25, 0])", "`weight` has the value 0, and `0 < weight <= 1` has to hold"),
    ("loss", "x, T([0, 2, -100, 1])", ""),
    ("loss", "x, T([0, 2, -1, 1]), -1", ""),
    ("loss", "x, T([0, 2, -100, 3])", "`target` has the value 3, and `0 <= target < c or target == ignore_index` has"),
    ("permuted", "[x[:, 0], x[0]], [T([1, 0, 3, 2]), T([2, 1, 0])]", ""),
    ("permuted", "[x[:, 0], x[0]], [T([1, 0, 3, 2]), T([2, 1, 1])]", "`orders[1]` has a value twice, and has to have"),
]
#: The same for what is known in traces too: calls are always checked.
ALWAYS = [
    ("segment_sum", 'x, T([0]), mode="max"', '`mode` is "max", and has to be "sum" or "mean"'),
    ("segment_sum", "x, T([0]), block=24", "`block` is 24, and has to be a power of two"),
    ("segment_sum", "x, T([0]), block=2048", "`1 <= block <= 1024` has to hold, and `block` is 2048"),
    (
        "permuted",
        "[x[0]] * 2, [T([2, 1, 0]), T([0])]",
        "`tensors[i].size(0) == orders[i].size(0)` has to hold, and `i`",
    ),
    ("permuted", "[x[0]] * 3, [T([2, 1, 0])] * 3", "`power_of_two(len(tensors))` has to hold"),
]

PROGRAM = """
import json, sys, logging, torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_map_only
logging.disable(logging.CRITICAL)
torch.ops.load_library({library!r})
import {name}._ops
T, x, operators, said = torch.tensor, torch.arange(12.0).reshape(4, 3), torch.ops.{name}, []

def told(call):
    try:
        call()
    except Exception as error:
        return str(error).partition("\\n")[0]
    return ""

for name, text, _ in json.loads(sys.argv[1]):
    args, kwargs = eval(f"(lambda *args, **kwargs: (args, kwargs))({{text}})")
    with FakeTensorMode() as mode:
        faked = tree_map_only(torch.Tensor, mode.from_tensor, (args, kwargs))
        traced = told(lambda: getattr(operators, name)(*faked[0], **faked[1]))
    said.append((told(lambda: getattr(operators, name)(*args, **kwargs)), traced))
print(json.dumps(said))
"""


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The generated code, with the native interface."""
    return generated_code(HERE / "operators.yaml", tmp_path_factory)


@pytest.fixture(scope="session", params=["native", "stable"])
def built(
    request: pytest.FixtureRequest, program: str, torch: ModuleType, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path, Path]:
    """The name of the library with each interface, its generated code, and its shared object."""
    name, folder = f"valued_{request.param}", tmp_path_factory.mktemp("valued")
    text = (
        (HERE / "operators.yaml").read_text().replace("namespace: valued", f"namespace: {name}\nabi: {request.param}")
    )
    (folder / "operators.yaml").write_text(text)
    out = generated_code(folder / "operators.yaml", tmp_path_factory)
    compiler = Compiler(program, folder, [out / "include", INCLUDE])
    return name, out, compiler.library(name, [*sorted((out / "src" / name).glob("*.cpp"))])


@pytest.mark.thorough
def test_calls_are_refused_where_values_are_checked(built: tuple[str, Path, Path]) -> None:
    """C++ reads values where the environment asks for it; what traces know is always checked, with the same text."""
    name, out, library = built
    for asked in ("1", "0"):
        variables = {"PYTHONPATH": f"{out / 'python'}{os.pathsep}{HERE}", "OPWRIGHT_CHECK_VALUES": asked}
        ran = subprocess.run(
            [sys.executable, "-c", PROGRAM.format(library=str(library), name=name), json.dumps([*CALLS, *ALWAYS])],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=True,
        )
        for (operator, text, wanted), (told, traced) in zip([*CALLS, *ALWAYS], json.loads(ran.stdout), strict=True):
            is_always = (operator, text, wanted) in ALWAYS
            if is_always or (wanted and asked == "1"):
                assert told.startswith(f"{name}::{operator}: {wanted}"), (told, wanted)
            else:
                assert not told.startswith(f"{name}::"), (text, told)
            assert traced == (told if is_always else ""), (text, traced)


@pytest.mark.thorough
def test_each_of_several_layouts_is_taken(built: tuple[str, Path, Path], torch: ModuleType) -> None:
    """Kernels get tensors in any layout of a list as they are, and copies of others in the first one."""
    name, out, library = built
    torch.ops.load_library(library)
    sys.path[:0] = [str(out / "python"), str(HERE)]
    importlib.import_module(f"{name}._ops")
    operators = getattr(torch.ops, name)
    plain = torch.rand(2, 3, 4, 5)
    last, other = plain.to(memory_format=torch.channels_last), plain.transpose(2, 3)
    assert operators.layouts(plain, last, [plain, last, other]).tolist() == [1, 2, 1, 2, 1]
    assert operators.layouts(last, other, []).tolist() == [2, 2]
    assert operators.layouts(other, None, []).tolist() == [1, 1]
    for tensor in (plain, last):
        operators.clear_(tensor)
        assert not tensor.any()
    with pytest.raises(
        RuntimeError, match="`x` is not contiguous or contiguous in the memory format channels_last, and"
    ):
        operators.clear_(other)


def test_drawn_samples_keep_to_values(torch: ModuleType, generated: Path) -> None:
    """Each call that generated tests draw has values that its entry allows, with any seed."""
    lines = (generated / "tests" / "test_valued.py").read_text().splitlines()
    drawn: dict[str, list[str]] = {}
    for line in lines:
        if match := re.match(r'\s*"(\w+)": Operator\(', line):
            texts = drawn.setdefault(match[1], [])
        elif match := re.match(r"\s*lambda: (call\(.*\)),$", line):
            texts.append(match[1])
    scope: dict[str, Any] = {"__name__": "engine"}
    exec(compile(opening_source("judging"), "engine", "exec"), scope)
    for seed in range(20):
        torch.manual_seed(seed)
        for text in drawn["take_rows"]:
            table, index = eval(text, scope).args
            assert table.isfinite().all()
            assert ((index >= 0) & (index < len(table))).all()
        for text in drawn["segment_sum"]:
            x, offsets, weight = eval(text, scope).args
            assert offsets.tolist() == sorted(offsets.tolist())
            assert offsets[0] == 0
            assert offsets[-1] <= len(x)
            assert ((weight > 0) & (weight <= 1)).all()
        for text in drawn["loss"]:
            logits, target = eval(text, scope).args
            assert (((target >= 0) & (target < logits.shape[1])) | (target == -100)).all()
        for text in drawn["permuted"]:
            for tensor, order in zip(*eval(text, scope).args, strict=True):
                assert len(set(order.tolist())) == len(order) == len(tensor)
    assert {name: len(texts) >= 1 for name, texts in drawn.items()} == dict.fromkeys(drawn, True)
    assert drawn.keys() >= {"take_rows", "segment_sum", "loss", "permuted"}


def test_docstrings_say_values(generated: Path) -> None:
    """Callers read what values arguments may have."""
    text = (generated / "python" / "valued" / "_ops.py").read_text()
    assert "index: Tensor `[m]`, `0 <= index < n`\n" in text
    assert "offsets: Tensor `[k]`, ascending, `offsets[0] == 0`, `offsets[-1] <= m`\n" in text
    assert "mode: str, \"sum\" by default, one of 'sum', 'mean'\n" in text


def integers(torch: ModuleType) -> Any:  # noqa: ANN401
    """The function of the engine."""
    scope: dict[str, Any] = {"__name__": "engine"}
    exec(compile(opening_source("judging"), "engine", "exec"), scope)
    return scope["integers"]


@pytest.mark.parametrize("order", ["", "ascending", "increasing", "distinct"])
def test_integers_are_in_ranges(torch: ModuleType, order: str) -> None:
    """Drawn integers have all values of their ranges and no others, in their order."""
    draw, seen = integers(torch), set()
    for _ in range(50):
        values: Tensor = draw((3, 6), [(-100, -100), (0, 4), (9, 10)], torch.int64, order)
        seen |= set(values.flatten().tolist())
        for row in values.tolist():
            assert order != "ascending" or row == sorted(row)
            assert order != "increasing" or row == sorted(set(row))
            assert order != "distinct" or len(set(row)) == len(row)
    assert seen == {-100, 0, 1, 2, 3, 4, 9, 10}
    assert draw((0, 3), [(0, 1)], torch.int32, order).shape == (0, 3)
    assert draw((), [(5, 5)], torch.int32).item() == 5
    assert draw((4,), [(0, 2**40)], torch.int64, order).max() <= 2**40
