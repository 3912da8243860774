"""The program tells why an operator has code or none."""

from __future__ import annotations

from pathlib import Path

import pytest

import opwright
from opwright.mobile.static_runtime.support import blocks, explanation, may_have_code, view_blocks
from opwright.release.rules import Rules
from opwright.release.version import NEWEST
from opwright.schema.signature import base_of_operation
from opwright.torchgen import gen_static_runtime_ops

#: Operator -> a part of what is said about it.
REASONS = {
    "sinh": "has code, which calls `at::cpu::sinh`",
    "absolute": "has code, which calls `at::native::absolute`",
    "real": "has code, which calls `at::native::real`",
    "tanh": "has no code: Static runtime's sources register code for them.",
    "relu": "has no code: PyTorch leaves it out.",
    "roll": "argument `shifts` is a `SymInt[1]`",
    "conv1d": "it has no out overload, and is no view",
    "sinh.out": "only its functional overload `sinh` can have code",
    "eq.Scalar": "has code, which calls `at::cpu::eq`",
    "masked_fill.Scalar": "its out overload is `masked_fill.Scalar_out(",
    "aminmax": "its out overload returns `Tensor(a!) min, Tensor(b!) max`",
    "resize_as_sparse": "`const Tensor &`",
    "unbind.int": "it returns `Tensor(a)[]`",
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", REASONS)
def test_reasons_are_those_of_the_operator(name: str) -> None:
    """The explanation has the rule that decides."""
    assert REASONS[name] in explanation(opwright.load("auto")[name])


def test_names_may_be_patterns(reference_inputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each overload that a name or pattern stands for goes to the output, and nothing is written."""
    status = gen_static_runtime_ops.main(["-s", str(reference_inputs), "--why", "aten::sin", "--why", "sinh*"])
    lines = capsys.readouterr().out.splitlines()
    assert status == 0
    assert [line.partition(": ")[0] for line in lines] == [
        *(f"aten::{name}" for name in ("sin", "sin.out", "sinh", "sinh_", "sinh.out"))
    ]


def test_an_unknown_name_is_an_error(reference_inputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A misspelt name is reported with the nearest one."""
    assert gen_static_runtime_ops.main(["-s", str(reference_inputs), "--why", "sinhh"]) == 1
    text = capsys.readouterr().err
    assert "error[E1706]" in text
    assert "`sinh`" in text


def test_runs_load_every_operator_with_code() -> None:
    """The scope of runs takes in each entry of an operation with code, in the installed PyTorch."""
    catalog = opwright.load("auto")
    job = opwright.Job(catalog, Rules(NEWEST), opwright.Options())
    root_names = [*[block[0].root_name for block in blocks(job)], *[block[0].root_name for block in view_blocks(job)]]
    entries = [function for function in catalog.functions if not function.is_synthesized]
    chosen = {
        base_of_operation(function.root_name)
        for function in entries
        if may_have_code(function.entry.text.removeprefix("func: "))
    }
    assert chosen.issuperset(map(base_of_operation, root_names))
    assert len(chosen) < len(catalog.functions) / 8
