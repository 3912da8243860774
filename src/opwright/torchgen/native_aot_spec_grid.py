"""Grids of kernels compiled ahead of time: the names of `torchgen.native_aot_spec_grid`."""

from __future__ import annotations

import itertools
from typing import Any


def expand_specs(specs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each specification with one of the values of each list, in all combinations; the last list varies fastest.

    >>> expand_specs([{"dtype": ["float", "half"], "largest": True}])
    [{'dtype': 'float', 'largest': True}, {'dtype': 'half', 'largest': True}]
    """
    expanded: list[dict[str, Any]] = []
    for spec in specs:
        axes = [value if isinstance(value, list) else [value] for value in spec.values()]
        expanded += [dict(zip(spec, values, strict=True)) for values in itertools.product(*axes)]
    return expanded
