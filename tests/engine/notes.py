"""The emitters of a family that only tests have: a note for each operator, and one of all overloads."""

from __future__ import annotations

from collections.abc import Sequence

from opwright.emit.emitter import AnyEmitter, Emitter, FilePerUnit, FragmentContext, Job, OneFile, Slots
from opwright.model.native_function import NativeFunction

FAMILY = "notes"

#: The operators whose fragments were made, in order.
rendered: list[str] = []


def _note(function: NativeFunction, context: FragmentContext) -> Slots:
    rendered.append(function.name.text)
    return {"text": (f"// {function.schema}\n",)}


def _functions(job: Job) -> Sequence[NativeFunction]:
    return [function for function in job.catalog.functions if not function.is_synthesized]


def emitters(job: Job) -> list[AnyEmitter]:
    """The emitter of the notes."""
    return [
        Emitter(
            name="notes",
            family=FAMILY,
            template=None,
            folder=FAMILY,
            units=_functions,
            fragment=_note,
            layout=FilePerUnit(lambda function: f"{function.name.text}.txt"),
        ),
        Emitter(
            name="all_notes",
            family=FAMILY,
            template=None,
            folder=FAMILY,
            layout=OneFile("all.txt"),
            file_slots=lambda job: {"text": [f"{function.name.text}\n" for function in _functions(job)]},
        ),
    ]


def check_names(job: Job, sink: object) -> None:
    """A check of the family, which notes that it was made."""
    del job, sink
    rendered.append("checked")
