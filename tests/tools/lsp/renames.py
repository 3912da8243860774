"""Renames of random arguments with the language server's code, and whether each changes the name alone.

Renames of different operators are made together, some hundred at a time. Then the tree is checked and generated, and
compared with the tree before: all new names end alike, so without this ending nothing may differ.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from opwright.release.inputs import Inputs, from_installed
from opwright.source.diagnostic import Edit
from opwright.source.text import SourceFile
from opwright.tools.check.findings import CheckedFiles, find
from opwright.tools.check.suppressions import CodeFilter
from opwright.tools.lsp.operators import entries_of
from opwright.tools.lsp.project import Project
from opwright.tools.lsp.rename import rename_argument
from opwright.workspace.edits import apply_edits
from tests.tools.lsp.session import NATIVE, write_tree

__all__ = ["Outcome", "rename_at_random"]

_ENDING = "_renamed"
_BATCH = 250
_ARGUMENT = re.compile(r"(?<= )(\w+)(?==|,|\))")


class Outcome(NamedTuple):
    """How many renames were offered and refused, and what was wrong after those that were offered."""

    offered: int
    refused: int
    wrong: list[str]


class _Place(NamedTuple):
    """An argument: the base name of its operator, where the argument is in the file, and its name."""

    operator: str
    offset: int
    name: str


class _Tree:
    """PyTorch's inputs in a folder, with what is found in them and what is generated from them."""

    def __init__(self, folder: Path) -> None:
        self.folder = write_tree(folder / "tree")
        self.out = folder / "out"

    def findings(self) -> list[str]:
        """What a check finds, without the ending of new names."""
        paths = tuple([str(path) for path in sorted(self.folder.rglob("*.yaml")) if "templates" not in path.parts])
        found = find(CheckedFiles(paths), CodeFilter(), _no_release)
        return sorted(f"{row.code} {row.message}".replace(_ENDING, "") for row in found.diagnostics)

    def outputs(self) -> dict[str, str]:
        """What is generated, by path."""
        words = ["generate", "--source-path", str(self.folder), "--release", "2.13", "--out", str(self.out)]
        done = subprocess.run([sys.executable, "-m", "opwright", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:3000]
        paths = [path for path in self.out.rglob("*") if path.is_file() and ".opwright" not in path.parts]
        return {str(path.relative_to(self.out)): path.read_text(encoding="utf-8") for path in paths}

    def apply(self, edits: list[Edit]) -> dict[Path, str]:
        """Make edits, and give the texts before."""
        texts: dict[Path, str] = {}
        for path in {edit.span.file.path for edit in edits}:
            texts[Path(path)] = Path(path).read_text(encoding="utf-8")
            own = {(edit.span.start, edit.span.end): edit for edit in edits if edit.span.file.path == path}
            Path(path).write_text(
                apply_edits(texts[Path(path)], [own[place] for place in sorted(own)]), encoding="utf-8"
            )
        return texts


def rename_at_random(count: int, seed: int, folder: Path) -> Outcome:
    """Make so many renames of arguments of PyTorch's operators, and look for what else changes."""
    tree = _Tree(folder)
    places = list(_places(tree.folder / NATIVE))
    random.Random(seed).shuffle(places)
    findings, outputs = tree.findings(), tree.outputs()
    offered = refused = 0
    wrong: list[str] = []
    while offered < count and places:
        batch = _offers(tree, places, min(_BATCH, count - offered))
        refused += batch.refused
        offered += len(batch.operators)
        before = tree.apply(batch.edits)
        wrong += [f"check: {row}" for row in set(tree.findings()) ^ set(findings)]
        wrong += [f"generated: {path}" for path in _differences(outputs, tree.outputs())]
        for path, text in before.items():
            path.write_text(text, encoding="utf-8")
    return Outcome(offered, refused, wrong)


class _Offers(NamedTuple):
    edits: list[Edit]
    operators: set[str]
    refused: int


def _offers(tree: _Tree, places: list[_Place], count: int) -> _Offers:
    """Renames that are offered for the next places, each of another operator."""
    project = Project(from_installed)
    file = project.read(str(tree.folder / NATIVE))
    assert file is not None
    edits: list[Edit] = []
    operators: set[str] = set()
    refused = 0
    later: list[_Place] = []
    while places and len(operators) < count:
        place = places.pop()
        if place.operator in operators:
            later.append(place)
            continue
        try:
            edits += rename_argument(project, file, place.offset, place.name + _ENDING)
        except ValueError:
            refused += 1
        else:
            operators.add(place.operator)
    places += later
    return _Offers(edits, operators, refused)


def _places(path: Path) -> Iterator[_Place]:
    """The arguments of all operators."""
    file = SourceFile(str(path), path.read_text(encoding="utf-8"))
    for entry in entries_of(file):
        start = file.text.index("func: ", entry.entry.start) + len("func: ")
        line = file.text[start : file.text.index("\n", start)].partition(" -> ")[0]
        operator = re.sub(
            r"(^_foreach_)|(_(copy|backward|scatter|out|inverse))+(?=\.|$)|_?(\..*)?$", "", line[: line.index("(")]
        )
        for match in _ARGUMENT.finditer(f" {line[line.index('(') + 1 :]}"):
            yield _Place(operator, start + line.index("(") + match.start(), match[1])


def _differences(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """The paths of files that differ by more than the ending of new names."""
    common = before.keys() & after.keys()
    return sorted(before.keys() ^ after.keys()) + [
        path for path in sorted(common) if _content(path, before[path]) != _content(path, after[path])
    ]


def _content(path: str, text: str) -> str | frozenset[str]:
    """A text without the ending of new names. A list of all names is a set: other operators keep the old name."""
    text = text.replace(_ENDING, "")
    # The line of the last name has no backslash.
    return frozenset(text.replace(" \\\n", "\n").splitlines()) if path.endswith("aten_interned_strings.h") else text


def _no_release() -> Inputs:
    raise AssertionError("the files are in a tree")


def main() -> None:
    """Print the figures; the exit status is 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        outcome = rename_at_random(arguments.count, arguments.seed, Path(folder))
    print(f"{outcome.offered:,} renames, {outcome.refused:,} refused, {len(outcome.wrong)} wrong")
    print("\n".join(outcome.wrong[:50]))
    sys.exit(bool(outcome.wrong))


if __name__ == "__main__":
    main()
