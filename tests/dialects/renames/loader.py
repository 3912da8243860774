"""Loads `renames.yaml`."""

from __future__ import annotations

from collections.abc import Sequence

from opwright.dialects.dialect import LoadContext
from opwright.source.expect import expect_mapping, expect_string
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml

UNKNOWN_OPERATOR = "E9950"


def load(files: Sequence[SourceFile], context: LoadContext) -> dict[str, str]:
    """The new name of each renamed operator."""
    root = expect_mapping(load_yaml(files[0]), "the file", context.sink)
    names = {}
    for old, node in root.entries if root is not None else ():
        new = expect_string(node, f"the new name of `{old.value}`", context.sink)
        if new is not None and new.value in context.operators:
            names[old.value] = new.value
        elif new is not None:
            context.sink.error(UNKNOWN_OPERATOR, f"there is no operator `{new.value}`", new.span)
    return names
