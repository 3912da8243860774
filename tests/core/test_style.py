"""The core for one release is in the style of PyTorch's tree, and runs in it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from opwright.release.local import from_installed
from opwright.release.version import version_of
from tests.core.__main__ import contents, write_folder
from tests.core.pytorch_style import HEAD, SETTINGS, run_ruff, without_asserts
from tests.core.test_core import core


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The core for the installed release, as a folder."""
    folder = tmp_path_factory.mktemp("core")
    write_folder(contents(core(), version_of(from_installed()), has_tests=True), folder)
    return folder


def test_ruff_finds_nothing(folder: Path) -> None:
    """PyTorch's settings find nothing and would reformat nothing; each module has the licence at its head."""
    run_ruff(folder, "check", "--quiet")
    run_ruff(folder, "format", "--check", "--quiet")
    modules = list(folder.rglob("*.py"))
    assert len(modules) > 300
    assert [path.name for path in modules if not path.read_text("utf-8").startswith(HEAD)] == []


@pytest.mark.thorough
def test_mypy_finds_nothing(folder: Path, tmp_path: Path) -> None:
    """What PyTorch's strict file asks of types holds in all modules, with the oldest Python too."""
    for version in ("3.10", "3.14"):
        command = [sys.executable, "-m", "mypy", "--config-file", str(SETTINGS.with_name("pytorch_mypy.ini"))]
        command += ["--python-version", version, "--cache-dir", str(tmp_path), "."]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@pytest.mark.thorough
def test_its_tests_show_what_a_change_does(folder: Path, tmp_path: Path) -> None:
    """The tests of the core need no other generator: a changed text fails with its difference, until it is updated."""
    copy = tmp_path / "core"
    shutil.copytree(folder, copy)
    kinds = {path.name.removesuffix(".txt").rpartition(".")[2] for path in (copy / "small/expected").rglob("*.txt")}
    assert kinds >= {"h", "cpp", "yaml", "py"}
    assert run_tests(copy).returncode == 0
    module = copy / "opwright/emit/autograd/inplace_or_view.py"
    module.write_text(module.read_text("utf-8").replace("increment_version(", "count_version("), "utf-8")
    done = run_tests(copy)
    assert done.returncode == 1
    assert "--- expected/torch/autograd/generated/ADInplaceOrViewTypeEverything.cpp.txt" in done.stdout
    assert "\n+  count_version(self);" in done.stdout
    assert run_tests(copy, "--update").returncode == 0
    assert run_tests(copy).returncode == 0


def run_tests(core: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A run of the tests of a core."""
    command = [sys.executable, "-I", str(core / "test_outputs.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.thorough
def test_it_writes_what_the_sources_write(folder: Path, reference_inputs: Path, tmp_path: Path) -> None:
    """Imports that only types need, and assertions that raise, change nothing of the outputs."""
    written = []
    for program in (["-m", "opwright.torchgen.gen"], [str(folder), "gen"]):
        out = tmp_path / program[0].strip("/-").replace("/", "-")
        words = ["--source-path", str(reference_inputs), "--install-dir", str(out)]
        words += ["--aoti-install-dir", str(out / "aoti"), "--headeronly-install-dir", str(out / "core")]
        subprocess.run([sys.executable, *program, *words], check=True, capture_output=True, cwd=tmp_path)
        files = [path for path in out.rglob("*") if path.is_file()]
        written.append({path.relative_to(out).as_posix(): path.read_bytes() for path in files})
    assert len(written[0]) > 100
    assert written[0] == written[1]


def test_assertions_raise() -> None:
    """An assertion over several lines, and one in a block, raise the same error with the same message."""
    text = "def f(x, y):\n    if x:\n        assert (\n            y is not None\n        ), f'{x} lacks y'\n"
    text += "    assert x or y\n"
    found = without_asserts(text)
    assert "assert " not in found
    names: dict[str, object] = {}
    exec(found, names)
    with pytest.raises(AssertionError, match="1 lacks y"):
        names["f"](1, None)  # type: ignore[operator]
    with pytest.raises(AssertionError):
        names["f"](0, 0)  # type: ignore[operator]
