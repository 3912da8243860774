"""The guests of the compiler: the packages whose kinds of files every program knows, besides PyTorch's own.

The compiler asks here for the rows that they add to its tables, and knows none of them by name. A row names modules,
which are imported when a run needs them. A copy of the compiler may lack some guests, and has no rows of these.
"""

from __future__ import annotations

from importlib import import_module

# Programs read the tables before they know whether there is anything to do: no import for types.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Final

    from opwright.dialects.dialect import Dialect
    from opwright.dialects.field import Field
    from opwright.emit.family import Family

#: The package of each guest, in the order in which the tables have their rows.
GUESTS: Final = ("opwright.libraries", "opwright.backends", "opwright.mobile")


def guest_rows(module: str = "rows") -> list[ModuleType]:
    """Modules with the rows of the guests that are there: all rows, or the families alone.

    Families are read before it is known whether there is anything to do, the other rows import more.
    """
    modules = []
    for guest in GUESTS:
        try:
            modules.append(import_module(f"{guest}.{module}"))
        except ModuleNotFoundError as error:
            if error.name != guest:
                raise
    return modules


def guest_dialects() -> tuple[Dialect[Any], ...]:
    """Kinds of files that guests read.

    >>> [dialect.name for dialect in guest_dialects()]
    ['library', 'backend', 'lazy', 'upgraders', 'executorch']
    """
    return tuple([dialect for rows in guest_rows() for dialect in rows.DIALECTS])


def guest_families() -> tuple[Family, ...]:
    """Families of files that guests make.

    >>> [family.name for family in guest_families()]
    ['library', 'backend', 'lazy', 'static_runtime', 'executorch_headers', 'executorch_sources']
    """
    return tuple([family for rows in guest_rows("families") for family in rows.FAMILIES])


def guest_fields(place: str) -> tuple[Field, ...]:
    """Fields that guests read at a place of input files where plug-ins can declare fields of their own.

    >>> "device_guard" in [field.name for field in guest_fields("backend head")]
    True
    """
    names = [rows.FIELDS[place] for rows in guest_rows() if place in rows.FIELDS]
    homes = [name.partition(":") for name in names]
    return tuple([field for module, _, name in homes for field in getattr(import_module(module), name)])


def guest_template_packages() -> dict[str, str]:
    """The folders of names of the guests' own templates, each with the package below `opwright` that has them.

    >>> guest_template_packages()["library"]
    'libraries/emit'
    """
    return {folder: package for rows in guest_rows() for folder, package in rows.TEMPLATE_PACKAGES.items()}


def guest_made_templates() -> dict[str, tuple[str, str]]:
    """Templates of guests that are made from PyTorch's: that one, and the module whose `template_slots` fill it."""
    return {name: template for rows in guest_rows() for name, template in rows.MADE_TEMPLATES.items()}
