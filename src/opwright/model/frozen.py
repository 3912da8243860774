"""Model values that cannot be changed once they are built."""

from __future__ import annotations

from opwright.source.copyable import Copyable

TYPE_CHECKING = False

__all__ = ["Frozen"]


class Frozen(Copyable):
    """A base class whose attributes are set once, by the constructor. Lazy assignments are refused.

    >>> class Point(Frozen):
    ...     def __init__(self) -> None:
    ...         self.x = 1
    >>> Point().x = 2
    Traceback (most recent call last):
    AttributeError: `x` of a Point cannot be changed
    """

    __slots__ = ()

    # If type checkers saw these methods, they would allow any assignment.
    if not TYPE_CHECKING:

        def __setattr__(self, name: str, value: object) -> None:
            if hasattr(self, name):
                raise AttributeError(f"`{name}` of a {type(self).__name__} cannot be changed")
            object.__setattr__(self, name, value)

        def __delattr__(self, name: str) -> None:
            raise AttributeError(f"`{name}` of a {type(self).__name__} cannot be deleted")
