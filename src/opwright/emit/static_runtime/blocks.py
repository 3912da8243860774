"""The units of static runtime's files: operators that follow each other and share a name have one block of code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final, TypeAlias, TypeVar

from opwright.emit.emitter import Job, per_job
from opwright.emit.static_runtime.support import obstacle, obstacle_of_view
from opwright.model.native_function import NativeFunctionsGroup, ViewGroup

__all__ = ["Block", "blocks", "file_units", "view_blocks"]

Group = TypeVar("Group", NativeFunctionsGroup, ViewGroup)

Block: TypeAlias = "tuple[NativeFunctionsGroup, ...] | tuple[ViewGroup, ...]"
"""Groups that follow each other and share a name, all with an out overload or all views."""

#: What stands between the operators with out overloads and the views.
_BETWEEN: Final = "\n\n"

_root_name: Final = attrgetter("root_name")


def _blocks(groups: Iterable[Group]) -> list[tuple[Group, ...]]:
    return [tuple(block) for _, block in groupby(groups, key=_root_name)]


@per_job
def blocks(job: Job) -> Sequence[tuple[NativeFunctionsGroup, ...]]:
    """The blocks of operators with an out overload, in the order of the catalog."""
    groups = [group for group in job.catalog.groups if isinstance(group, NativeFunctionsGroup)]
    return _blocks(group for group in groups if obstacle(group) is None)


@per_job
def view_blocks(job: Job) -> Sequence[tuple[ViewGroup, ...]]:
    """The blocks of views, in the order of the catalog."""
    groups = [group for group in job.catalog.view_groups if isinstance(group, ViewGroup)]
    return _blocks(group for group in groups if obstacle_of_view(group) is None)


def file_units(head: str, tail: str) -> Callable[[Job], Sequence[Block | str]]:
    """The units of a file with all blocks: texts stand for themselves."""
    return lambda job: [head, *blocks(job), _BETWEEN, *view_blocks(job), tail]
