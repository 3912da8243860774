"""The units of a library's files: the whole library, or one of the parts into which its sources are divided."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

from opwright.emit.aten.backend import KernelUnit, members
from opwright.emit.emitter import Job, per_job
from opwright.model.library import Library
from opwright.model.native_function import NativeFunction
from opwright.model.operator_library import OperatorLibrary

__all__ = ["LibraryPart", "library_parts", "whole_libraries"]

#: How many operations one source file has, about: files of this size compile in a time in which their share of
#: PyTorch's headers is small.
_OPERATIONS_PER_FILE: Final = 60


class LibraryPart(NamedTuple):
    """Some of the operators of a library, which share a source file.

    `number` is None for the library as a whole. `includes` are the headers that declare the author's kernels; without
    any, generated code declares them. `units` are groups, and functions without a group.
    """

    library: Library
    number: int | None
    includes: tuple[str, ...]
    units: tuple[KernelUnit, ...]

    @property
    def functions(self) -> list[NativeFunction]:
        """The functions of all units."""
        return [function for unit in self.units for function in members(unit)]

    @property
    def path(self) -> str:
        """The folder of the library's files, which include directives name: `acme`."""
        return self.library.headers


def _part(library: OperatorLibrary, number: int | None, units: Sequence[KernelUnit]) -> LibraryPart:
    return LibraryPart(library.library, number, library.includes, tuple(units))


@per_job
def whole_libraries(job: Job) -> Sequence[LibraryPart]:
    """Each library of the run as a whole."""
    return [_part(library, None, library.catalog.groups) for library in job.libraries]


@per_job
def library_parts(job: Job) -> Sequence[LibraryPart]:
    """The parts of all libraries. An operation stays in its part unless the number of parts changes."""
    return [part for library in job.libraries for part in _parts_of(library)]


def _parts_of(library: OperatorLibrary) -> list[LibraryPart]:
    groups = library.catalog.groups
    count = max(1, round(len(groups) / _OPERATIONS_PER_FILE))
    parts: list[list[KernelUnit]] = [[] for _ in range(count)]
    for unit in groups:
        parts[_stable_number(unit.root_name) % count].append(unit)
    return [_part(library, number, units) for number, units in enumerate(parts)]


def _stable_number(name: str) -> int:
    """A number that a name has in every process."""
    return int.from_bytes(blake2b(name.encode(), digest_size=4).digest(), "big")
