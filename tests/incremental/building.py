"""Emitters of plain texts in tests, and the calls that give their files to an engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from opwright.emit.emitter import AnyEmitter, Emitter, FilePerUnit, Slots
from opwright.files.template import Templates
from opwright.incremental.emitter_files import JobFiles
from opwright.incremental.previous_build import PreviousBuild
from opwright.run.output_writer import Task
from opwright.source.text import SourceFile
from tests.emit.emitting import job_of

Files: TypeAlias = Mapping[str, Slots]
"""The slots of files, by path."""

TEMPLATES = {
    "Function.h": "// ${generated_comment}\nnamespace at {\n  ${body}\n}\n",
    "Plain.h": "nothing to fill\n",
    "Sharded.cpp": "// ${shard_id}\n${body}\n",
    "Alike.cpp": "${body}\n",
}


def load_template(name: str) -> SourceFile:
    """A template from the table, or the fault that a missing file is."""
    if name in TEMPLATES:
        return SourceFile(f"templates/{name}", TEMPLATES[name])
    return SourceFile.read(f"/nowhere/{name}")


def emitter_of(name: str, files: Files, *, template: str | None = "Function.h", folder: str = "ops") -> AnyEmitter:
    """An emitter of a file for each path."""
    return Emitter(
        name=name,
        family="tests",
        template=template,
        folder=folder,
        units=lambda job: list(files),
        fragment=lambda path, context: files[path],
        layout=FilePerUnit(lambda path: path),
    )


def operators(*names: str) -> AnyEmitter:
    """An emitter of one header for each name."""
    return emitter_of("operators", {f"{name}.h": {"body": [f"int {name}();"]} for name in names})


def build_of(previous: PreviousBuild | None = None) -> JobFiles:
    """A build of a job without operators."""
    return JobFiles(job_of("[]"), Templates(load_template), previous)


def tasks_of(*emitters: AnyEmitter, build: JobFiles | None = None) -> Iterable[Task]:
    """What gives the files of emitters."""
    return list((build or build_of()).tasks(emitters))
