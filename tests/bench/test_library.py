"""The measurements of operator libraries compare what is the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from bench.library.__main__ import EXAMPLE, HERE, user_seconds
from bench.library.inputs import write_library
from opwright.cli.main import main


def test_handwritten_code_has_the_operators_of_the_example() -> None:
    """The code written by hand registers the schemas of the example, and a kernel or a function for each gradient."""
    text = (HERE / "handwritten.cpp").read_text()
    schemas = re.findall(r'm\.def\(\s*"([^"]*)"', text)
    entries = yaml.safe_load((EXAMPLE / "acme.yaml").read_text())["operators"]
    assert sorted(schemas) == sorted(entry["func"] for entry in entries)
    autograd = text[text.index("TORCH_LIBRARY_IMPL(acme, Autograd, m)") :]
    differentiable = set(re.findall(r'm\.impl\("(\w+?)_?"', autograd.partition("\n}\n")[0]))
    derivatives = yaml.safe_load((EXAMPLE / "derivatives.yaml").read_text())
    assert {entry["name"].partition("(")[0] for entry in derivatives} <= differentiable


@pytest.mark.parametrize("operators", [10, 300])
def test_made_library_has_no_mistakes(tmp_path: Path, operators: int) -> None:
    """The library files that are made have about as many operators as asked for, and nothing to complain about."""
    path = write_library(tmp_path, operators)
    assert len(yaml.safe_load(path.read_text())["operators"]) == pytest.approx(operators, abs=3)
    assert (
        main(["generate", "--library", str(path), "--torch", "auto", "--strict", "--out", str(tmp_path / "out")]) == 0
    )


def test_processor_time_is_that_of_the_program() -> None:
    """A program that computes takes processor time, and one that waits does not."""
    assert user_seconds(["sh", "-c", "sleep 0.3"])[0] < 0.2 < user_seconds(["sh", "-c", "sleep 0.3"])[1]
