"""Alias annotations: which values share memory, and which are written."""

from __future__ import annotations

from typing import Final


class Annotation:
    """The `(a!)` of `Tensor(a!)`: alias sets before and after the call, and whether the call writes.

    `before` and `after` are tuples of alias names, of which `*` is the wildcard. Interned: equal annotations are the
    same object.

    >>> annotation(("a",), True, ()).text
    'a!'
    >>> annotation(("a",), False, ("*",)).text
    'a -> *'
    """

    __slots__ = ("after", "before", "is_write", "text")

    def __init__(self, before: tuple[str, ...], is_write: bool, after: tuple[str, ...]) -> None:
        self.before: Final = before
        self.is_write: Final = is_write
        self.after: Final = after
        self.text: Final = "|".join(before) + ("!" if is_write else "") + (" -> " + "|".join(after) if after else "")

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<annotation ({self.text})>"


_INTERNED: Final[dict[tuple[tuple[str, ...], bool, tuple[str, ...]], Annotation]] = {}


def annotation(before: tuple[str, ...], is_write: bool, after: tuple[str, ...] = ()) -> Annotation:
    """The annotation with these alias sets."""
    key = (before, is_write, after)
    annotation = _INTERNED.get(key)
    if annotation is None:
        annotation = _INTERNED.setdefault(key, Annotation(before, is_write, after))
    return annotation
