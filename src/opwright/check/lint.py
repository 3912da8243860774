"""What a lint is: a check beyond those of PyTorch's generator, which reports warnings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from opwright.source.named_tuple import NamedTuple

if TYPE_CHECKING:
    from opwright.check.places import EntryNodes
    from opwright.coverage.records import OperatorRecord
    from opwright.model.native_function import NativeFunction
    from opwright.source.diagnostic import Diagnostics
    from opwright.source.text import SourceFile

__all__ = ["BackendLint", "Lint", "OperatorLint", "Operators"]


class Operators(NamedTuple):
    """The operators that a lint checks: those of entries in the files of a run.

    `functions` are those of entries, and `synthesized` the others. With `are_pytorch`, they are PyTorch's own, from
    `native_functions.yaml`; `tags` is then the file of tags, and `tag_names` are the tags in it. `has_meta_kernel` says
    whether PyTorch registers a kernel for Meta in Python. `nodes` gives the nodes of entries.
    """

    functions: tuple[NativeFunction, ...]
    nodes: EntryNodes
    are_pytorch: bool = False
    in_library: bool = False
    synthesized: tuple[NativeFunction, ...] = ()
    tags: SourceFile | None = None
    tag_names: frozenset[str] = frozenset()
    has_meta_kernel: Callable[[NativeFunction], bool] | None = None


class Lint(NamedTuple):
    """A lint: the code that it reports, and where it is part of the default selection.

    Where it is not, PyTorch's own files have findings of it that nobody will change, or it is a matter of taste. One
    that `compares_entries` would report what follows from a missing entry.
    """

    code: str
    for_pytorch: bool = False
    for_others: bool = True
    compares_entries: bool = False


class OperatorLint(NamedTuple):
    """A lint of operators in entries like those of `native_functions.yaml`."""

    lint: Lint
    check: Callable[[Operators, Diagnostics], None]


class BackendLint(NamedTuple):
    """A lint of backends, from the records of their coverage."""

    lint: Lint
    check: Callable[[Iterable[OperatorRecord], Diagnostics], None]
