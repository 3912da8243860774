"""Facts that are worked out once: those of one native function, kept with it, and the parameters for arguments."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar, cast

from opwright.cpp.binding import Binding
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Argument

FunctionFact = TypeVar("FunctionFact")


def per_function(make: Callable[[NativeFunction], FunctionFact]) -> Callable[[NativeFunction], FunctionFact]:
    """The same function, remembering its answer in `function.derived`, so that it lives as long as the function."""

    @wraps(make)
    def look_up(function: NativeFunction) -> FunctionFact:
        derived = function.derived
        fact = derived.get(make)
        if fact is None:
            fact = derived[make] = make(function)
        return cast(FunctionFact, fact)

    return look_up


class Bindings(dict[Argument, Binding]):
    """The parameters for arguments under one convention and its choices, each made when it is first asked for.

    A look-up costs no more than that of a dictionary, which counts: arguments are few, their occurrences are many.
    """

    def __init__(self, make: Callable[[Argument], Binding]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, argument: Argument) -> Binding:
        binding = self[argument] = self._make(argument)
        return binding
