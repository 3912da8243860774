"""Families of one file, which most plug-ins add, and families of a few files that are one text each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, OneFile, Slots
from opwright.emit.family import Check, Family

_Unit = TypeVar("_Unit")


def file_family(
    name: str,
    help: str,
    *,
    path: str | Callable[[Job], str],
    units: Callable[[Job], Sequence[_Unit]],
    text: Callable[[_Unit, FragmentContext], str],
    head: Callable[[Job], str] | str = "",
    end: str = "",
    checks: Sequence[Callable[[Job, object], None]] = (),
    dialects: Sequence[str] = (),
    serves_backends: bool = False,
    by_default: bool = False,
    belongs_to_sources: bool = False,
) -> Family:
    """A family whose one file has a head, the text of each unit, and an end.

    `path` is relative to the output folder. `checks` get the job and the sink before anything is written. A file that
    `belongs_to_sources` is kept in the user's source tree, and no later run removes it.

    >>> names = file_family(
    ...     "names",
    ...     "the names of all operators",
    ...     path="names.txt",
    ...     units=lambda job: job.catalog.functions,
    ...     text=lambda function, context: f"{function.name}\\n",
    ... )
    >>> names.name, names.folders
    ('names', {'names': '.'})
    """

    def slots_of(unit: _Unit | None, context: FragmentContext) -> Slots:
        return {"text": (end if unit is None else text(unit, context),)}

    def emitters(job: Job) -> list[AnyEmitter]:
        emitter = Emitter[_Unit | None](
            name=f"{name}_file",
            family=name,
            template=None,
            folder=name,
            units=lambda job: [*units(job), *([None] if end else [])],
            fragment=slots_of,
            layout=OneFile(path if isinstance(path, str) else path(job)),
            belong_to_sources=belongs_to_sources,
            file_slots=lambda job: {"text": (head if isinstance(head, str) else head(job),)},
        )
        return [emitter]

    return Family(
        name,
        help,
        emitters=(emitters,),
        folders={name: "."},
        checks=tuple([Check(check) for check in checks]),
        dialects=tuple(dialects),
        serves_backends=serves_backends,
        by_default=by_default,
    )


def text_family(
    name: str,
    help: str,
    files: Mapping[str, Callable[[Job], str]],
    *,
    dialects: Sequence[str] = (),
    serves_backends: bool = False,
) -> Family:
    """A family with a few files, each of which is one text that a function makes of the whole job.

    The paths are relative to the output folder. Runs make the files if they name the family, and each run makes all of
    their text: for files with many operators, an emitter with a unit for each operator is faster.

    >>> count = text_family("count", "how many", {"count.txt": lambda job: f"{len(job.catalog.functions)}\\n"})
    >>> count.name, count.by_default
    ('count', False)
    """

    def emitter(path: str, text: Callable[[Job], str]) -> AnyEmitter:
        return Emitter[str](
            name=f"{name}_{path}",
            family=name,
            template=None,
            folder=name,
            units=lambda job: [text(job)],
            fragment=lambda unit, context: {"text": (unit,)},
            layout=OneFile(path),
        )

    return Family(
        name,
        help,
        emitters=(lambda job: [emitter(path, text) for path, text in files.items()],),
        folders={name: "."},
        dialects=tuple(dialects),
        serves_backends=serves_backends,
        by_default=False,
    )
