"""What emitters read: facts that are computed when they are first read."""

from __future__ import annotations

import pytest

from opwright.emit.emitter import Lazy
from opwright.source.diagnostic import FaultsFound


def test_a_lazy_value_is_computed_once() -> None:
    """The first reader computes it; later ones get the same value, also if that is empty."""
    calls: list[int] = []

    def compute() -> list[int]:
        calls.append(1)
        return []

    lazy = Lazy(compute)
    assert calls == []
    assert lazy.get() is lazy.get()
    assert calls == [1]


def test_a_lazy_value_with_faults_raises_them_each_time() -> None:
    """Faults of the inputs are found once, and every reader gets them."""
    calls: list[int] = []

    def compute() -> int:
        calls.append(1)
        raise FaultsFound([])

    lazy = Lazy(compute)
    for _ in range(2):
        with pytest.raises(FaultsFound):
            lazy.get()
    assert calls == [1]
