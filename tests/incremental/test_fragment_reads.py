"""Fragments depend on what their fingerprints cover, and on nothing else of the job that they are made in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
import yaml

from opwright.backends.file_backend import FileBackend, OverloadChoices
from opwright.dialects.table import DEPRECATED, DERIVATIVES, NATIVE_FUNCTIONS
from opwright.emit.aten.backend import Backend
from opwright.emit.emitter import AnyEmitter, Job
from opwright.emit.registry import build_folders, emitters
from opwright.incremental.changes import ComparedFile, find_edit
from opwright.incremental.emitter_files import named_emitters
from opwright.incremental.fingerprints import UnitFingerprints
from opwright.model.native_function import NativeFunction, UnlinkedFunction
from opwright.release.inputs import open_inputs
from opwright.release.tree import rules_of
from opwright.run.generation import Generation
from opwright.run.loading import load_deferred_dialects, load_job
from opwright.run.request import Request
from opwright.source.diagnostic import Diagnostics
from opwright.source.items import split_items
from opwright.source.records import left_out
from opwright.source.span import Span
from opwright.source.text import SourceFile
from opwright.workspace.provenance import all_functions_of_unit
from tests.edits.fields import FieldRuns
from tests.edits.harness import LOCAL
from tests.edits.warm_runs import inside


class Fragments:
    """The units of the emitters of a job, by their fingerprints, and the fragments of these."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._emitters: dict[str, AnyEmitter] = dict(named_emitters(emitters(job, LOCAL)))
        self._fingerprints = UnitFingerprints()

    def units(self, name: str) -> dict[bytes, object]:
        """The units of an emitter by their fingerprints; none if a job has no such emitter."""
        if name not in self._emitters:
            return {}
        units = self._emitters[name].units(self._job)
        return dict(zip(self._fingerprints.of_all(units), units, strict=True))

    def context(self, name: str) -> bytes:
        """The fingerprint of what the fragments of an emitter read besides their units."""
        return self._fingerprints.of_emitter(self._emitters[name], self._job)

    def fragment(self, name: str, unit: object) -> object:
        """The fragment of a unit."""
        emitter = self._emitters[name]
        return emitter.fragment(unit, self._job.context(emitter.reads))

    @property
    def names(self) -> list[str]:
        """The names of the emitters."""
        return list(self._emitters)


@pytest.mark.thorough
def test_fragments_are_those_of_their_fingerprints(tmp_path: Path) -> None:
    """Whichever of PyTorch's operators are loaded, units with equal fingerprints have equal fragments."""
    request = Request(open_inputs(), build_folders(str(tmp_path), LOCAL), LOCAL)
    whole_job = Generation(request).job
    whole = Fragments(whole_job)
    known = {name: whole.units(name) for name in whole.names}
    made = {name: dict[bytes, object]() for name in whole.names}
    names = sorted({function.name.name for function in whole_job.catalog.functions})
    compared = 0
    for seed in range(3):
        part = Fragments(_load_part(request, Random(seed).sample(names, 80)))
        for name in part.names:
            if part.context(name) != whole.context(name):
                continue
            for fingerprint, unit in part.units(name).items():
                if fingerprint not in known[name]:
                    continue
                if fingerprint not in made[name]:
                    made[name][fingerprint] = whole.fragment(name, known[name][fingerprint])
                assert part.fragment(name, unit) == made[name][fingerprint], (name, unit)
                compared += 1
    assert compared > 10_000


def _load_part(request: Request, operators: list[str]) -> Job:
    """A job with the operations of some operators, and those that their files depend on."""
    files = []
    for dialect in (NATIVE_FUNCTIONS, DERIVATIVES, DEPRECATED):
        file = request.inputs.read_text(dialect.inputs[0])
        items = split_items(file.text)
        files.append(ComparedFile(dialect.name, file, file, items, items))
    edit = find_edit(files, operators)
    assert edit is not None
    sink = Diagnostics()
    job = load_job(request, rules_of(request.inputs, request.release, sink), sink, edit[1])
    load_deferred_dialects(job, request, sink, defer=False)
    sink.raise_if_errors()
    return job


def job_of_document(kind: str, folder: Path, reference_inputs: Path) -> tuple[Job, tuple[str, ...]]:
    """The job of a run for a document, and its families."""
    runs = FieldRuns(folder, reference_inputs, kind)
    runs.file.write_text(yaml.safe_dump(runs.document.text, sort_keys=False), encoding="utf-8")
    files = (SourceFile.read(runs.file),)
    families = {"library": ("library",), "backend": ("backend",), "lazy": ("lazy",)}[runs.document.schema]
    inputs = open_inputs(source_path=str(folder / "site/torchgen/packaged/ATen"))
    request = Request(inputs, build_folders(str(folder / "out"), families), families, release="2.13")
    own = {"libraries": files} if families == ("library",) else {"backends": files}
    with inside(folder):
        return Generation(request._replace(**own)).job, families  # type: ignore[arg-type]


DOCUMENTS_WITH_JOBS = ("native", "stable", "backend", "plain_backend", "lazy")


@pytest.mark.parametrize("kind", ["PyTorch", *DOCUMENTS_WITH_JOBS])
def test_fragments_do_not_read_places(
    kind: str, tmp_path: Path, reference_inputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No fingerprint covers where something stands, so no fragment may read it."""
    job, families = jobs(kind, tmp_path, reference_inputs)
    made = [(emitter, emitter.units(job), job.context(emitter.reads)) for emitter in emitters(job, families)]
    reads: list[str] = []
    for cls, name in ((Span, "file"), (Span, "start"), (Span, "end"), (UnlinkedFunction, "entry")):
        assert name in left_out(cls)
        monkeypatch.setattr(cls, name, _recorded(getattr(cls, name), f"{cls.__name__}.{name}", reads))
    for emitter, units, context in made:
        for unit in units:
            emitter.fragment(unit, context)
            assert not reads, (emitter.name, reads)
    assert sum(len(units) for _, units, _ in made) > 0
    assert job.catalog.functions == () or job.catalog.functions[0].entry.start >= 0
    assert not job.catalog.functions or reads == ["UnlinkedFunction.entry", "Span.start"]


def jobs(kind: str, folder: Path, reference_inputs: Path) -> tuple[Job, tuple[str, ...]]:
    """The job of a run for a document, or for some operators of PyTorch, and its families."""
    if kind != "PyTorch":
        return job_of_document(kind, folder, reference_inputs)
    request = Request(open_inputs(), build_folders(str(folder), LOCAL), LOCAL)
    return _load_part(request, ["add", "abs", "t", "zeros", "_foreach_add", "max"]), LOCAL


def _recorded(descriptor: Any, name: str, reads: list[str]) -> property:  # noqa: ANN401
    def read(record: object) -> object:
        reads.append(name)
        return descriptor.__get__(record, type(record))

    return property(read)


class _RecordedTable(dict[NativeFunction, Any]):
    """A table by function that notes which functions are looked up."""

    def __init__(self, table: Mapping[NativeFunction, Any], reads: set[NativeFunction]) -> None:
        super().__init__(table)
        self._reads = reads

    def __getitem__(self, function: NativeFunction) -> Any:  # noqa: ANN401
        self._reads.add(function)
        return super().__getitem__(function)

    def get(self, function: NativeFunction, default: Any = None) -> Any:  # noqa: ANN401
        """The row of a function."""
        self._reads.add(function)
        return super().get(function, default)

    def __contains__(self, function: object) -> bool:
        self._reads.add(cast(NativeFunction, function))
        return super().__contains__(function)

    def __iter__(self) -> Iterator[NativeFunction]:
        raise AssertionError("fragments do not read whole tables")


def test_fragments_look_up_their_own_functions(
    tmp_path: Path, reference_inputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the tables of a backend, the fingerprints of units cover the rows of their own functions alone."""
    compared = 0
    for kind in ("PyTorch", "backend", "plain_backend", "lazy"):
        job, families = jobs(kind, tmp_path / kind, reference_inputs)
        for emitter in emitters(job, families):
            carried = emitter.fragment.args if isinstance(emitter.fragment, partial) else ()
            for backend in [value for value in carried if isinstance(value, Backend)]:
                with monkeypatch.context() as patch:
                    compared += _look_ups(emitter, backend, job, patch)
    assert compared > 50


def _look_ups(emitter: AnyEmitter, backend: Backend, job: Job, patch: pytest.MonkeyPatch) -> int:
    """Make the fragments of an emitter with recorded tables, and give the number of rows that they looked up."""
    units, context = emitter.units(job), job.context(emitter.reads)
    reads: set[NativeFunction] = set()
    assert len(OverloadChoices._fields) == len(left_out(FileBackend))
    for name in left_out(type(backend)):
        table = getattr(backend, name)
        rows = dict.fromkeys(table) if isinstance(table, frozenset) else table
        patch.setattr(backend, name, _RecordedTable(rows, reads))
    count = 0
    for unit in units:
        reads.clear()
        emitter.fragment(unit, context)
        assert reads <= set(all_functions_of_unit(unit)), (emitter.name, unit)
        count += len(reads)
    return count
