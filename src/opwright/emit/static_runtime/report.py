"""Why operators have generated code in static runtime, or have none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from opwright.emit.static_runtime.support import obstacle, obstacle_of_view
from opwright.emit.static_runtime.values import function_name
from opwright.model.catalog import Catalog
from opwright.model.native_function import NativeFunction
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, did_you_mean

__all__ = ["explanation", "explanations"]


def explanations(catalog: Catalog, names: Sequence[str], sink: Diagnostics) -> Iterator[str]:
    """A line for each overload with one of some names, with or without overload; patterns such as `conv*` name several.

    Names that no operator has are reported.
    """
    for name in names:
        wanted = name.removeprefix("aten::")
        chosen = [function for function in catalog.functions if _has_name(function, wanted)]
        if not chosen:
            operators = [function.name.text for function in catalog.functions]
            sink.error(codes.NO_OPERATOR, f"there is no operator `{name}`", help=did_you_mean(wanted, operators))
        for function in chosen:
            yield f"{function.namespace}::{function.name}: {explanation(function)}"


def _has_name(function: NativeFunction, wanted: str) -> bool:
    return any(fnmatchcase(name, wanted) for name in (function.name.text, function.name.name))


def explanation(function: NativeFunction) -> str:
    """Whether an overload has generated code, and why not.

    >>> import opwright
    >>> catalog = opwright.load()
    >>> explanation(catalog["sinh"])
    'has code, which calls `at::cpu::sinh`'
    >>> explanation(catalog["conv1d"])
    'has no code: it has no out overload, and is no view of one tensor'
    """
    group, views = function.group, function.view_group
    if views is not None and function is views.view:
        reason = obstacle_of_view(views)
        structured = False
    elif group is not None:
        if function is not group.functional:
            return f"only its functional overload `{group.functional.name}` can have code"
        reason = obstacle(group)
        structured = group.structured
    else:
        return "has no code: it has no out overload, and is no view of one tensor"
    if reason is not None:
        return f"has no code: {reason.text}"
    return f"has code, which calls `{function_name(function, structured=structured)}`"
