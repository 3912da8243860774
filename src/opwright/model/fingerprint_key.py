"""Units of an emitter that are records of their own."""

from __future__ import annotations

from abc import ABC, abstractmethod


class HasFingerprintKey(ABC):
    """A base for units whose fingerprint is that of a key, because everything else in the unit follows from the key.

    The engine compares fingerprints between runs, so a key is made of functions, groups, texts, numbers and tuples.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def fingerprint_key(self) -> tuple[object, ...]:
        """Everything that decides what the fragments of the unit say."""
