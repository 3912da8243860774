"""Runs one binary of a stable library under several releases of PyTorch: `python -m tests.library.trained`.

The library is compiled once, with the headers of the oldest release. The wheels of releases at the package index for
x86-64 are builds with CUDA: libraries without code stand for those of CUDA that they load. Nothing is installed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final
from zipfile import ZipFile

from opwright.wheels.fetch import stable_headers
from tests.library.trained.test_trained import BUILD, HEADERS

RELEASES: Final = ("2.10.0", "2.11.0", "2.12.1", "2.14.1")
#: What is in no wheel of PyTorch and on every machine.
_SYSTEM: Final = re.compile(r"(lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|util)\.so|ld-linux)")
_NEEDED: Final = re.compile(r"NEEDED.*\[(.*?)\]")
_SYSTEM_FOLDERS: Final = (Path("/lib/x86_64-linux-gnu"), Path("/lib64"), Path("/usr/lib/x86_64-linux-gnu"))
#: A function that gives the number of the error that there is no device.
_BODY: Final = 'movl $100,%eax\nret\n.section .note.GNU-stack,"",@progbits\n'


def unpacked(release: str, cache: Path) -> Path:
    """The folder with the packages of a release's wheel, which is downloaded once."""
    folder = cache / release
    if not folder.is_dir():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        subprocess.run([*command, "--dest", cache, f"torch=={release}"], check=True)
        (wheel,) = cache.glob(f"torch-{release}*.whl")
        with ZipFile(wheel) as archive:
            archive.extractall(cache / "part")
        (cache / "part").rename(folder)
        wheel.unlink()
    return folder


def _symbols(path: Path, kind: str) -> set[str]:
    listed = subprocess.run(["nm", "-D", kind, path], capture_output=True, text=True, check=False).stdout
    # A weak symbol may be missing.
    return {line.split()[-1].partition("@")[0] for line in listed.splitlines() if line.split()[-2] not in "wv"}


def make_stubs(libraries: Path, folder: Path) -> None:
    """Write the libraries that those of a wheel need and that are nowhere, with all functions that are missing."""
    folder.mkdir(parents=True, exist_ok=True)
    own = [path for path in libraries.iterdir() if ".so" in path.name]
    system = [path for top in _SYSTEM_FOLDERS for path in top.glob("*.so*") if _SYSTEM.match(path.name)]
    defined = set[str]().union(*[_symbols(path, "--defined-only") for path in (*own, *system)])
    wanted = set[str]().union(*[_symbols(path, "--undefined-only") for path in own]) - defined
    names = sorted(name for name in wanted if not name.startswith(("Py", "_Py")))
    text = "".join(f".globl {name}\n.type {name},@function\n{name}:\n" for name in names)
    (folder / "stubs.s").write_text(f".text\n{text}{_BODY}")
    _link(folder / "libstubs.so", folder / "stubs.s")
    needed = {name for path in own for name in _NEEDED.findall(_read_elf(path))}
    for name in needed:
        if not (libraries / name).exists() and not any((top / name).exists() for top in _SYSTEM_FOLDERS):
            _link(folder / name, "-Wl,--no-as-needed", folder / "libstubs.so", "-Wl,-rpath,$ORIGIN")


def _read_elf(path: Path) -> str:
    return subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout


def _link(target: Path, *inputs: str | Path) -> None:
    subprocess.run(["cc", "-shared", "-nostdlib", "-o", target, f"-Wl,-soname,{target.name}", *inputs], check=True)


def run_tests(build: Path, folders: Iterable[Path], libraries: Path | None, only: str = "test") -> str:
    """The last line of the tests of the library, with the packages of some folders before those of the environment.

    Only the tests run whose names have `only`.
    """
    environment = {**os.environ, BUILD: str(build), HEADERS: stable_headers(RELEASES[0])}
    environment["PYTHONPATH"] = os.pathsep.join([*map(str, folders), os.environ.get("PYTHONPATH", "")])
    if libraries is not None:
        environment["LD_LIBRARY_PATH"] = str(libraries)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", only, "tests/library/trained"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return "\n".join([*lines, done.stdout.splitlines()[-1] if done.stdout else done.stderr[-500:]])


def main() -> int:
    """Print what each release said; the exit status is 1 if a test failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.library.trained", description=__doc__)
    parser.add_argument("--only", action="append", choices=RELEASES, help="a release (default: all)")
    parser.add_argument("--cache", type=Path, default=Path(".cache/releases"), help="the folder of the wheels")
    chosen = parser.parse_args()
    cache: Path = chosen.cache.resolve()
    build, failed = cache / "build", False
    cache.mkdir(parents=True, exist_ok=True)
    build.mkdir(exist_ok=True)
    # The installed release builds the library, and the others find it.
    (build / "libsteadily.so").unlink(missing_ok=True)
    print(f"built by the installed release: {run_tests(build, (), None, 'autocast')}", flush=True)
    for release in chosen.only or RELEASES:
        folder, stubs = unpacked(release, cache), cache / f"stubs-{release}"
        if not stubs.is_dir():
            make_stubs(folder / "torch" / "lib", stubs)
        said = run_tests(build, (folder,), stubs)
        failed |= " failed" in said or " error" in said or " passed" not in said
        print(f"{release}: {said}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
