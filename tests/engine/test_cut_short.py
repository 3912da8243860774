"""Runs that are killed, and runs at the same time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from opwright.files import lock as lock_module
from opwright.files.lock import folder_lock
from opwright.source.terminal import say
from tests.engine.project import Project, files_of


def test_two_runs_at_once(project: Project) -> None:
    """Runs that start together into one folder both succeed, and the outputs are whole."""
    project.run(out=project.out.with_name("alone"))
    runs = [project.start() for _ in range(3)]
    assert [(run.communicate()[1], run.returncode) for run in runs] == [("", 0)] * 3
    assert files_of(project.out) == files_of(project.out.with_name("alone"))


@pytest.mark.forks
def test_the_lock_is_held_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run that asks for a folder's lock waits for the run that holds it, and says so if that takes long."""
    monkeypatch.setattr(lock_module, "PATIENCE", 0.05)
    log = tmp_path / "log"
    taken, told = os.pipe()
    waiting, heard = os.pipe()
    process = os.fork()
    if not process:
        with folder_lock(str(tmp_path / "state")):
            os.write(told, b"t")
            os.read(waiting, 1)
            log.write_text("released\n")
        os._exit(0)
    assert os.read(taken, 1) == b"t"

    def tell(text: str) -> None:
        say(text)
        os.write(heard, b"w")

    monkeypatch.setattr(lock_module, "say", tell)
    with folder_lock(str(tmp_path / "state")) as is_held:
        assert log.read_text() == "released\n"
        assert is_held
    for end in (taken, told, waiting, heard):
        os.close(end)
    os.waitpid(process, 0)
    assert capsys.readouterr().err == f"opwright: waiting for another run, which has locked {tmp_path / 'state'}\n"
    with folder_lock(str(tmp_path / "state")):
        assert capsys.readouterr().err == ""


def test_a_folder_that_cannot_be_locked_is_no_fault(tmp_path: Path) -> None:
    """Where no lock can be made, the run goes on without."""
    (tmp_path / "file").write_text("")
    with folder_lock(str(tmp_path / "file" / "state")) as is_held:
        assert not is_held
