"""The operators of PyTorch that a file names: only their entries are read, because the others take most of the time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from opwright.dialects.dialect import LoadContext
from opwright.dialects.native_functions.scope import LoadScope
from opwright.dialects.table import NATIVE_FUNCTIONS
from opwright.model.catalog import Catalog, PartialCatalog
from opwright.schema.fault import SchemaFault
from opwright.schema.function import FunctionSchema
from opwright.schema.parser import read_schema
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound
from opwright.source.named_tuple import NamedTuple
from opwright.source.text import SourceFile

__all__ = ["NAMESPACE", "NamedOperator", "NamedOperators", "qualified_name"]

#: The namespace of an operator that names none.
NAMESPACE: Final = "aten"

#: The schema of an entry that begins with it, on a line of its own and without quotes.
_SCHEMA: Final = re.compile(r"(?m)^- func: ([\w.]+)(\([^\n\"'#]*)$(?=\n(?:  \w+:|\n|- )|\s*\Z)")


def qualified_name(name: str) -> str:
    """The qualified name of an operator that an entry names.

    >>> qualified_name("add.out"), qualified_name("mine::add.out")
    ('aten::add.out', 'mine::add.out')
    """
    return name if "::" in name else f"{NAMESPACE}::{name}"


class NamedOperator(NamedTuple):
    """An operator of PyTorch: its namespace and its schema."""

    namespace: str
    schema: FunctionSchema


class NamedOperators:
    """The operators of PyTorch with some names. All operators are loaded when another one is asked for."""

    __slots__ = ("_catalog", "_context", "_operators")

    def __init__(self, names: Iterable[str], context: LoadContext) -> None:
        self._context: Final = context
        self._catalog: Catalog | None = context.catalog
        self._operators: Final[dict[str, NamedOperator]] = {}
        wanted = set(map(qualified_name, names))
        if wanted and self._catalog is None:
            file = NATIVE_FUNCTIONS.files(context.inputs)[0]
            self._read_schemas(wanted, file)
            self._load_some(wanted.difference(self._operators), file)

    def find(self, name: str) -> NamedOperator | None:
        """The operator that an entry names; None if PyTorch has none."""
        name = qualified_name(name)
        operator = self._operators.get(name)
        if operator is None and name in self.catalog:
            function = self.catalog[name]
            operator = self._operators[name] = NamedOperator(function.namespace, function.schema)
        return operator

    @property
    def catalog(self) -> Catalog:
        """All operators of PyTorch. Their faults go to the sink of the context."""
        if self._catalog is None:
            self._catalog = NATIVE_FUNCTIONS.load_inputs(self._context)
            assert self._catalog is not None, "inputs without operators are refused"
        return self._catalog

    def _read_schemas(self, names: set[str], file: SourceFile) -> None:
        """Read the schemas of the operators that have an entry of their own."""
        if file.has_anchors:
            return
        for match in _SCHEMA.finditer(file.text):
            name = qualified_name(match[1])
            if name in names:
                try:
                    self._operators[name] = NamedOperator(NAMESPACE, read_schema((match[1] + match[2]).rstrip()))
                except SchemaFault:
                    # All operators are loaded then, which reports it.
                    continue

    def _load_some(self, names: set[str], file: SourceFile) -> None:
        """Load the operators that PyTorch generates, from the entries of their operations."""
        if not names or file.has_anchors:
            return
        items = LoadScope([name.partition("::")[2].partition(".")[0] for name in names]).items(file)
        if items is None:
            return
        own = Diagnostics()
        entries = {NATIVE_FUNCTIONS.name: items}
        try:
            catalog = NATIVE_FUNCTIONS.load_inputs(self._context._replace(sink=own, chosen_items=entries))
        except (PartialCatalog, Fault, FaultsFound):
            return
        if catalog is None or own.has_errors:
            return
        for name in names:
            if name in catalog:
                self._operators[name] = NamedOperator(catalog[name].namespace, catalog[name].schema)
