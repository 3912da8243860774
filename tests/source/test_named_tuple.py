"""Named tuples that are quick to make are those of `typing`."""

from __future__ import annotations

import copy
import pickle
import typing

import pytest

from opwright.source.records import NamedTuple


class Quick(NamedTuple):
    """Two numbers."""

    first: int
    second: int = 2

    @property
    def both(self) -> int:
        """Their sum."""
        return self.first + self.second


class Typed(typing.NamedTuple):
    """Two numbers."""

    first: int
    second: int = 2


def test_classes_are_named_tuples() -> None:
    """Fields, defaults, methods and texts are those of the class."""
    assert Quick(1) == Quick(second=2, first=1) == (1, 2)
    assert Quick(1).both == 3
    assert Quick(1)._replace(second=5)._asdict() == {"first": 1, "second": 5}
    assert repr(Quick(1)) == "Quick(first=1, second=2)"
    for attribute in (
        "_fields",
        "_field_defaults",
        "__doc__",
        "__module__",
        "__match_args__",
        "__slots__",
        "__bases__",
    ):
        assert getattr(Quick, attribute) == getattr(Typed, attribute)
    assert list(Quick.__annotations__) == ["first", "second"]
    with pytest.raises(TypeError):
        Quick()  # type: ignore[call-arg]


def test_values_can_be_copied_and_sent() -> None:
    """Values pass from one process to another."""
    assert pickle.loads(pickle.dumps(Quick(1))) == copy.copy(Quick(1)) == Quick(1)
    assert type(pickle.loads(pickle.dumps(Quick(1)))) is Quick
