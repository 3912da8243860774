"""Kernels for operators that another package defines: both orders of import, drifts, and an absent owner."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.compile.compiler import Compiler
from tests.library.conftest import INCLUDE, generated_code, source_of_abi
from tests.library.implementing.scenarios import DRIFTED, OWNERS

pytestmark = pytest.mark.thorough

OWN = Path(__file__).parent
EXAMPLE = OWN.parents[2] / "examples" / "library" / "acme.yaml"
LOAD = "from {0}._load import load_library\n\nload_library()\n"


@pytest.fixture(scope="module", params=["native", "stable"])
def said(request: pytest.FixtureRequest, program: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each scenario says, with the kernels of each C++ interface for three operators of the example library."""
    folder = source_of_abi(request.param, OWN, tmp_path_factory.mktemp(f"implementing_{request.param}"))
    shutil.copy(EXAMPLE, folder)
    generated = generated_code(folder / "operators.yaml", tmp_path_factory)
    (package,) = (generated / "python").iterdir()
    sources = [generated / "src" / package.name / "register_0.cpp", folder / "kernels.cpp"]
    together = folder / "all.cpp"
    together.write_text("".join(f'#include "{source}"\n' for source in sources))
    compiler = Compiler(program, folder, [generated / "include", INCLUDE])
    shutil.copy(compiler.library("all", [together]), package / "_C.so")
    (package / "__init__.py").write_text(LOAD.format(package.name))
    command = [sys.executable, str(OWN / "scenarios.py"), str(package.parent), package.name]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=900)
    answers: dict[str, str] = json.loads(done.stdout)
    return {scenario: text.replace(package.name, "implementing") for scenario, text in answers.items()}


@pytest.mark.parametrize("order", ["owner first", "owner last", "other spelling"])
def test_kernels_serve_in_both_orders(said: dict[str, str], order: str) -> None:
    """The device has the kernels and what they require, and everything else is the owner's."""
    assert said[order].split("; ") == [
        "npu:0",
        "2",
        "RuntimeError: the kernel got 7",
        "RuntimeError: momentum 0.500000",
        "RuntimeError: acme::gamma: `exponent > 0` has to hold, and `exponent` is -1",
        "[4.0, 4.0]",
        "meta",
    ]


DRIFT = (
    f"`implementing` was built for `acme::{OWNERS[2]}`, and this process has `acme::{DRIFTED[2]}`: install the version "
    "that defines the former, or build `implementing` for the latter"
)


def test_a_drift_is_told_by_the_import(said: dict[str, str]) -> None:
    """If the owner is there, the import of the package raises, with both schemas."""
    assert said["drifted, owner first"] == f"ImportError: {DRIFT}"


def test_a_drift_is_told_before_each_call(said: dict[str, str]) -> None:
    """If the owner comes later, no call is wrong, and other operators work."""
    assert said["drifted, owner last"] == f"RuntimeError: {DRIFT}; RuntimeError: {DRIFT}; npu:0"


def test_an_operator_that_is_gone_is_told(said: dict[str, str]) -> None:
    """The import names it if the owner is there, and PyTorch does if it is not."""
    gone = DRIFT.replace(f"`acme::{DRIFTED[2]}`", "none of that name")
    assert said["gone, owner first"] == f"ImportError: {gone}"
    assert said["gone, owner last"] == "AttributeError: '_OpNamespace' 'acme' object has no attribute 'moments'"


def test_an_owner_may_be_absent(said: dict[str, str]) -> None:
    """The package is imported, and PyTorch says which operator is not there."""
    assert said["absent"] == "AttributeError: '_OpNamespace' 'acme' object has no attribute 'gamma'"
