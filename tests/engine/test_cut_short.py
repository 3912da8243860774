"""Runs that are killed, and runs at the same time."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.build.lock import FolderLock
from opwright.build.writer import STAGING_PREFIX
from opwright.generation import Generation
from tests.engine.project import Project, files_of
from tests.engine.test_edits import generation

KILLS = 200


def killed_at(moment: int, run: Generation, calls: list[int]) -> bool:
    """Whether a copy of this process that makes the run was killed right before its call number `moment` of the system.

    `calls` gets the number of calls, if it was not.
    """
    count, told = os.pipe()
    process = os.fork()
    if not process:
        made = 0

        def counted(call: Callable[..., object]) -> Callable[..., object]:
            def wrapped(*arguments: object, **named: object) -> object:
                nonlocal made
                made += 1
                if made == moment:
                    os.kill(os.getpid(), signal.SIGKILL)
                return call(*arguments, **named)

            return wrapped

        tell = os.write
        for name in ("open", "write", "close", "replace", "mkdir", "unlink", "rmdir", "chmod"):
            setattr(os, name, counted(getattr(os, name)))
        with contextlib.suppress(BaseException):
            run.write()
        tell(told, str(made).encode())
        os._exit(0)
    os.close(told)
    _, status = os.waitpid(process, 0)
    number = os.read(count, 20)
    os.close(count)
    calls += [int(number)] if number else []
    return os.WIFSIGNALED(status)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be copied here")
def test_a_killed_run_leaves_whole_files(project: Project) -> None:
    """However a run ends, each file has the old bytes or the new ones, and the next run puts everything right."""
    old_run = generation(project, str(project.out))
    old_run.write()
    old = files_of(project.out)
    project.edit("eps=1e-6", "eps=1e-5")
    project.edit("    CPU: shifted_cpu", "    CPU: shifted_other_cpu")
    project.edit("- func: rows(", "- func: extra(Tensor self) -> Tensor\n\n- func: rows(")
    new_run = generation(project, str(project.out))
    calls: list[int] = []
    assert not killed_at(0, new_run, calls)
    new = files_of(project.out)
    assert new != old
    chance = random.Random(4)
    killed, seen = 0, set()
    for number in range(KILLS):
        # Back and forth between two states of the inputs, each cut short at another moment.
        run = (old_run, new_run)[number % 2]
        killed += killed_at(chance.randrange(1, calls[0] + 1), run, [])
        found = files_of(project.out)
        kept = {path: data for path, data in found.items() if STAGING_PREFIX not in path}
        for path, data in kept.items():
            assert data in (old.get(path), new.get(path)), f"{path} is neither old nor new"
        seen.add(tuple(path for path in kept if kept[path] != old.get(path)))
    assert killed > KILLS / 4
    assert len(seen) > 5
    project.run()
    assert files_of(project.out) == new


def test_two_runs_at_once(project: Project) -> None:
    """Runs that start together into one folder both succeed, and the outputs are whole."""
    project.run(out=project.out.with_name("alone"))
    runs = [project.start() for _ in range(3)]
    assert [(run.communicate()[1], run.returncode) for run in runs] == [("", 0)] * 3
    assert files_of(project.out) == files_of(project.out.with_name("alone"))


def test_the_lock_is_held_by_one(tmp_path: Path) -> None:
    """Who asks for a folder's lock waits for the one that has it, and knows that it waited."""
    log = tmp_path / "log"
    process = os.fork() if hasattr(os, "fork") else pytest.skip("processes cannot be copied here")
    if not process:
        with FolderLock(str(tmp_path / "state")):
            log.write_text("taken\n")
            time.sleep(0.3)
            log.write_text("taken\nreleased\n")
        os._exit(0)
    while not log.exists() or not log.read_text():
        time.sleep(0.01)
    with FolderLock(str(tmp_path / "state")) as lock:
        assert log.read_text() == "taken\nreleased\n"
        assert lock.waited
    os.waitpid(process, 0)


def test_a_folder_that_cannot_be_locked_is_no_fault(tmp_path: Path) -> None:
    """Where no lock can be made, the run goes on without."""
    (tmp_path / "file").write_text("")
    with FolderLock(str(tmp_path / "file" / "state")) as lock:
        assert not lock.waited


def test_staging_folders_of_the_living_stay(project: Project) -> None:
    """Only what dead processes left is removed."""
    ops = project.out / "aten/src/ATen/ops"
    living, dead = ops / f"{STAGING_PREFIX}{os.getpid()}-aaaa", ops / f"{STAGING_PREFIX}{2**22 + 1}-bbbb"
    for folder in (living, dead):
        folder.mkdir(parents=True)
        (folder / "0").write_text("part of a fi")
    project.run()
    assert living.exists()
    assert dead.exists() is (sys.platform == "win32")
