"""The C shims of a release as data, and whether code that was compiled against them still works.

Code that AOTInductor compiles calls shims by their names, and its C compiler has checked nothing but the declaration of
its own release. So a shim keeps its name and its parameters forever.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from opwright.convention.c_shim import NoCForm, ShimFunction, operator_key, shim_function
from opwright.dialects.dialect import LoadContext
from opwright.dialects.table import SHIM_TABLES
from opwright.model.catalog import Catalog
from opwright.model.native_function import NativeFunction
from opwright.release.tables import ShimOperator, ShimTables, shim_tables

#: The row of an operator whose shim has no further versions.
_NO_ROW: Final = ShimOperator(None, ())


class OperatorShims(NamedTuple):
    """Shims of an operator: the C function of each version, by `v1`, `v2` and so on, without its name.

    `refusal` says which argument or return has a type without a form in C, if one has.
    """

    versions: Mapping[str, ShimFunction]
    refusal: str = ""


def release_shim_tables(context: LoadContext) -> ShimTables:
    """Tables of operators with a C shim: those of the inputs, else those that Opwright has for the release."""
    tables = SHIM_TABLES.load_inputs(context) if SHIM_TABLES.inputs[0] in context.inputs.names() else None
    return tables or shim_tables(context.rules.version, context.rules.shims_are_guarded)


def shims_by_operator(catalog: Catalog, tables: ShimTables) -> dict[str, OperatorShims]:
    """Shims of the operators in the tables of a release, by the qualified names of the operators."""
    by_key = {operator_key(function): function for function in catalog.functions}
    shims: dict[str, OperatorShims] = {}
    for table in (tables.device, tables.aten):
        for key, row in table.items():
            if key in by_key:
                function = by_key[key]
                shims[f"{function.namespace}::{function.name}"] = operator_shims(function, row)
    return shims


def operator_shims(function: NativeFunction, row: ShimOperator) -> OperatorShims:
    """Shims of one operator, by its row in a table."""
    newest_first = sorted(row.versions, key=lambda version: int(version.name[1:]), reverse=True)
    versions: dict[str, ShimFunction] = {}
    missing: set[str] = set()
    try:
        for version in newest_first:
            versions[version.name] = shim_function("", "", function.schema, missing, version.guard)
            missing.update(version.new_arguments)
        versions["v1"] = shim_function("", "", function.schema, missing, row.guard)
    except NoCForm as refusal:
        return OperatorShims({}, f"{refusal.what} of type `{refusal.type}` has no form in C")
    return OperatorShims(dict(sorted(versions.items())))


def unversioned_shims(function: NativeFunction) -> OperatorShims:
    """Shims of an operator with one version, as those of libraries have."""
    return operator_shims(function, _NO_ROW)


def shim_refusal(function: NativeFunction) -> str:
    """Which argument or return has a type that keeps an operator from having a shim; empty if none does."""
    return unversioned_shims(function).refusal


def shim_faults(new: OperatorShims | None, old: OperatorShims | None) -> Iterator[str]:
    """Why code that was compiled against the old shims fails with the new ones."""
    if old is None:
        return
    for version, function in old.versions.items():
        shown = "the C shim" if version == "v1" else f"version {version[1:]} of the C shim"
        if new is None or version not in new.versions:
            yield f"{shown} is gone"
        elif _types(new.versions[version].head) != _types(function.head):
            yield f"{shown} has other parameters"


def _types(head: str) -> list[str]:
    """Types of the parameters of a C function; their names do not matter to compiled code."""
    listed = head[head.index("(") + 1 : -1]
    return [parameter.rpartition(" ")[0] for parameter in listed.split(", ")] if listed else []
