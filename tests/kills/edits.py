"""Disturbs `check --fix`: someone saves the file that it fixes, at any moment, or the run is killed, or both."""

from __future__ import annotations

import os
import random
import select
import signal
import subprocess
from collections.abc import Callable
from contextlib import ExitStack, redirect_stderr, redirect_stdout, suppress
from functools import partial
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple
from unittest.mock import patch

from opwright.cli import main
from opwright.files.staging import STAGING_PREFIX
from opwright.workspace import user_files
from tests.kills.lines import run_traced

__all__ = ["Disturbances", "Outcome"]

#: What the fix changes, and the text after it. What someone saves meanwhile has nothing to fix.
OLD: Final = "- func: acme::pad(Tensor self) -> Tensor\n  variants: function\n  dispatch: {CPU: pad, Meta: pad_meta}\n"
FIXED: Final = OLD.replace("  variants: function\n", "")
SAVED: Final = FIXED.replace("acme::pad", "acme::padded") + "# saved meanwhile\n"

MODE: Final = 0o640
_MODULES: Final = frozenset({user_files.__file__})
#: A save waits for a run that has the file; the run must not wait for the save.
_SAVE_SECONDS: Final = 0.02


class Outcome(NamedTuple):
    """What came of the rounds: their number, how many runs were killed, how many saves came, and what was wrong."""

    rounds: int
    killed: int
    saves: int
    faults: list[str]


class Disturbances:
    """A file with something to fix, and the ways to disturb the fixing.

    A moment is a line of the modules that replace files: the run stops there, or waits while another process saves.
    """

    def __init__(self, folder: Path, release: Path, seed: int = 0) -> None:
        self._folder = folder / "ops"
        self._other = folder / "other.yaml"
        self._chance = random.Random(seed)
        self._path = self._folder / "pad.yaml"
        self._release = release
        self._cache = folder / "cache"

    def run(self, count: int, progress: Callable[[Outcome], None] = lambda _: None) -> Outcome:
        """Disturb so many runs, in turns through kinds of links, kinds of saves, and kills."""
        outcome = Outcome(0, 0, 0, [])
        links, saves = ("no link", "symbolic link", "hard link"), ("", "in place", "by a rename")
        turns = [turn for turn in product(links, saves, (False, True)) if turn[1:] != ("", False)]
        with ExitStack() as stack:
            stack.enter_context(patch.dict(os.environ, OPWRIGHT_CACHE_DIR=str(self._cache)))
            lines = {}
            self._import_all()
            for link in links:
                self._set(link)
                lines[link] = run_traced(self._fix, _MODULES)[1]
                assert self._path.read_text() == FIXED
            for number in range(count):
                link, save, is_killed = turns[number % len(turns)]
                faults, killed = self._round(link, save, is_killed, lines[link])
                where = f"{link}, saved {save or 'never'}, {'killed' if is_killed else 'not killed'}: "
                outcome.faults.extend(where + fault for fault in faults)
                outcome = Outcome(number + 1, outcome.killed + killed, outcome.saves + bool(save), outcome.faults)
                progress(outcome)
        return outcome

    def _round(self, link: str, save: str, is_killed: bool, lines: int) -> tuple[list[str], bool]:
        """Disturb one run; what is wrong after the next one, and whether the run was killed."""
        self._set(link)
        saved_at = self._chance.randrange(1, lines + 1) if save else 0
        killed_at = self._chance.randrange(max(saved_at, 1), lines + 1) if is_killed else 0
        pause = partial(_save_apart, partial(_save, self._path, save))
        status, _ = run_traced(self._fix, _MODULES, killed_at=killed_at, paused_at=saved_at, pause=pause)
        killed = os.WIFSIGNALED(status)
        expected = {SAVED} if save else {OLD, FIXED}
        faults = []
        if not killed and self._path.read_text() not in expected:
            faults.append(f"the file is {self._path.read_text()!r}")
        # A run that checks another file is enough to clean.
        self._other.write_text(FIXED)
        assert run_traced(lambda: main.main(self._words(self._other)), frozenset())[0] == 0
        text = self._path.read_text()
        if text not in expected:
            faults.append(f"after the next run the file is {text!r}")
        faults += [f"{path} is left" for path in self._folder.parent.rglob(f"{STAGING_PREFIX}*")]
        faults += [f"{name} is left" for name in os.listdir(self._cache / "state" / "user-files") if name != "lock"]
        if self._path.is_symlink() != (link == "symbolic link" and save != "by a rename"):
            faults.append("the symbolic link is gone")
        if link == "hard link" and save != "by a rename" and self._path.stat().st_nlink != 2:
            faults.append("the hard link is gone")
        if save != "by a rename" and self._path.stat().st_mode & 0o777 != MODE:
            faults.append("the permissions are others")
        return faults, killed

    def _import_all(self) -> None:
        """Make a run in this process, so that its copies need not import anything."""
        self._set("no link")
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            self._fix()

    def _fix(self) -> int:
        return main.main([*self._words(self._path), "--fix"])

    def _words(self, path: Path) -> list[str]:
        return ["check", "--source-path", str(self._release), "--release", "2.13.0", str(path)]

    def _set(self, link: str) -> None:
        """The file with something to fix, and nothing else."""
        subprocess.run(["rm", "-rf", self._folder], check=True)
        self._folder.mkdir(parents=True)
        path = self._folder / "real.yaml" if link == "symbolic link" else self._path
        path.write_text(OLD)
        path.chmod(MODE)
        if link == "symbolic link":
            self._path.symlink_to(path)
        elif link == "hard link":
            (self._folder / "second.yaml").hardlink_to(path)


def _save_apart(save: Callable[[], None], report: int) -> None:
    """Save in another process, and wait for it, or until it waits for this one."""
    done, told = os.pipe()
    if not os.fork():
        # A program of its own has none of the files that this one has open.
        for handle in set(range(3, told)) - {report}:
            with suppress(OSError):
                os.close(handle)
        save()
        os.kill(os.getpid(), signal.SIGKILL)
    os.close(told)
    select.select([done], [], [], _SAVE_SECONDS)
    os.close(done)


def _save(path: Path, how: str) -> None:
    """Save a text as an editor does."""
    if how == "in place":
        path.write_text(SAVED)
    else:
        new = path.with_name("saving")
        new.write_text(SAVED)
        new.replace(path)
