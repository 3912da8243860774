"""The example that CMake builds: its wheel works, and an edit compiles what it touches."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pytest

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "scikit-build"

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(shutil.which("cmake") is None, reason="there is no CMake here"),
    pytest.mark.skipif(find_spec("scikit_build_core") is None, reason="scikit-build-core is not installed"),
]


def run(folder: Path, *words: object) -> str:
    """What a program prints; it must succeed."""
    done = subprocess.run([*map(str, words)], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_wheel_and_edits(tmp_path: Path) -> None:
    """The wheel has the operators and is for every Python; a new text for users compiles nothing."""
    project = tmp_path / "project"
    shutil.copytree(EXAMPLE, project, ignore=shutil.ignore_patterns("build", "dist"))
    run(project, sys.executable, "-c", "from scikit_build_core import build; build.build_wheel('dist')")
    [wheel] = (project / "dist").iterdir()
    assert "-py3-none-" in wheel.name
    ZipFile(wheel).extractall(tmp_path / "installed")
    program = "import acme_ops, torch; print(acme_ops.soft_clip(torch.tensor([0.0, 100.0]), limit=3.0).tolist())"
    assert run(tmp_path / "installed", sys.executable, "-c", program) == "[0.0, 3.0]\n"

    yaml = project / "operators.yaml"
    yaml.write_text(yaml.read_text().replace("Limits values", "Restricts values"))
    built = run(project, "cmake", "--build", "build/Release")
    assert "Generating from operators" in built
    assert "Building CXX" not in built
    assert "Restricts values" in next((project / "build").rglob("_ops.py")).read_text()


def test_an_import_builds_what_an_edit_changed(tmp_path: Path) -> None:
    """An editable install follows edits of the library file and of a kernel when it is imported, and is quiet."""
    project = tmp_path / "project"
    shutil.copytree(EXAMPLE, project, ignore=shutil.ignore_patterns("build", "dist"))
    run(tmp_path, sys.executable, "-m", "venv", "environment")
    python = tmp_path / "environment" / "bin" / "python"
    # The packages of this environment are in the new one too.
    [folder] = (tmp_path / "environment").glob("lib/python*/site-packages")
    (folder / "others.pth").write_text("".join([f"{path}\n" for path in sys.path if path]), encoding="utf-8")
    run(project, python, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "-e", ".")
    program = (
        "import acme_ops, torch; "
        "print(acme_ops.soft_clip(torch.tensor([100.0])).item(), acme_ops.soft_clip.__doc__.split()[0])"
    )
    assert run(tmp_path, python, "-c", program) == "1.0 Limits\n"
    for name, old, new in [
        ("operators.yaml", "Limits values", "Restricts values"),
        ("csrc/kernels.cpp", ".tanh() * limit", ".tanh() * (2 * limit)"),
    ]:
        path = project / name
        path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    assert run(tmp_path, python, "-c", program) == "2.0 Restricts\n"


def test_missing_torch_is_an_error(tmp_path: Path) -> None:
    """A project that has not looked for PyTorch is told to; one without library files or without CUDA, too."""
    module = run(tmp_path, sys.executable, "-m", "opwright", "--cmake-dir").strip()
    (tmp_path / "operators.yaml").write_text("namespace: acme\noperators: []\n")
    for call, message in [
        ("operators YAML operators.yaml", "call find_package(Torch REQUIRED)"),
        ("operators SOURCES kernels.cpp", "YAML names the library"),
        (
            "operators YAML operators.yaml SOURCES a.cpp b.cu",
            "b.cu needs the language CUDA: call enable_language(CUDA)",
        ),
        ("operators kernels.cpp YAML operators.yaml", "unknown arguments"),
    ]:
        (tmp_path / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.21)\nproject(example NONE)\n"
            f"{'add_library(torch INTERFACE)' if '.cu' in call else ''}\n"
            f"find_package(Opwright 0.1 REQUIRED)\nopwright_add_operator_library({call})\n"
        )
        options = [f"-DOpwright_DIR={module}", f"-DOPWRIGHT_COMMAND={sys.executable};-m;opwright"]
        command = ["cmake", "-S", ".", "-B", "build", *options]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode != 0
        assert message in " ".join(done.stderr.split())
