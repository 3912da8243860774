"""Catalogs as texts, to compare what two files load into."""

from __future__ import annotations

from opwright.dialects.native_functions.loader import load_catalog
from opwright.model.catalog import Catalog
from opwright.model.derivatives import Derivatives
from opwright.model.dispatch_key import DispatchKey
from opwright.model.native_function import UnlinkedFunction
from opwright.source.diagnostic import Diagnostics
from opwright.source.records import Frozen
from opwright.source.span import Span
from opwright.source.text import SourceFile

#: What depends on where an entry stands, or is made on demand.
_LEFT_OUT = {"entry", "cache", "_text"}


def described(value: object, depth: int = 0) -> object:
    """A value of the model as plain data, with all attributes but those that depend on places."""
    if isinstance(value, (str, int, float, bool, type(None), DispatchKey)) or depth > 6:
        return repr(value)
    if isinstance(value, Span):
        return "a span"
    if isinstance(value, dict):
        return [(described(key, depth + 1), described(item, depth + 1)) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [described(item, depth + 1) for item in value]
    if isinstance(value, frozenset):
        return sorted(map(str, value))
    if isinstance(value, UnlinkedFunction) and depth:
        return str(value)
    names = sorted({name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())} - _LEFT_OUT)
    if not names or (not isinstance(value, Frozen) and depth > 3):
        return str(value)
    return [(name, described(getattr(value, name), depth + 1)) for name in names]


def functions_of(catalog: Catalog) -> list[object]:
    """All functions of a catalog as data, with their groups."""
    return [described(function) for function in catalog.functions]


def derivatives_of(derivatives: Derivatives) -> list[object]:
    """All formulas as data."""
    return [
        (str(function), [(key, described(info, 1)) for key, info in by_key.items()])
        for function, by_key in derivatives.infos.items()
    ]


def catalog_of(text: str, tags: str) -> tuple[Catalog, list[str]]:
    """The catalog of a text like `native_functions.yaml`, and the codes of its faults."""
    sink = Diagnostics()
    catalog = load_catalog(SourceFile("ops.yaml", text), SourceFile("tags.yaml", tags), sink)
    return catalog, [fault.code for fault in sink]
