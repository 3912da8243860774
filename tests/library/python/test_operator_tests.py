"""The tests that are generated from samples: right operators pass them, and each kind of mistake fails one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from opwright.cli.main import main
from tests.stubs.installed import mypy_errors, pyright_errors, site

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the generated tests, and the operators written in Python."""
    folder = tmp_path_factory.mktemp("tested")
    assert main(["generate", "--library", str(HERE / "tested.yaml"), "--out", str(folder)]) == 0
    shutil.copy(HERE / "tested.py", folder / "tests")
    return folder / "tests"


def outcomes(folder: Path, broken: str = "") -> dict[str, str]:
    """Test -> what became of it, with some things broken."""
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "-p", "no:cacheprovider", "-v", "--tb=no"]
    ran = subprocess.run(
        [*command, "-W", "ignore", "--rootdir", str(folder), str(folder)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "BROKEN": broken},
        cwd=folder,
    )
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    return dict(re.findall(r"(?m)^test_acme\.py::(\S+) (\w+)", ran.stdout))


@pytest.mark.thorough
def test_right_operators_pass(folder: Path) -> None:
    """Each operator has the tests of what its schema and its derivatives promise, and passes them."""
    results = outcomes(folder)
    assert set(results.values()) == {"PASSED", "SKIPPED"}
    # pytest shows a test without samples as skipped.
    results = {test: result for test, result in results.items() if not test.endswith("[NOTSET]")}
    assert [test for test, result in results.items() if result == "SKIPPED"] == [
        "test_compile[noise-1]",
        "test_vmap[positive-0]",
    ]
    operators: dict[str, list[str]] = {}
    for test in results:
        name, _, case = test.partition("[")
        operators.setdefault(name, []).append(case.rstrip("]"))
    scale = ["scale-0", "scale-1"]
    assert operators == {
        "test_opcheck": [*scale, "blend-0", "blend-1", "total-0", "count-0", "noise-0", "noise-1", "positive-0"],
        "test_inplace": scale,
        "test_out": [*scale, "blend-0", "blend-1"],
        "test_gradients": [*scale, "total-0"],
        "test_compile": [*scale, "blend-0", "blend-1", "total-0", "count-0", "noise-0", "noise-1", "positive-0"],
        "test_vmap": [*scale, "blend-0", "blend-1", "positive-0"],
    }


@pytest.mark.thorough
def test_mistakes_fail(folder: Path) -> None:
    """A wrong derivative, out overload, in-place overload or shape fails the test of it, and nothing else fails."""
    results = outcomes(folder, "gradient out inplace fake")
    failed = {test for test, result in results.items() if result == "FAILED"}
    wrong = ("test_gradients[scale", "test_out[scale", "test_inplace[scale")
    assert failed == {f"{name}-{number}]" for name in wrong for number in (0, 1)} | {"test_opcheck[total-0]"}


@pytest.mark.thorough
def test_type_checkers_find_nothing_in_the_tests(folder: Path, tmp_path: Path) -> None:
    """The generated file passes `mypy --strict` and pyright."""
    shutil.copy(folder / "test_acme.py", tmp_path)
    (tmp_path / "tested.py").touch()
    environment = site(tmp_path / "environment", None)
    assert mypy_errors(environment, tmp_path / "test_acme.py") == {"test_acme.py": {}}
    assert pyright_errors(environment, tmp_path / "test_acme.py", mode="standard") == {"test_acme.py": {}}
