"""What typical edits of PyTorch's inputs compile again: `make bench-lean TREE=FOLDER`.

A build for CPUs of a source tree counts, with the sources that the tree has and those that are generated. Nothing is
compiled here: which sources an edit compiles again follows from the includes, and some were measured.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from bench.lean.builds import generated, seconds_of_folder, sources
from bench.lean.edits import EDITS, FUNCTIONS
from bench.lean.includes import Includes
from bench.lean.seconds import seconds_of_generated
from bench.lean.symbols import names_symbols, symbols
from opwright.cli.main import main as opwright
from tests.conformance.report import table

_ATEN: Final = "aten/src/ATen"
#: What a generation reads of a tree.
_INPUTS: Final = ("version.txt", "torchgen", "tools/autograd", f"{_ATEN}/templates", f"{_ATEN}/native/*.yaml")


class Project:
    """A copy of the inputs of a tree, and what runs make of it, usual or lean.

    With `moved`, the tree has the symbols of operators in a header of their own (docs/build-systems.md).
    """

    def __init__(self, tree: Path, folder: Path, *flags: str, moved: bool = False) -> None:
        self._tree, self._inputs, self._out, self._flags = tree, folder / "inputs", folder / "out", flags
        for pattern in _INPUTS:
            for path in tree.glob(pattern):
                self._copy(path)
        self.generate()
        out = str(self._out)
        folders = (
            f"{out}/aten/src",
            out,
            *(f"{tree}/{name}" for name in ("aten/src", "", "torch/csrc/api/include", "torch/csrc")),
        )
        self._includes = Includes(folders, self._moved() if moved else None)
        self._written = sources(tree)

    def _copy(self, path: Path) -> None:
        target = self._inputs / path.relative_to(self._tree)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            shutil.copytree(path, target)
        else:
            shutil.copy(path, target)

    def _moved(self) -> Callable[[str, list[str]], list[str]]:
        core = f"{_ATEN}/core"
        known = symbols(self._out / core / "aten_interned_strings.h")
        umbrella, graph = f"{self._tree}/{core}/interned_strings.h", f"{self._tree}/torch/csrc/jit/ir/ir.h"
        lazy = f"{self._tree}/torch/csrc/lazy/ts_backend/ts_node.h"

        def change(path: str, files: list[str]) -> list[str]:
            if path == graph:
                return [file for file in files if file != umbrella]
            if not path.startswith(f"{self._tree}/torch/"):
                return files
            uses = path == lazy or names_symbols(Path(path).read_text(encoding="utf-8", errors="replace"), known)
            return [*files, umbrella] if uses else files

        return change

    def generate(self) -> None:
        """Generate the files of the inputs as they are."""
        source = self._inputs / "aten/src/ATen"
        if opwright(["generate", "--source-path", str(source), "--out", str(self._out), *self._flags]):
            raise SystemExit(1)

    def outputs(self) -> dict[str, bytes]:
        """The generated files that compilers read."""
        return {str(path): path.read_bytes() for ending in ("cpp", "h") for path in self._out.rglob(f"*.{ending}")}

    def texts(self) -> dict[str, str]:
        """The inputs that people edit."""
        return {
            str(path.relative_to(self._inputs)): path.read_text(encoding="utf-8")
            for path in (*(self._inputs / FUNCTIONS).parent.glob("*.yaml"), *self._inputs.glob("tools/autograd/*.yaml"))
        }

    def write(self, texts: dict[str, str]) -> None:
        """Write inputs."""
        for name, text in texts.items():
            (self._inputs / name).write_text(text, encoding="utf-8")

    def objects(self) -> list[str]:
        """The sources of the build."""
        return [str(path) for path in (*self._written, *generated(self._out))]

    def seconds(self, paths: Iterable[str]) -> float:
        """How long sources compile."""
        out = str(self._out)
        return sum(
            seconds_of_generated(Path(path), lean=bool(self._flags)) if path.startswith(out)
            else seconds_of_folder(Path(path), self._tree)
            for path in paths
        )  # fmt: skip

    def rebuilt(self, before: dict[str, bytes]) -> set[str]:
        """The sources to compile again, when the outputs were others before."""
        after = self.outputs()
        changed = [path for path, data in after.items() if before.get(path) != data]
        return self._includes.compiled_again(self.objects(), changed)


def rebuilds(tree: Path, *flags: str, moved: bool = False) -> list[tuple[int, float]]:
    """The number of objects that each edit compiles again, and their seconds; first those of the whole build."""
    with tempfile.TemporaryDirectory() as folder:
        project = Project(tree, Path(folder), *flags, moved=moved)
        before, texts = project.outputs(), project.texts()
        results = [(len(project.objects()), project.seconds(project.objects()))]
        for edit in EDITS:
            project.write(edit.apply(texts))
            project.generate()
            again = project.rebuilt(before)
            results.append((len(again), project.seconds(again)))
            project.write(texts)
    return results


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.lean.rebuilds", description=__doc__)
    parser.add_argument("tree", type=Path, help="the root of PyTorch's source tree")
    tree = parser.parse_args().tree.resolve()
    columns = [rebuilds(tree), rebuilds(tree, "--lean"), rebuilds(tree, "--lean", moved=True)]
    rows = []
    for name, (usual, lean, moved) in zip(
        ["the whole build", *(edit.name for edit in EDITS)], zip(*columns, strict=True), strict=True
    ):
        shares = [f"{other[1] / max(usual[1], 1):.2f}" for other in (lean, moved)]
        rows.append([name, *(f"{value:,.0f}" for pair in (usual, lean, moved) for value in pair), *shares])
    heads = ["objects", "s", "lean objects", "lean s", "moved objects", "moved s", "lean/usual", "moved/usual"]
    print(*table(["edit", *heads], rows), sep="\n")


if __name__ == "__main__":
    main()
