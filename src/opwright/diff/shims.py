"""The C shims of a release as data, and whether code that was compiled against them still works.

Code that AOTInductor compiles calls shims by their names, and its C compiler has checked nothing but the declaration of
its own release. So a shim keeps its name and its parameters forever.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from opwright.convention.c_shim import NoCForm
from opwright.emit.aten.c_shim import shim_function
from opwright.model.catalog import Catalog
from opwright.model.native_function import NativeFunction
from opwright.release.tables import ShimOperator, ShimTables

__all__ = ["OperatorShims", "shim_faults", "shims_by_operator"]


class OperatorShims(NamedTuple):
    """The shims of an operator: the C types of the parameters of each version, by `v1`, `v2` and so on.

    `refusal` says which argument or return has a type without a form in C, if one has.
    """

    versions: Mapping[str, str]
    refusal: str = ""


def shims_by_operator(catalog: Catalog, tables: ShimTables) -> dict[str, OperatorShims]:
    """The shims of the operators in the tables of a release, by the qualified names of the operators."""
    by_key = {_table_key(function): function for function in catalog.functions}
    shims: dict[str, OperatorShims] = {}
    for table in (tables.device, tables.aten):
        for key, row in table.items():
            if key in by_key:
                function = by_key[key]
                shims[f"{function.namespace}::{function.name}"] = operator_shims(function, row)
    return shims


def _table_key(function: NativeFunction) -> str:
    return f"{function.namespace}.{function.name.name}.{function.name.overload or 'default'}"


def operator_shims(function: NativeFunction, row: ShimOperator) -> OperatorShims:
    """The shims of one operator, by its row in a table."""
    newest_first = sorted(row.versions, key=lambda version: int(version.name[1:]), reverse=True)
    versions: dict[str, str] = {}
    missing: set[str] = set()
    try:
        for version in newest_first:
            versions[version.name] = shim_function("", "", function.schema, missing).head
            missing.update(version.new_arguments)
        versions["v1"] = shim_function("", "", function.schema, missing).head
    except NoCForm as refusal:
        return OperatorShims({}, f"{refusal.what} of type `{refusal.type}` has no form in C")
    return OperatorShims(dict(sorted(versions.items())))


def shim_faults(new: OperatorShims | None, old: OperatorShims | None) -> Iterator[str]:
    """Why code that was compiled against the old shims fails with the new ones."""
    if old is None:
        return
    for version, head in old.versions.items():
        shown = "the C shim" if version == "v1" else f"version {version[1:]} of the C shim"
        if new is None or version not in new.versions:
            yield f"{shown} is gone"
        elif _types(new.versions[version]) != _types(head):
            yield f"{shown} has other parameters"


def _types(head: str) -> list[str]:
    """The types of the parameters of a C function; their names do not matter to compiled code."""
    listed = head[head.index("(") + 1 : -1]
    return [parameter.rpartition(" ")[0] for parameter in listed.split(", ")] if listed else []
