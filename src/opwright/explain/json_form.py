"""Explanations as JSON: the fields of the records, by their names."""

from __future__ import annotations

import json
from collections.abc import Iterable

from opwright.coverage.formats.data import Data
from opwright.explain.records import FORMAT, Explanation

__all__ = ["render"]


def render(explanations: Iterable[Explanation]) -> str:
    """The explanations as JSON."""
    data: Data = {"format": FORMAT, "operators": [_data(explanation) for explanation in explanations]}
    return json.dumps(data, indent=2) + "\n"


def _data(value: object) -> Data:
    """A record, or a value in one, as JSON has it."""
    fields = getattr(value, "_fields", None)
    if fields is not None:
        return {field: _data(getattr(value, field)) for field in fields}
    if isinstance(value, (tuple, list)):
        return [_data(item) for item in value]
    assert value is None or isinstance(value, (bool, int, str)), "records have plain values"
    return value
