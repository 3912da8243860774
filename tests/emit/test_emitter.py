"""What emitters read: facts that are computed when they are first read."""

from __future__ import annotations

import pytest

from opwright.backends.external_backend import RunBackends
from opwright.emit.emitter import Job, Lazy, Options
from opwright.libraries.operator_library import OperatorLibrary, RunLibraries, library_names
from opwright.mobile.executorch_operators import ExecutorchOperators
from opwright.model.catalog import Catalog
from opwright.source.diagnostic import FaultsFound
from tests.emit.emitting import RULES

#: The catalog of a library without operators.
EMPTY = Catalog((), (), (), (), {})


def test_a_lazy_value_is_computed_once() -> None:
    """The first reader computes it; later ones get the same value, also if that is empty."""
    calls: list[int] = []

    def compute() -> list[int]:
        calls.append(1)
        return []

    lazy = Lazy(compute)
    assert calls == []
    assert lazy.get() is lazy.get()
    assert calls == [1]


def test_a_lazy_value_with_faults_raises_them_each_time() -> None:
    """Faults of the inputs are found once, and every reader gets them."""
    calls: list[int] = []

    def compute() -> int:
        calls.append(1)
        raise FaultsFound([])

    lazy = Lazy(compute)
    for _ in range(2):
        with pytest.raises(FaultsFound):
            lazy.get()
    assert calls == [1]


def test_jobs_have_what_guests_loaded() -> None:
    """A record of a guest is asked for by its class; plug-ins of version 1 of the API read its fields from the job."""
    library = OperatorLibrary(library_names("acme"), EMPTY)
    job = Job(EMPTY, RULES, Options(), guests=(RunLibraries((library,)),))
    assert job.of(RunLibraries).libraries == (library,)
    assert job.of(RunBackends).backends == ()
    fields = {name: getattr(job, name) for name in ("libraries", "backends", "lazy_backends", "executorch")}
    assert fields == {
        "libraries": (library,),
        "backends": (),
        "lazy_backends": (),
        "executorch": ExecutorchOperators(()),
    }
    with pytest.raises(AttributeError, match="a job has no `backend`"):
        getattr(job, "backend")  # noqa: B009
    assert job.replace(guests=()).of(RunLibraries) == RunLibraries()
