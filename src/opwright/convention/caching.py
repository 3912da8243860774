"""Caches: facts of a native function, which live as long as the function, and the parameters for arguments."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeAlias, TypeVar

from opwright.cpp.binding import Binding
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Argument

FunctionFact = TypeVar("FunctionFact")
ArgumentFact = TypeVar("ArgumentFact")


def per_function(make: Callable[[NativeFunction], FunctionFact]) -> Callable[[NativeFunction], FunctionFact]:
    """A decorator that caches a fact of a native function in `function.cache`, which lives as long as the function.

    `functools.cache` would keep every catalog that was ever loaded.
    """

    @wraps(make)
    def look_up(function: NativeFunction) -> FunctionFact:
        cache = function.cache
        # A function keeps facts of all types, each under what makes it. This runs often, so nothing is cast.
        fact: FunctionFact | None = cache.get(make)  # type: ignore[assignment]
        if fact is None:
            fact = cache[make] = make(function)
        return fact

    return look_up


class PerArgument(dict[Argument, ArgumentFact]):
    """Facts of arguments, such as their parameters under one convention, each made when it is first asked for.

    A look-up costs as much as in a dictionary, less than a call of a cached function: PyTorch's operators have 12,000
    arguments, but only 1,100 different ones.
    """

    def __init__(self, make: Callable[[Argument], ArgumentFact]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, argument: Argument) -> ArgumentFact:
        fact = self[argument] = self._make(argument)
        return fact


Bindings: TypeAlias = PerArgument[Binding]
