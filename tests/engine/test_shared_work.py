"""The same outputs from one process and from several, from one run and from shards."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import opwright
from opwright.files import workers
from opwright.files.writer import Writer
from opwright.run import generation as generations
from opwright.source.diagnostic import Fault, FaultsFound
from tests.engine.project import Project, files_of, generation
from tests.engine.test_library_runs import generate, request_of


@pytest.mark.forks
@pytest.mark.parametrize("processes", [2, 3])
def test_several_processes_write_the_same(project: Project, monkeypatch: pytest.MonkeyPatch, processes: int) -> None:
    """Outputs, their count and what is remembered of them are those of one process."""
    monkeypatch.setattr(generations, "_WORTH_SHARING", 0)
    alone, shared = project.out.with_name("alone"), project.out.with_name("shared")
    outcome = generation(project, str(alone)).write_after(None, None, 1)
    many = generation(project, str(shared)).write_after(None, None, processes)
    assert files_of(shared) == files_of(alone)
    assert many.summary[:3] == outcome.summary[:3]
    assert many.emitters == outcome.emitters
    assert {path.replace("/shared/", "/alone/") for path in many.statuses} == set(outcome.statuses)


@pytest.mark.forks
def test_a_fault_in_any_process_discards_all(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A template with an unknown slot is one fault, whichever process meets it, and nothing is written."""
    monkeypatch.setattr(generations, "_WORTH_SHARING", 0)
    for name in ("Operators.cpp", "Function.h"):
        path = project.inputs / "templates" / name
        path.write_text(path.read_text() + "${no_such_slot}\n")
    with pytest.raises(FaultsFound) as caught:
        generation(project, str(project.out)).write_after(None, None, 2)
    assert {diagnostic.code for diagnostic in caught.value.diagnostics} == {"E0601"}
    assert files_of(project.out) == {}


@pytest.mark.forks
def test_a_process_that_dies_is_a_fault(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the system ends a worker, the run says so and writes nothing."""
    monkeypatch.setattr(generations, "_WORTH_SHARING", 0)
    first = os.getpid()
    taken = workers._take_tasks

    def die_elsewhere(tasks: int) -> object:
        if os.getpid() != first:
            os._exit(9)
        return taken(tasks)

    monkeypatch.setattr(workers, "_take_tasks", die_elsewhere)
    with pytest.raises(FaultsFound) as caught:
        generation(project, str(project.out)).write_after(None, None, 2)
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["E0608"]
    assert files_of(project.out) == {}


SHARED_PROGRAM = """
import os, sys
from opwright.run import generation
from opwright.cli.main import main

generation._WORTH_SHARING = 0
os.sched_getaffinity = lambda process: set(range(4))
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.thorough
@pytest.mark.forks
@pytest.mark.parametrize("path", ["ops/twice.h", "RegisterCPU_0.cpp", "Operators_4.cpp", "Declarations.yaml"])
def test_an_output_path_that_is_a_folder(project: Project, path: str) -> None:
    """Whichever of four processes meets it, the run ends with its diagnostic and leaves nothing."""
    folder = project.out / "aten/src/ATen" / path
    folder.mkdir(parents=True)
    done = subprocess.run(
        [sys.executable, "-c", SHARED_PROGRAM, *project.words()],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"error[E0607]: cannot write `{folder}`"), done.stderr
    assert files_of(project.out) == {}


@pytest.mark.forks
def test_the_cleanup_of_a_process_is_not_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that removes its files after a fault of its own removes all, though another fault ends the run."""
    first, remove, cleaning = os.getpid(), os.unlink, tmp_path / "cleaning"

    def remove_slowly(path: str) -> None:
        cleaning.touch()
        time.sleep(0.1)
        remove(path)

    def work(writer: Writer, tasks: Iterator[int]) -> list[int]:
        if os.getpid() != first:
            monkeypatch.setattr(os, "unlink", remove_slowly)
            for number in range(5):
                writer.write(f"{tmp_path}/out/{number}", b"new")
        while os.getpid() == first and not cleaning.exists():
            time.sleep(0.01)
        raise Fault.at("E0608", "a fault")

    with pytest.raises(Fault):
        workers.share_work(2, [0], work, lambda _: None)
    assert files_of(tmp_path / "out") == {}


@pytest.mark.forks
def test_a_process_that_cannot_be_made_is_no_fault(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system refuses more processes, those that there are do the work."""
    monkeypatch.setattr(generations, "_WORTH_SHARING", 0)
    copied = os.fork
    copies: list[int] = []

    def fork_once() -> int:
        if copies:
            raise BlockingIOError("no more processes")
        copies.append(copied())
        return copies[0]

    generation(project, str(project.out.with_name("alone"))).write_after(None, None, 1)
    monkeypatch.setattr(os, "fork", fork_once)
    generation(project, str(project.out)).write_after(None, None, 4)
    assert files_of(project.out) == files_of(project.out.with_name("alone"))


@pytest.mark.forks
@pytest.mark.parametrize("refusal", [OSError(errno.EMFILE, "Too many open files"), MemoryError()])
def test_what_the_system_refuses_a_process(
    project: Project, monkeypatch: pytest.MonkeyPatch, refusal: Exception
) -> None:
    """A process that lacks files or memory ends the run as the first one would, and nothing is written."""
    monkeypatch.setattr(generations, "_WORTH_SHARING", 0)
    first, taken = os.getpid(), workers._take_tasks

    def refused_elsewhere(tasks: int) -> object:
        if os.getpid() != first:
            raise refusal
        return taken(tasks)

    monkeypatch.setattr(workers, "_take_tasks", refused_elsewhere)
    with pytest.raises(type(refusal)):
        generation(project, str(project.out)).write_after(None, None, 3)
    assert files_of(project.out) == {}


@pytest.mark.forks
def test_comparing_is_shared_from_more_work_on(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that has a previous build to compare with starts a second process only for three times as much work."""
    loaded = opwright.Generation(request_of(project))
    work = len(list(loaded._tasks())) * len(loaded.job.catalog)
    shared: list[object] = []
    share = workers.share_work

    def counted(processes: int, *arguments: object) -> object:
        if processes > 1:
            shared.append(arguments)
        return share(processes, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("opwright.run.incremental_generation.IncrementalGeneration.write_edit", lambda *_: None)
    monkeypatch.setattr("opwright.run.output_writer.share_work", counted)
    monkeypatch.setattr("opwright.source.child.usable_processes", lambda jobs: 2)
    counts = []
    for step, worth in enumerate((work, work, work // 3)):
        monkeypatch.setattr(generations, "_WORTH_SHARING", worth)
        generate(project)
        counts.append(len(shared))
        project.edit(f"eps=1e-{6 + step}", f"eps=1e-{7 + step}")
    assert counts == [1, 1, 2]


def test_shards_are_disjoint_and_complete(project: Project) -> None:
    """Each output is made by one of four shards, with the bytes of a whole run."""
    project.run(out=project.out.with_name("whole"))
    made = []
    for number in range(4):
        out = project.out.with_name(f"shard{number}")
        project.run("--shard", f"{number}/4", out=out)
        made.append(files_of(out))
    assert all(made)
    assert sum(map(len, made)) == len({path for part in made for path in part})
    assert {path: data for part in made for path, data in part.items()} == files_of(project.out.with_name("whole"))


def test_shards_into_one_folder_keep_each_other(project: Project) -> None:
    """A shard removes no file of another one, and only its own of an operator that went."""
    for number in (0, 1, 0):
        project.run("--shard", f"{number}/2")
    project.run(out=project.out.with_name("whole"))
    assert files_of(project.out) == files_of(project.out.with_name("whole"))
    project.edit("- func: mean_of(Tensor[] tensors, float eps=1e-6) -> Tensor\n", "")
    for number in (0, 1):
        project.run("--shard", f"{number}/2")
    assert not list(project.out.rglob("mean_of*"))
