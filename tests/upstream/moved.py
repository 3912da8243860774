"""Moves libraries of others by the steps of docs/from-existing.md: `python -m tests.upstream.moved torchlpc`.

The original is built and runs its own tests, whose calls are recorded. The port is a copy with the file that `opwright
import` writes, its edits, and what a maintainer edits. The tests run with the port, and each must end as it did. Two
processes then repeat the calls, and the last line is their verdict.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from tests.field_replay.__main__ import sources_of
from tests.upstream.moves import BUILD, MOVES, SETUPS, Expected, Move
from tests.upstream.sources import unpacked_archive

#: What an import says of a source of which nothing is left.
_EMPTY: Final = re.compile(r"^empty: (.*?):", re.MULTILINE)
#: The files that may have a section for pytest.
_CONFIGURATIONS: Final = ("pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
_IMPORT: Final = (sys.executable, "-m", "opwright", "import")


class _Side:
    """A copy of a library, the original or its port."""

    def __init__(self, move: Move, folder: Path, tree: Path, loaded: Sequence[str]) -> None:
        self.folder: Final = folder
        self._move = move
        self._loaded = loaded
        shutil.rmtree(folder, ignore_errors=True)
        ignored = shutil.ignore_patterns(".git", "build", "*.so", "*.egg-info", "__pycache__")
        shutil.copytree(tree, folder, ignore=ignored)
        # Files of the folders around it are no configuration of its tests.
        texts = [path.read_text() for name in _CONFIGURATIONS if (path := folder / name).is_file()]
        if not any(section in text for text in texts for section in ("[pytest]", "[tool:pytest]", "[tool.pytest")):
            (folder / "pytest.ini").write_text("[pytest]\n")

    def run(self, words: Sequence[str], *, failing: bool = False) -> str:
        """What a command prints in the folder. The run ends if it fails, unless it may."""
        paths = [*[str(self.folder / path) for path in self._move.paths], os.environ.get("PYTHONPATH", "")]
        more = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "CFLAGS": "-O1 -g0"}
        command = [sys.executable if words[0] == "python" else words[0], *words[1:]]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={**os.environ, **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode and not failing:
            raise SystemExit(f"{shlex.join(command)}\n{done.stdout[-4000:]}")
        return done.stdout

    @property
    def loaded(self) -> list[str]:
        """The shared objects or the packages that processes load."""
        return [str(path) for pattern in self._loaded for path in sorted(self.folder.glob(pattern))]

    @property
    def tests(self) -> list[str]:
        """The command that runs the library's tests, and writes a report."""
        words = [sys.executable, "-m", "pytest", "-q", "--rootdir=.", "-p", "no:cacheprovider", "--junitxml=tests.xml"]
        return [*words, *self._move.tests]

    @property
    def outcomes(self) -> Mapping[str, str]:
        """The outcome of each test of the report."""
        outcomes = {}
        for case in ElementTree.parse(self.folder / "tests.xml").iter("testcase"):
            kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
            outcomes[f"{case.get('classname')}::{case.get('name')}"] = kinds[0] if kinds else "passed"
        return outcomes


def move_library(name: str, tree: Path, out: Path) -> int:
    """Move a library, and print what is compared. Gives 1 if a test or a call has another outcome than it has to."""
    move = MOVES[name]
    original = _Side(move, out / f"{name}-original", tree, [move.loaded])
    port = _Side(move, out / f"{name}-port", tree, move.ported or [move.loaded])
    setup = SETUPS / f"{name}_original.py.txt"
    if setup.is_file():
        shutil.copy(setup, original.folder / "setup.py")
    for command in move.build:
        original.run(shlex.split(command))

    file = f"{name}.yaml"
    words = [*_IMPORT, *move.sources, "--out", file]
    # What tests say of themselves is in the report.
    modules = [word for path in original.loaded for word in ("--module", path)]
    calls = str(original.folder / f"{name}.calls")
    recorded = [*words, *modules, "--record", *original.tests]
    print(_own_lines(original.run(recorded, failing=True)), flush=True)
    _take(original, port, move)
    if move.is_edited:
        edited = [*words, *modules, "--samples", calls, "--derivatives", "derivatives.yaml", "--edit", "--force"]
        told = port.run(edited, failing=True)
        print(_own_lines(told), flush=True)
        for path in _EMPTY.findall(told):
            (port.folder / path).unlink()
    else:
        for path in original.folder.glob(f"{name}*.[yh]*"):
            shutil.copy(path, port.folder)
    move.edit(port.folder)
    shutil.copy(SETUPS / f"{name}_port.py.txt", port.folder / "setup.py")
    port.run(shlex.split(BUILD))
    port.run(port.tests, failing=True)
    different = _compare_tests(original, port)

    words = [*_IMPORT, *modules, "--out", file, "--check"]
    words += [word for path in port.loaded for word in ("--port", path)]
    told = port.run([*words, "--samples", calls], failing=True)
    print(told, flush=True)
    wrong = wrong_differences(told, move.differences)
    print("\n".join(wrong))
    has_verdict = re.search(r"^compared in two processes: .* calls?: ", told, re.MULTILINE) is not None
    return int(bool(different or wrong) or not has_verdict)


def wrong_differences(told: str, expected: Sequence[Expected]) -> list[str]:
    """What is wrong about the differences that two processes tell, where these and no others are expected."""
    lines = re.findall(r"(?m)^(?:lost|added|changed): .*$", told)
    wrong = []
    for row in expected:
        found = [line for line in lines if re.match(row.pattern, line)]
        lines = [line for line in lines if line not in found]
        if len(found) != row.times:
            wrong.append(f"{len(found)} differences and not {row.times} are told of which {row.reason}")
    return [*wrong, *[f"not expected: {line}" for line in lines]]


def _own_lines(told: str) -> str:
    """What an import says, without what the command says that it runs."""
    return told[max(told.find("recorded: "), 0) :]


def _take(original: _Side, port: _Side, move: Move) -> None:
    """Give the port what the original's build made for both, such as a library without operators."""
    if BUILD in move.build:
        return
    for path in original.folder.glob(f"{move.loaded}/*.so"):
        shutil.copy(path, port.folder / path.relative_to(original.folder))


def _compare_tests(original: _Side, port: _Side) -> bool:
    """Print which tests have another outcome with the port. Gives whether there are some, or no tests at all."""
    before, after = original.outcomes, port.outcomes
    different = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    for name in different:
        print(f"{name}: {before.get(name)} with the original, {after.get(name)} with the port")
    kinds = [f"{[*before.values()].count(kind)} {kind}" for kind in sorted({*before.values()})]
    print(
        f"{len(before) - len(different)} of {len(before)} tests have the same outcome: {', '.join(kinds)}", flush=True
    )
    return bool(different or not before)


def _tree(move: Move, cache: Path) -> Path | None:
    """The sources of a library from the package index or from Debian; None if only its repository has them."""
    if move.distribution:
        return sources_of(move.distribution, cache)
    return unpacked_archive(*move.debian, cache) if move.debian is not None else None


def main() -> int:
    """Move the libraries that the command line names, or those that need no tree."""
    parser = argparse.ArgumentParser(prog="python -m tests.upstream.moved", description=__doc__)
    parser.add_argument("library", nargs="*", choices=[[], *MOVES], default=[])
    parser.add_argument("--tree", type=Path, help="a source tree of the library, with its tests")
    parser.add_argument("--cache", type=Path, default=Path(".cache/field"), help="where downloads are kept")
    parser.add_argument("--out", type=Path, default=Path("build/moved"), help="the folder for both builds")
    chosen = parser.parse_args()
    statuses = []
    for name in chosen.library or [name for name, move in MOVES.items() if move.distribution or move.debian]:
        tree = chosen.tree.resolve() if chosen.tree else _tree(MOVES[name], chosen.cache.absolute())
        if tree is None:
            raise SystemExit(f"{name} is no distribution: name a copy of its repository with TREE=path")
        if MOVES[name].needs:
            pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
            needs = chosen.cache.absolute() / f"{name}-needs"
            subprocess.run([*pip, "--target", str(needs), "--upgrade", *MOVES[name].needs], check=True)
            os.environ["PYTHONPATH"] = os.pathsep.join([str(needs), os.environ.get("PYTHONPATH", "")])
        statuses.append(move_library(name, tree, chosen.out.resolve()))
    return max(statuses)


if __name__ == "__main__":
    sys.exit(main())
