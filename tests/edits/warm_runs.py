"""Runs into a folder that earlier runs have written to, beside runs into an empty one: both leave the same bytes."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Final

from opwright.cli.main import main
from tests.engine.project import files_of

__all__ = ["WarmRuns", "inside"]


#: What runs write into the folder of sources, from which no later run removes a file.
_KEPT: Final = "torch/csrc/inductor/aoti_torch/generated/c_shim_"


class WarmRuns:
    """A folder that runs write to one after the other.

    `fresh` remembers what runs into an empty folder gave, by a name of their inputs and flags.
    """

    def __init__(self, folder: Path, words: Sequence[str]) -> None:
        self.folder: Final = folder
        self.words: Final = ("--jobs", "1", *words)
        self.report = ""
        self._fresh: Final[dict[object, dict[str, bytes] | None]] = {}

    def _run(self, out: str, words: Sequence[str]) -> dict[str, bytes] | None:
        """The files after a run; None if it refuses its inputs. What earlier runs made for others is among them."""
        printed = io.StringIO()
        with inside(self.folder), redirect_stdout(printed), redirect_stderr(printed):
            status = main(["generate", *words, *self.words, "--out", str(self.folder / out)])
        self.report = printed.getvalue()
        if status:
            return None
        files = files_of(self.folder / out)
        return {path: data for path, data in files.items() if not path.startswith(".opwright")}

    def fresh(self, words: Sequence[str], name: object) -> dict[str, bytes] | None:
        """The files of a run into an empty folder, None if it refuses its inputs; each name is run once."""
        if name not in self._fresh:
            self._fresh[name] = self._run("fresh", words)
            shutil.rmtree(self.folder / "fresh", ignore_errors=True)
        return self._fresh[name]

    def differences(self, words: Sequence[str], name: object) -> list[str] | None:
        """Which files a run after others leaves otherwise than a fresh one; None if the inputs are refused."""
        expected = self.fresh(words, name)
        if expected is None:
            return None
        files = self._run("warm", words)
        if files is None:
            return [f"only the run after others is refused: {self.report}"]
        paths = {*expected, *[path for path in files if not path.startswith(_KEPT)]}
        return [path for path in sorted(paths) if files.get(path) != expected.get(path)]


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Make a folder the current one."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
