"""Entries of input files that are lists: of whole files, and of those that a run chooses."""

from __future__ import annotations

from typing import Any

from opwright.dialects.dialect import Dialect
from opwright.dialects.table import dialect_help
from opwright.model.catalog import PartialCatalog
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.items import ChosenItems, read_items
from opwright.source.nodes import Node, SequenceNode
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml


def read_entries(
    file: SourceFile, dialect: Dialect[Any], code: str, sink: Diagnostics, *, what: str = "entries"
) -> list[Node]:
    """Entries of a file; none, with a diagnostic, if it is not YAML, or no list (`code`)."""
    try:
        root = load_yaml(file)
    except Fault as fault:
        sink.add(fault.diagnostic)
        return []
    if isinstance(root, SequenceNode):
        return root.items
    message = f"the file is {root.description}, not a list of {what}"
    sink.error(code, message, root.span, help=dialect_help(dialect, file))
    return []


def read_chosen(items: ChosenItems) -> list[Node]:
    """Entries that a run chooses. Raises PartialCatalog if the whole file has to be read."""
    nodes = read_items(items)
    if nodes is None:
        raise PartialCatalog
    return nodes
