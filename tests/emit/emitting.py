"""Runs emitters in tests: from the text of entries to the slots of a file."""

from __future__ import annotations

from opwright.emit.emitter import AnyEmitter, EmitterSource, FilePerUnit, Job, Options, Slots
from opwright.files.plan import FileSpec, file_specs
from opwright.files.template import UnitTemplate
from opwright.model.selection import EVERYTHING, Selection
from opwright.release.rules import Rules
from opwright.release.version import parse_version
from opwright.source.text import SourceFile
from tests.dialects.loading import TAGS, load_text

RULES = Rules(parse_version("2.13.0"))

REGISTRATIONS = UnitTemplate(
    SourceFile(
        "RegisterDispatchDefinitions.ini",
        """\
${ns_prologue}
namespace {
${dispatch_anonymous_definitions}
${static_init_dispatch_registrations}
} // anonymous namespace
${deferred_dispatch_registrations}
namespace ${dispatch_namespace} {
${dispatch_namespaced_definitions}
} // namespace ${dispatch_namespace}
${ns_epilogue}
""",
    )
)
"""What a unit has in a file of registrations."""


def job_of(
    entries: str,
    options: Options | None = None,
    selection: Selection = EVERYTHING,
    *,
    tags: str = TAGS,
    rules: Rules = RULES,
) -> Job:
    """The job of a text of entries, which has no faults."""
    catalog, sink = load_text(entries, tags)
    sink.raise_if_errors()
    return Job(catalog, rules, options or Options(), selection, registration_text=REGISTRATIONS)


def slots_of(source: EmitterSource, path: str, job: Job) -> Slots:
    """The slots of the output at `path`, from whichever emitter of a module makes it."""
    for emitter in source(job):
        for spec in file_specs(emitter, emitter.units(job)):
            if spec.path == path:
                return file_slots_of(emitter, spec, job)
    raise AssertionError(f"no emitter makes {path}")


def file_slots_of(emitter: AnyEmitter, spec: FileSpec, job: Job) -> Slots:
    """The slots of a file. The texts of several units are listed after those of the file itself."""
    units, context = emitter.units(job), job.context(emitter.reads)
    if isinstance(emitter.layout, FilePerUnit):
        return {**emitter.file_slots(job), **emitter.fragment(units[spec.units[0]], context)}
    slots: dict[str, str | list[str]] = {
        name: value if isinstance(value, str) else list(value) for name, value in emitter.file_slots(job).items()
    }
    for number in spec.units:
        for name, value in emitter.fragment(units[number], context).items():
            texts = slots.get(name, [])
            texts = ([texts] if texts else []) if isinstance(texts, str) else texts
            slots[name] = [*texts, *([value] if isinstance(value, str) else value)]
    return slots


def paths_of(emitters: list[AnyEmitter], job: Job) -> list[str]:
    """The paths of all outputs, below the names of their folders."""
    return [f"{spec.folder}/{spec.path}" for emitter in emitters for spec in file_specs(emitter, emitter.units(job))]
