"""The fields of records, which fingerprints cover, and those that their classes leave out."""

from __future__ import annotations

from functools import cache, cached_property

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeVar

    _Class = TypeVar("_Class", bound="type[object]")


def not_fingerprinted(**reasons: str) -> Callable[[_Class], _Class]:
    """Declare that no fingerprint covers some fields of a class, each with the reason why no output needs it.

    >>> @not_fingerprinted(line="no text depends on it")
    ... class Note:
    ...     __slots__ = ("line", "text")
    >>> record_fields(Note), left_out(Note)
    (('text',), {'line': 'no text depends on it'})
    """

    def declare(cls: _Class) -> _Class:
        own = {*vars(cls).get("_fields", ()), *_slots(vars(cls))}
        # The attributes of an object with a `__dict__` are not known here.
        unknown = reasons.keys() - own if own else ()
        if unknown:
            raise TypeError(f"{cls.__name__} has no field {', '.join(sorted(unknown))}")
        _REASONS[cls] = {**_REASONS.get(cls, {}), **reasons}
        return cls

    return declare


_REASONS: dict[type[object], dict[str, str]] = {}


def left_out(cls: type[object]) -> Mapping[str, str]:
    """The fields of a class and of its bases that no fingerprint covers, with the reasons."""
    return {name: reason for base in cls.__mro__ for name, reason in _REASONS.get(base, {}).items()}


@cache
def record_fields(cls: type[object]) -> tuple[str, ...]:
    """The fields of a named tuple or of a class with slots that fingerprints cover.

    Objects with a `__dict__` have the rest of their fields there (see `attributes`).
    """
    names = getattr(cls, "_fields", None) or [name for base in reversed(cls.__mro__) for name in _slots(vars(base))]
    omitted = left_out(cls)
    return tuple([name for name in names if name not in omitted])


def _slots(members: Mapping[str, object]) -> list[str]:
    slots = members.get("__slots__", ())
    names = [slots] if isinstance(slots, str) else list(slots)  # type: ignore[call-overload]
    return [name for name in names if name not in ("__dict__", "__weakref__")]


def attributes(value: object) -> dict[str, object]:
    """What the `__dict__` of an object has that fingerprints cover; cached properties follow from the rest.

    >>> class Circle:
    ...     def __init__(self, radius: int) -> None:
    ...         self.radius = radius
    ...     @cached_property
    ...     def area(self) -> int:
    ...         return 3 * self.radius**2
    >>> circle = Circle(2)
    >>> circle.area, attributes(circle)
    (12, {'radius': 2})
    """
    cls = type(value)
    omitted = left_out(cls)
    return {
        name: attribute
        for name, attribute in sorted(vars(value).items())
        if name not in omitted and not isinstance(getattr(cls, name, None), cached_property)
    }
