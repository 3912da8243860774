"""Facts derived from one native function, worked out once and kept with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from opwright.model.native_function import NativeFunction

Fact = TypeVar("Fact")


def per_function(make: Callable[[NativeFunction], Fact]) -> Callable[[NativeFunction], Fact]:
    """The same function, remembering its answer in `function.derived`, so that it lives as long as the function."""

    def look_up(function: NativeFunction) -> Fact:
        derived = function.derived
        found = derived.get(make)
        if found is None:
            found = derived[make] = make(function)
        return cast(Fact, found)

    look_up.__doc__ = make.__doc__
    look_up.__name__ = make.__name__
    return look_up
