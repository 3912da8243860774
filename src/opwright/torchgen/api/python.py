"""Python signatures of functions: the names of `torchgen.api.python`."""

from __future__ import annotations

from collections.abc import Iterable

from opwright.convention.python.call import NoFieldName, names_of
from opwright.convention.python.hints import declaration
from opwright.torchgen.interface.functions import NativeFunction
from opwright.torchgen.interface.schema import Return, model_return


def format_function_signature(name: str, arguments: Iterable[str] = (), return_type: str | None = None) -> str:
    """A function of a stub; each parameter has a line of its own if all together are too long for one.

    >>> format_function_signature("f", ["x: int"], "str")
    'def f(x: int) -> str: ...'
    """
    return declaration(name, list(arguments), return_type or "")


def has_tensor_options(f: NativeFunction) -> bool:
    """Whether a function has the four tensor options."""
    return f.func.arguments.tensor_options is not None


def structseq_fieldnames(returns: tuple[Return, ...]) -> list[str]:
    """The fields of a structure with the returns; empty if they have no names. Raises ValueError if only some have."""
    try:
        return list(names_of(tuple(map(model_return, returns))))
    except NoFieldName as error:
        raise ValueError(f"the return {error} has no name, and others have one") from None
