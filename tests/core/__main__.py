"""Write the core, as a folder and as a zip file that Python runs.

make core                                   all drop-in programs and the modules for importers, in build/core
make core PROGRAMS='gen gen_autograd'       these programs alone
make core RELEASE=2.15                      the rules and tables of one release alone
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sys
import tempfile
import zipfile
from collections import Counter
from pathlib import Path
from typing import Final

from opwright.release.generator_files import FORWARDS
from opwright.release.version import Version
from opwright.torchgen.forwarding import module_file
from tests.core import small_outputs
from tests.core.closure import SOURCE, Closure
from tests.core.one_release import files_for, known_version
from tests.core.pytorch_style import in_style

_TOP: Final = SOURCE.parent
_MANIFEST: Final = "MANIFEST.txt"
#: The first line of modules that forward: no program removes them.
_MARK: Final = f'{FORWARDS}, whose core comes with this folder."""'
#: The date of all members of the zip file, so that the same sources give the same bytes.
_DATE: Final = (1980, 1, 1, 0, 0, 0)
#: What runs the zip file, and the folder.
_RUNNER: Final = '''\
"""Runs a drop-in program of Opwright's core: `python opwright-core.zip gen --source-path aten/src/ATen ...`."""

from __future__ import annotations

import os
import sys
from runpy import run_module

PROGRAMS = {programs}

if len(sys.argv) < 2 or sys.argv[1] not in PROGRAMS:
    print("usage: PROGRAM [FLAGS], where PROGRAM is one of:", *PROGRAMS, file=sys.stderr)
    raise SystemExit(2)
del sys.argv[0]
# As with `python -m`, the generator of the tree in which the program runs is the one whose inputs backends take.
sys.path.insert(0, os.getcwd())
run_module(f"opwright.torchgen.{{sys.argv[0]}}", run_name="__main__", alter_sys=True)
'''


def contents(closure: Closure, release: Version | None = None, *, has_tests: bool = False) -> dict[str, bytes]:
    """The files of the core by their paths, sorted: for one release, or for all.

    Its tests compare what it writes for few operators; they are of cores with the programs that write all files.
    """
    files = {path.relative_to(SOURCE).as_posix(): path.read_bytes() for path in closure.files()}
    if release is not None:
        files = files_for(files, release)
    files["LICENSE"] = (_TOP / "LICENSE").read_bytes()
    files["__main__.py"] = _RUNNER.format(programs=closure.programs).encode()
    for name, is_package in closure.interface.items():
        path = name.replace(".", "/")
        files[f"{path}/__init__.py" if is_package else f"{path}.py"] = module_file(name, _MARK).encode()
    files["prove.py"] = Path(__file__).with_name("prove.py").read_bytes()
    if has_tests:
        files["test_outputs.py"] = Path(__file__).with_name("small_outputs.py").read_bytes()
        files.update({f"small/{path.name}": path.read_bytes() for path in small_outputs.SMALL.iterdir()})
    if release is not None:
        files = in_style(files)
    if has_tests:
        files.update({f"small/expected/{path}": text.encode() for path, text in outputs_of(files).items()})
    lines = [f"{hashlib.sha256(files[path]).hexdigest()}  {path}\n" for path in sorted(files)]
    # `sha256sum --check MANIFEST.txt` reads it.
    return {path: files[path] for path in sorted(files)} | {_MANIFEST: "".join(lines).encode()}


def outputs_of(files: dict[str, bytes]) -> dict[str, str]:
    """What a core of these files writes for the few operators of its tests, by path."""
    with tempfile.TemporaryDirectory() as folder:
        write_folder(files, Path(folder) / "core")
        return small_outputs.outputs(Path(folder) / "core")


def write_folder(files: dict[str, bytes], folder: Path) -> None:
    """Write the files below a folder, and nothing else."""
    if folder.exists():
        shutil.rmtree(folder)
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def write_zip(files: dict[str, bytes], path: Path) -> None:
    """Write the files into a zip file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, _DATE), content, zipfile.ZIP_DEFLATED)


def report(closure: Closure, files: dict[str, bytes]) -> str:
    """The size of the core in words: lines and modules by room, data, dependencies."""
    rooms: Counter[str] = Counter()
    modules: Counter[str] = Counter()
    for path, content in files.items():
        if path.startswith("opwright/") and path.endswith(".py"):
            parts = path.split("/")
            room = parts[1] if len(parts) > 2 else "opwright"
            rooms[room] += content.count(b"\n")
            modules[room] += 1
    texts = [content for path, content in files.items() if path.startswith("opwright/") and not path.endswith(".py")]
    data = f"{sum([len(text.splitlines()) for text in texts]):,} lines in {len(texts)} files of data"
    lines = [f"{count:7,} lines {modules[room]:4} modules  {room}" for room, count in sorted(rooms.items())]
    others = sorted(name for name in closure.other_packages if name not in sys.stdlib_module_names)
    total = f"{sum(rooms.values()):7,} lines {sum(modules.values()):4} modules in all, and {data}"
    return "\n".join([*lines, total, f"packages besides the standard library: {', '.join(others)}"])


def main() -> None:
    """Write the core, and print its size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=_TOP / "build" / "core")
    parser.add_argument("--release", type=known_version, metavar="VERSION")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    arguments = parser.parse_args()
    closure = Closure(arguments.programs)
    has_tests = {"gen", "generate_code"}.issubset(closure.programs)
    files = contents(closure, arguments.release, has_tests=has_tests)
    out: Path = arguments.out
    write_folder(files, out / "opwright-core")
    write_zip(files, out / "opwright-core.zip")
    print(report(closure, files))
    print(f"{out}/opwright-core and {out}/opwright-core.zip")


if __name__ == "__main__":
    main()
