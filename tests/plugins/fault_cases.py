"""Case files of faults in plug-ins: files of a project, the words of a run, and what the run reports."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Iterator
from importlib import invalidate_caches
from pathlib import Path
from typing import NamedTuple

import pytest

from opwright.cli.main import main
from opwright.plugins import discovery
from opwright.plugins.discovery import installed_plugins
from opwright.plugins.use import ensure_active
from tests.engine.project import Project

FOLDER = Path(__file__).parent / "faults"

_FILE = re.compile(r"(?m)^=== (.+)\n")


class FaultCase(NamedTuple):
    """A case: a sentence, the files of a project by path, the words of the run, and what it reports."""

    path: Path
    sentence: str
    files: dict[str, str]
    words: list[str]
    report: str

    @classmethod
    def read(cls, path: Path) -> FaultCase:
        """The case of a file: a sentence, a part for each file, `run WORDS`, and `report`."""
        sentence, *parts = _FILE.split(path.read_text(encoding="utf-8"))
        contents = dict(zip(parts[::2], parts[1::2], strict=True))
        words = next(name for name in contents if name.startswith("run "))
        files = {name: text for name, text in contents.items() if name not in (words, "report")}
        return cls(path, sentence.strip(), files, words.split()[1:], contents["report"])

    @property
    def text(self) -> str:
        """The text of the file."""
        parts = [f"=== {name}\n{text}" for name, text in self.files.items()]
        return f"{self.sentence}\n\n{''.join(parts)}=== run {' '.join(self.words)}\n=== report\n{self.report}"

    def run(self, project: Project, *more: str) -> str:
        """What a run of the case reports, in the folder of a small project, whose folder `site` has what is installed.

        Standard output is left out.
        """
        folder = project.folder
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        command, *words = self.words
        where = ["--source-path", Project.place, "--release", "2.13"] if command == "generate" else []
        out = ["--out", "out"] if command == "generate" else []
        out += ["--jobs", "1"] if out and "--jobs" not in more else []
        reported = io.StringIO()
        with installed_below(folder), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(reported):
            try:
                status = main([command, *where, *out, *words, *more])
            except SystemExit as error:
                status = int(error.code or 0)
        text = re.sub(r"choose from .*\)", "choose from ...)", reported.getvalue())
        return f"{text.replace(f'{folder}{os.sep}', '')}exit status {status}\n"


@contextlib.contextmanager
def installed_below(folder: Path) -> Iterator[None]:
    """Work in a folder whose folder `site` has what is installed; afterwards no plug-in is active."""
    site, modules = str(folder / "site"), set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(site)
        patch.setattr("gc.disable", lambda: None)
        patch.setattr(discovery, "_LOADED", {})
        installed_plugins.cache_clear()
        invalidate_caches()
        try:
            yield
        finally:
            ensure_active(())
            installed_plugins.cache_clear()
            for name in set(sys.modules) - modules:
                if str(getattr(sys.modules[name], "__file__", "")).startswith(str(folder)):
                    del sys.modules[name]


def load_cases() -> list[FaultCase]:
    """All cases."""
    return [FaultCase.read(path) for path in sorted(FOLDER.glob("*.txt"))]
