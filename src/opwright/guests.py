"""The guests of the compiler: the packages whose kinds of files every program knows, besides PyTorch's own.

The compiler asks here for the rows that they add to its tables, and knows none of them by name. A row names modules,
which are imported when a run needs them. A copy of the compiler may lack some guests, and has no rows of these.
"""

from __future__ import annotations

from importlib import import_module

# Programs read the tables before they know whether there is anything to do: no import for types.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any, Final

#: The package of each guest, in the order in which the tables have their rows.
GUESTS: Final = ("opwright.libraries", "opwright.backends", "opwright.mobile")


def guest_rows(module: str = "rows") -> list[ModuleType]:
    """Modules with the rows of the guests that are there: all rows, or the families alone.

    Families are read before it is known whether there is anything to do, the other rows import more.

    >>> [dialect.name for rows in guest_rows() for dialect in rows.DIALECTS]
    ['library', 'backend', 'lazy', 'upgraders', 'executorch']
    """
    modules = [_module_of(guest, module) for guest in GUESTS]
    return [rows for rows in modules if rows is not None]


def job_record(field: str) -> type[Any] | None:
    """The class of the records that have one field of a job; None without a guest that has it.

    >>> job_record("libraries")()
    RunLibraries(libraries=())
    """
    record: type[Any] | None = _named_in("JOB_FIELDS", field)
    return record


def function_fact(name: str) -> Callable[[object], object] | None:
    """What tells something that plug-ins ask of a function; None without a guest that knows it.

    >>> function_fact("requirements").__name__
    'requirements_of'
    """
    fact: Callable[[object], object] | None = _named_in("FUNCTION_FACTS", name)
    return fact


def _named_in(table: str, key: str) -> Any:  # noqa: ANN401
    """What a row of a guest's table names; None if no guest has it."""
    for rows in guest_rows():
        if key in getattr(rows, table):
            module, _, name = getattr(rows, table)[key].partition(":")
            return getattr(import_module(module), name)
    return None


def wheels_module(module: str) -> ModuleType | None:
    """A module of the package that reads the inputs of releases out of wheels; None in a copy without it.

    >>> wheels_module("wheel_store").__name__
    'opwright.wheels.wheel_store'
    """
    return _module_of("opwright.wheels", module)


def plugins_module(module: str) -> ModuleType | None:
    """A module of the room of plug-ins; None in a copy without it.

    >>> plugins_module("run_plugins").__name__
    'opwright.plugins.run_plugins'
    """
    return _module_of("opwright.plugins", module)


def _module_of(package: str, module: str) -> ModuleType | None:
    """A module of a package; None if the package is not there."""
    try:
        return import_module(f"{package}.{module}")
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        return None
