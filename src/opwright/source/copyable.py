"""Objects that are copied as a whole, with other values for some of their fields, and those that never change."""

from __future__ import annotations

from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable

    from typing_extensions import Self


class Copyable:
    """A base class of objects that keep what their constructor takes, each argument as the attribute of its name.

    An argument that a property gives out has the name of the property with an underscore before it.

    >>> class Point(Copyable):
    ...     def __init__(self, x: int, y: int = 0) -> None:
    ...         self.x, self.y = x, y
    >>> Point(1, y=2).replace(x=5).y
    2
    """

    __slots__ = ()

    def replace(self, **changes: object) -> Self:
        """The same object with other values for some fields, made by its constructor."""
        fields = _fields(type(self))  # type: ignore[arg-type]
        same = {name: getattr(self, field) for name, field in fields if name not in changes}
        return type(self)(**same, **changes)


@cache
def _fields(cls: Hashable) -> list[tuple[str, str]]:
    """What the constructor of a class takes, and the attributes that keep it."""
    code = getattr(cls, "__init__").__code__  # noqa: B009
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    return [(name, f"_{name}" if hasattr(cls, f"_{name}") else name) for name in names]


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
