"""Units that say what they are made of."""

from __future__ import annotations

from abc import ABC, abstractmethod


class Said(ABC):
    """A base for units of which a part tells all that their fragments may show; the rest follows from it.

    What a unit says is compared between runs, so it is made of functions, texts and the like.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def said(self) -> tuple[object, ...]:
        """The telling part."""
