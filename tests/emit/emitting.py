"""Runs emitters in tests: from the text of entries to the slots of a file."""

from __future__ import annotations

from opwright.build.outputs import outputs_of
from opwright.build.unit_template import UnitTemplate
from opwright.emit.emitter import AnyEmitter, EmitterSource, Job, Options, Slots
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


def job_of(entries: str, options: Options | None = None, selection: Selection = EVERYTHING, *, tags: str = TAGS) -> Job:
    """The job of a text of entries, which has no faults."""
    catalog, sink = load_text(entries, tags)
    sink.raise_if_errors()
    return Job(catalog, RULES, options or Options(), selection, registration_text=REGISTRATIONS)


def slots_of(source: EmitterSource, path: str, job: Job) -> Slots:
    """The slots of the output at `path`, from whichever emitter of a module makes it."""
    for emitter in source(job):
        for output in outputs_of(emitter, job):
            if output.path == path:
                return output.slots() if callable(output.slots) else output.slots
    raise AssertionError(f"no emitter makes {path}")


def paths_of(emitters: list[AnyEmitter], job: Job) -> list[str]:
    """The paths of all outputs, below the names of their folders."""
    return [f"{output.folder}/{output.path}" for emitter in emitters for output in outputs_of(emitter, job)]
