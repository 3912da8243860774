"""Moves a library of others by the steps of docs/from-existing.md: `python -m tests.upstream.moved torchlpc`.

The sources are those of `--tree`, or a source distribution from the package index. The original is built by its own
`setup.py`, and runs its own tests, whose calls are recorded. The port is a copy with the file that `opwright import`
writes, and the edits of `edit`. The tests run with the port, and each must end as it did. Two processes then repeat the
calls, and the last line is their verdict.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple
from xml.etree import ElementTree

from tests.field_replay.__main__ import sources_of

_SETUP: Final = """\
from opwright.setuptools import operator_library
from setuptools import setup

library = operator_library("{name}", yaml="{name}.yaml", sources={sources!r}, include_dirs=["."])
setup(name="{name}", version="0", packages=["{name}"], **library)
"""

#: What loads the port in place of the import of a shared object.
_LOADING: Final = """\
    from ._load import load_library

    load_library()
"""


class Moved(NamedTuple):
    """A library: its distribution, the folder with its C++ sources, those that are compiled, and its tests.

    `edit` changes the port in a folder after the import, as a maintainer would. `differences` are those that two
    processes have to tell, by operator and kind: the edits say nothing of what they are about.
    """

    distribution: str
    folder: str
    compiled: tuple[str, ...]
    tests: tuple[str, ...]
    edit: Callable[[Path], None]
    differences: frozenset[tuple[str, str]] = frozenset()

    @property
    def name(self) -> str:
        """The name of the package."""
        return self.distribution.partition("==")[0]


def _edit_torchlpc(folder: Path) -> None:
    """Delete the registrations, whose kernels record gradients that only its classes of autograd in Python correct."""
    source = folder / "torchlpc/csrc/scan_cpu.cpp"
    text = re.sub(r'extern "C" \{.*?\n\}\n\}\n', "", source.read_text(), flags=re.DOTALL)
    source.write_text(re.sub(r"^TORCH_LIBRARY\w*\(.*?^\}\n", "", text, flags=re.DOTALL | re.MULTILINE))
    package = folder / "torchlpc/__init__.py"
    package.write_text(package.read_text().replace("    from . import _C\n", _LOADING))


LIBRARIES: Final = {
    "torchlpc": Moved(
        "torchlpc==0.7.2",
        "torchlpc/csrc",
        ("torchlpc/csrc/scan_cpu.cpp",),
        ("tests/test_extension.py",),
        _edit_torchlpc,
        # PyTorch's fallback records what the kernels do before and after they write through pointers.
        frozenset({("torchlpc::lpc", "lost")}),
    )
}


def _run(command: list[str], folder: Path, **environment: str) -> str:
    """What a command prints; it is shown, and the run ends, if it fails."""
    paths = [str(folder), environment.pop("PYTHONPATH", ""), os.environ.get("PYTHONPATH", "")]
    more = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "CFLAGS": "-O1 -g0", **environment}
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **more},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout[-4000:]}")
    return done.stdout


def _outcomes(report: Path) -> Mapping[str, str]:
    """The outcome of each test of a report."""
    outcomes = {}
    for case in ElementTree.parse(report).iter("testcase"):
        kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
        outcomes[f"{case.get('classname')}::{case.get('name')}"] = kinds[0] if kinds else "passed"
    return outcomes


def move(library: Moved, tree: Path, out: Path) -> int:
    """Move a library, and print what is compared. Gives 1 if a test or a call has another outcome than it has to."""
    original, port = out / f"{library.name}-original", out / f"{library.name}-port"
    for folder in (original, port):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(tree, folder, ignore=shutil.ignore_patterns(".git", "build", "*.so", "*.egg-info"))
    opwright = [sys.executable, "-m", "opwright", "import"]
    build = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=tests.xml", *library.tests]
    _run(build, original)
    (built,) = (original / library.name).glob("_C*.so")
    file = f"{library.name}.yaml"
    print(_run([*opwright, library.folder, str(built), "--out", file, "--record", *tests], original), flush=True)

    for name in (file, f"{library.name}_kernels.h"):
        if (original / name).is_file():
            shutil.copy(original / name, port)
    library.edit(port)
    (port / "setup.py").write_text(_SETUP.format(name=library.name, sources=[*library.compiled]))
    _run(build, port)
    _run(tests, port)
    before, after = _outcomes(original / "tests.xml"), _outcomes(port / "tests.xml")
    different = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    for name in different:
        print(f"{name}: {before.get(name)} with the original, {after.get(name)} with the port")
    print(f"{len(before) - len(different)} of {len(before)} tests have the same outcome", flush=True)

    (ported,) = (port / library.name).glob("_C*.so")
    words = [*opwright, str(built), "--out", str(port / file), "--check", "--port", str(ported)]
    words += ["--samples", str(original / f"{library.name}.calls")]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout, flush=True)
    told = {(match[2], match[1]) for match in re.finditer(r"(?m)^(lost|added|changed): `([^`]+)`: ", done.stdout)}
    for operator, kind in sorted(told ^ library.differences):
        print(f"{operator}: `{kind}` is {'told' if (operator, kind) in told else 'not told'}, and should not be so")
    return int(bool(different or not before or told != library.differences))


def main() -> int:
    """Move the libraries that the command line names, or all."""
    parser = argparse.ArgumentParser(prog="python -m tests.upstream.moved", description=__doc__)
    parser.add_argument("library", nargs="*", choices=[[], *LIBRARIES], default=[])
    parser.add_argument("--tree", type=Path, help="a source tree of the library, with its tests")
    parser.add_argument("--cache", type=Path, default=Path(".cache/field"), help="where downloads are kept")
    parser.add_argument("--out", type=Path, default=Path("build/moved"), help="the folder for both builds")
    chosen = parser.parse_args()
    statuses = []
    for name in chosen.library or LIBRARIES:
        library = LIBRARIES[name]
        tree = chosen.tree.resolve() if chosen.tree else sources_of(library.distribution, chosen.cache.absolute())
        statuses.append(move(library, tree, chosen.out.resolve()))
    return max(statuses)


if __name__ == "__main__":
    sys.exit(main())
