"""`--watch`: the memory of a long watch, and what must not happen beside the watcher's threads."""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Callable, Iterator

import pytest

from opwright.cli.main import main
from opwright.incremental.identity import RunIdentity
from opwright.model.native_function import NativeFunction
from opwright.run.incremental_generation import IncrementalGeneration
from tests.engine.project import Project


def watch(project: Project, monkeypatch: pytest.MonkeyPatch, look: Callable[[], None]) -> None:
    """Watch a project that is edited three times; `look` is called before each edit and at the end."""

    def changes_of(*folders: str, **_: object) -> Iterator[set[object]]:
        assert str(project.yaml.parent) in folders
        for digit in range(6, 9):
            look()
            project.edit(f"eps=1e-{digit}", f"eps=1e-{digit + 1}")
            yield set()
        look()

    watchfiles = types.ModuleType("watchfiles")
    monkeypatch.setattr(watchfiles, "watch", changes_of, raising=False)
    monkeypatch.setitem(sys.modules, "watchfiles", watchfiles)
    try:
        assert main(project.words("--watch")) == 0
    finally:
        gc.enable()


def count_functions() -> int:
    """How many native functions there are in memory."""
    return sum(isinstance(value, NativeFunction) for value in gc.get_objects())


@pytest.fixture(autouse=True)
def _frozen_heap() -> Iterator[None]:
    """Collections, one after each run, leave out what earlier tests left: in a long session most of the time."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.thorough
def test_old_catalogs_are_freed(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often the inputs change, no catalog stays in memory between the runs."""
    before = count_functions()
    more: list[int] = []
    watch(project, monkeypatch, lambda: more.append(count_functions() - before))
    assert more == [0, 0, 0, 0]


def test_no_process_is_copied_beside_the_watcher(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the watcher runs, which has threads of its own, every run uses one process."""
    limits: list[int | None] = []

    class NotedGeneration(IncrementalGeneration):
        """A session that notes how many processes it may use when it loads."""

        def __init__(self, run: RunIdentity, *, jobs: int | None = None, keeps_state: bool = True) -> None:
            super().__init__(run, jobs=jobs, keeps_state=keeps_state)
            limits.append(jobs)

    monkeypatch.setattr("opwright.cli.generate.IncrementalGeneration", NotedGeneration)
    watch(project, monkeypatch, lambda: None)
    # The first session takes the stamps of the inputs, the second one makes the first run.
    assert limits == [None, None, 1, 1, 1]
