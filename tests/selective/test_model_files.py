"""The operators of a model file are read with the kernel keys of their calls, and damaged files are refused."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from opwright.mobile.mobile_codes import MODEL_DAMAGED
from opwright.mobile.selective.files import Files
from opwright.mobile.selective.program_file import operators_of
from opwright.source.diagnostic import Diagnostics
from opwright.torchgen.executorch import gen_oplist
from tests.selective.model_files import model, number, plan, tensor, tensors

FLOAT, INT, BYTE = 6, 3, 0
VALUES = [
    tensor(FLOAT, b"\0\1"),
    tensor(INT, b"\1\0"),
    tensor(BYTE, b""),
    number(),
    tensors(1, 0),
    tensors(-1, 0, optional=True),
    tensors(),
    tensors(7),
]
OPERATORS = [("aten::add", "out"), ("aten::cat", "out"), ("aten::unused", "out"), ("executorch_prim::sym", "")]


def keys_of(*calls: tuple[int, list[int]]) -> dict[str, list[str]]:
    """The operators of a model with these calls."""
    operators = operators_in(model(plan(OPERATORS, VALUES, calls)))
    assert operators is not None
    return operators


def operators_in(data: bytes) -> dict[str, list[str]] | None:
    """The operators of a model; None if the file is refused, which has to be said once."""
    sink = Diagnostics()
    operators = operators_of(data, "model.pte", Files(sink))
    if not len(sink):
        return operators
    assert [diagnostic.code for diagnostic in sink.sorted()] == [MODEL_DAMAGED]
    assert not operators
    return None


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        ([0, 1, 3, 2], "v1/6;0,1|3;1,0|0;"),
        ([4, 3], "v1/3;1,0"),
        ([5], "v1/6;0,1"),
        ([6, 3], "v1"),
        ([6, 0], "v1/6;0,1"),
    ],
)
def test_key_of_a_call(arguments: list[int], key: str) -> None:
    """A key has each tensor; of a list it has the first tensor that is there, and numbers are left out."""
    assert keys_of((0, arguments))["aten::add.out"] == [key]


def test_operators_of_a_model() -> None:
    """All operators are listed, each with the different keys of its calls."""
    assert keys_of((0, [0]), (0, [1]), (0, [0]), (3, [3])) == {
        "aten::add.out": ["v1/3;1,0", "v1/6;0,1"],
        "aten::cat.out": [],
        "aten::unused.out": [],
        "executorch_prim::sym": ["v1"],
    }


def test_operators_of_several_plans() -> None:
    """The operators of all plans are united."""
    plans = [plan([name], VALUES, [(0, [0])]) for name in OPERATORS[:2]]
    assert operators_in(model(*plans)) == {
        "aten::add.out": ["v1/6;0,1"],
        "aten::cat.out": ["v1/6;0,1"],
    }


@pytest.mark.parametrize("calls", [[(9, [0])], [(0, [99])], [(-1, [0])], [(0, [-1])], [(0, [7])]])
def test_wrong_indices_are_refused(calls: list[tuple[int, list[int]]]) -> None:
    """Calls of operators and values that are not there, and lists of lists, are mistakes of the file."""
    assert operators_in(model(plan(OPERATORS, VALUES, calls))) is None


def test_damaged_files_are_refused() -> None:
    """Whatever bytes are cut off or changed, the file is read or refused, and no other error is raised."""
    data = model(plan(OPERATORS, VALUES, [(0, [0, 1, 3, 2]), (1, [4, 0])]))
    choice = random.Random(1)
    refused = 0
    for _ in range(2000):
        broken = bytearray(data[: choice.randrange(len(data))] if choice.random() < 0.3 else data)
        for _ in range(choice.randint(0, 3)):
            if broken:
                broken[choice.randrange(len(broken))] = choice.choice((0, 1, 4, 127, 128, 255))
        refused += operators_in(bytes(broken)) is None
    assert 0 < refused < 2000


def test_selection_of_a_model(tmp_path: Path) -> None:
    """The selection has all operators; those without calls have no keys."""
    path = tmp_path / "model.pte"
    path.write_bytes(model(plan(OPERATORS, VALUES, [(0, [0, 1])])))
    assert gen_oplist.main(["--output_path", str(tmp_path), "--model_file_path", str(path)]) == 0
    text = (tmp_path / "selected_operators.yaml").read_text()
    assert "et_kernel_metadata:\n  aten::add.out:\n  - v1/6;0,1|3;1,0\ninclude_all" in text
    assert f"  aten::unused.out:\n    debug_info:\n    - {path}\n" in text
