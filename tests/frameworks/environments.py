"""Environments with one framework each, one with all of them for builds, and the wheel of the project."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Final
from zipfile import ZipFile

ROOT: Final = Path(__file__).parents[2]
CACHE: Final = ROOT / ".cache" / "frameworks"
BUILD: Final = ROOT / "build" / "frameworks"
PROJECT: Final = Path(__file__).with_name("project")
PROGRAMS: Final = Path(__file__).with_name("programs")
#: What the environments have besides Python; PyTorch's is that of the checks.
PACKAGES: Final = {
    "jax": ("jax", "flatbuffers", "numpy", "pytest"),
    "tvm_ffi": ("apache-tvm-ffi", "numpy", "pytest"),
}
FRAMEWORKS: Final = ("torch", *PACKAGES)


def packages(framework: str) -> Path:
    """Folder with the packages of an environment, which is made the first time."""
    if framework == "torch":
        return Path(sysconfig.get_path("purelib"))
    home = CACHE / framework
    if not (home / "ready").exists():
        shutil.rmtree(home, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", *PACKAGES[framework]]
        subprocess.run(pip, check=True)
        (home / "ready").touch()
    return next(home.glob("lib/python*/site-packages"))


def python(framework: str) -> str:
    """The Python of an environment."""
    packages(framework)
    return sys.executable if framework == "torch" else str(CACHE / framework / "bin" / "python")


def builder() -> str:
    """The Python of an environment with all frameworks, for builds."""
    home = BUILD / "builder"
    if not home.exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    folders = [str(packages(framework)) for framework in FRAMEWORKS]
    own = next(home.glob("lib/python*/site-packages"))
    (own / "frameworks.pth").write_text("\n".join([*folders, str(ROOT / "src")]) + "\n", encoding="utf-8")
    return str(home / "bin" / "python")


def build_wheel(flags: str = "", name: str = "wheel") -> Path:
    """Build the wheel of the project for all frameworks, and unpack it. Gives the folder."""
    project, out, folder = BUILD / f"{name}-project", BUILD / f"{name}-file", BUILD / name
    for path in (project, out, folder):
        shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(PROJECT, project)
    command = [builder(), "-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps", "-w", str(out), "."]
    variables = {**os.environ, "CXXFLAGS": flags, "CFLAGS": flags, "LDFLAGS": flags} if flags else dict(os.environ)
    subprocess.run(command, cwd=project, env=variables, check=True)
    [wheel] = out.glob("*.whl")
    with ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def build_with_cmake() -> Path:
    """Build the project with CMake, and install it. Gives the folder."""
    folder, build = BUILD / "cmake", BUILD / "cmake-build"
    for path in (folder, build):
        shutil.rmtree(path, ignore_errors=True)
    options = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_INSTALL_PREFIX": folder,
        "CMAKE_PREFIX_PATH": packages("torch") / "torch" / "share" / "cmake",
        "Python3_EXECUTABLE": builder(),
    }
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    flags = [f"-D{name}={value}" for name, value in options.items()]
    for command in (["-S", str(PROJECT), "-B", str(build), *flags], ["--build", str(build)], ["--install", str(build)]):
        subprocess.run(["cmake", *command], check=True, stdout=subprocess.DEVNULL, env={**os.environ, "PATH": programs})
    return folder


def run(framework: str, command: list[str], wheel: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program in an environment with one framework and the wheel."""
    path = os.pathsep.join([str(wheel), str(PROGRAMS)])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **variables}
    return subprocess.run(
        [python(framework), *command], env=environment, cwd=BUILD, text=True, capture_output=True, check=False
    )
