"""The generated tests accept right kernels of real kinds, whatever the order of their sums, and refuse wrong ones."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from opwright.cli.main import main
from tests.copies import CopiedProcess

HERE = Path(__file__).resolve().parent

#: The tests that call kernels; those of PyTorch's own tools take long, and have tests beside this folder.
QUICK = "test_reference or test_strides"
CHOSEN = f"{QUICK} or test_values or test_sizes or test_gradients or test_audit"

#: Wrong kernels, a table for each run: the operator, and what is wrong with its kernel.
WRONG = [
    {"small": "zeros", "row_sum": "last", "norm_backward": "eps", "int8_matmul": "row", "quantize": "floor",
     "rotate_": "zeros", "shift_": "rows", "loss": "ignored", "take_rows": "order", "positive": "first"},
    {"small": "percent", "row_sum": "half", "norm_backward": "mean", "rotate_": "last", "shift_": "after"},
    {"shift_": "steps", "rotate_": "percent", "row_sum": "many", "take_rows": "signs", "norm_backward": "nan"},
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The generated tests, beside a package with the kernels and the functions that compute the same."""
    folder = tmp_path_factory.mktemp("judged")
    library = HERE / "judged.yaml"
    assert main(["generate", "--library", str(library), "--out", str(folder)]) == 0
    package = folder / "tests" / "judged"
    package.mkdir()
    for name in ("kernels.py", "reference.py"):
        shutil.copy(HERE / name, package)
    modules = ("_autograd", "_fakes", "_overlap", "_reference")
    for name in modules:
        shutil.copy(folder / f"python/judged/{name}.py", package)
    (package / "__init__.py").write_text(f"from judged import kernels, {', '.join(modules)}\n")
    return folder / "tests"


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CopiedProcess]:
    """A process with PyTorch, its compiler and pytest, of which copies run the tests."""
    process = CopiedProcess(tmp_path_factory.mktemp("process"), "import torch._dynamo, pytest")
    yield process
    process.end()


Failures = Callable[..., set[str]]


@pytest.fixture
def failures(folder: Path, process: CopiedProcess, monkeypatch: pytest.MonkeyPatch) -> Failures:
    """Gives the operators of which a test fails, with some kernels wrong."""
    flags = ["-c", os.devnull, "-p", "no:cacheprovider", "-v", "-W", "ignore", "--rootdir", str(folder), str(folder)]
    monkeypatch.chdir(folder)
    monkeypatch.setenv("OPWRIGHT_AUDIT", "1")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(wrong: dict[str, str], tests: str = CHOSEN) -> set[str]:
        monkeypatch.setenv("WRONG", " ".join(f"{name}={what}" for name, what in wrong.items()))
        # Who expects failures reads no texts about them, which take long to make.
        more = ["--assert=plain", "--tb=no"] if wrong else []
        ran = process.run("import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))", [*flags, "-k", tests, *more])
        assert ran.returncode in (0, 1), ran.stdout + ran.stderr
        outcomes = re.findall(r"(?m)^test_judged\.py::\w+\[(\w+?)-\d+(?:-\w+)?\] (\w+)", ran.stdout)
        assert {name for name, _ in outcomes} == {"small", "row_sum", "norm_backward", "int8_matmul", "quantize",
                                                  "rotate_", "shift_", "loss", "take_rows", "positive"}  # fmt: skip
        failed = {name for name, outcome in outcomes if outcome == "FAILED"}
        assert wrong or not failed, ran.stdout[-6000:]
        return failed

    return run


@pytest.mark.thorough
def test_kernels_are_told_apart(failures: Failures) -> None:
    """Right kernels pass what compares them with their references, and wrong ones do not."""
    assert failures({}, QUICK) == set()
    assert failures(WRONG[0], QUICK) == WRONG[0].keys()


@pytest.mark.thorough
def test_right_kernels_pass(failures: Failures) -> None:
    """Kernels that add in another order or precision, or check values by themselves, pass."""
    assert failures({}) == set()


@pytest.mark.thorough
@pytest.mark.parametrize("wrong", WRONG, ids=["first", "second", "third"])
def test_wrong_kernels_fail(failures: Failures, wrong: dict[str, str]) -> None:
    """Each wrong kernel fails, and no other one does."""
    assert failures(wrong) == wrong.keys()
