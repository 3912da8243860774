"""Selectors of plug-ins: statements that choose one of several kernels of an operator when the operator runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from opwright.emit.wrapper_hooks import WrapperFacts
from opwright.source.copyable import Copyable
from opwright.source.named_tuple import NamedTuple

__all__ = ["KernelCandidate", "KernelSelector"]


class KernelCandidate(NamedTuple):
    """A kernel that a selector may choose: the name of its family, and the C++ function."""

    family: str
    function: str


class KernelSelector(Copyable):
    """Chooses among the kernels of entries whose `family` is a list.

    The function gives C++ statements that return the result of the wrapper. In them, the name of a family in braces,
    such as `{fast}`, stands for the call of its kernel. It gives None for a wrapper that another selector serves.

    >>> text = "if (acme::is_fast()) return {fast}; return {exact};"
    >>> KernelSelector("by_mode", lambda wrapper, candidates: text)
    <kernel selector by_mode>
    """

    __slots__ = ("includes", "name", "select")

    def __init__(
        self,
        name: str,
        select: Callable[[WrapperFacts, tuple[KernelCandidate, ...]], str | None],
        *,
        includes: Iterable[str] = (),
    ) -> None:
        self.name: Final = name
        self.select: Final = select
        self.includes: Final = tuple(includes)

    def __repr__(self) -> str:
        return f"<kernel selector {self.name}>"
