"""Fragments depend on what their fingerprints cover, and on nothing else of the job that they are made in."""

from __future__ import annotations

from pathlib import Path
from random import Random

from opwright.dialects.table import DEPRECATED, DERIVATIVES, NATIVE_FUNCTIONS
from opwright.emit.emitter import AnyEmitter, Job
from opwright.emit.registry import build_folders, emitters
from opwright.incremental.changes import ComparedFile, find_edit
from opwright.incremental.emitter_files import named_emitters
from opwright.incremental.fingerprints import UnitFingerprints
from opwright.release.inputs import open_inputs
from opwright.release.tree import rules_of
from opwright.run.generation import Generation
from opwright.run.loading import load_job, load_late_dialects
from opwright.run.request import Request
from opwright.source.diagnostic import Diagnostics
from opwright.source.items import split_items
from tests.edits.harness import LOCAL


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
    job = load_job(request, rules_of(request.inputs, request.release, sink), sink, edit.now)
    load_late_dialects(job, request, sink, later=False)
    sink.raise_if_errors()
    return job
