"""Shapes of the YAML files of selective builds: what values they have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from opwright.source.records import NamedTuple


class Shape(NamedTuple):
    """What a value is: of a `kind`, with items of a shape (`list`, `mapping`), or with fields (`record`).

    A record has its `required` fields and may have the others of `fields`; unknown ones have no effect. A list with
    `may_be_single` may also be one item alone.
    """

    kind: str
    item: Shape | None = None
    fields: Mapping[str, Shape] | None = None
    required: tuple[str, ...] = ()
    may_be_single: bool = False
    may_be_null: bool = False


TEXT: Final = Shape("text")
SCALAR: Final = Shape("scalar")
FLAG: Final = Shape("flag")
ANY: Final = Shape("any")

#: A list of names of operators.
NAMES: Final = Shape("list", TEXT)

_NAMED: Final = Shape("record", fields={"name": TEXT}, required=("name",))

#: The dependency graph of the code analyzer: which operators each operator calls.
GRAPH: Final = Shape(
    "list",
    Shape(
        "record",
        fields={"name": TEXT, "depends": Shape("list", _NAMED)},
        required=("name",),
    ),
)

#: The operators of models: one model, or a list of them.
MODELS: Final = Shape(
    "list",
    Shape(
        "record",
        fields={
            "model": Shape(
                "record",
                fields={"name": TEXT, "version": SCALAR, "asset": SCALAR, "backend": SCALAR, "md5_hash": SCALAR},
                required=("name", "version", "asset", "md5_hash"),
            ),
            "root_operators": NAMES,
            "traced_operators": NAMES,
            "train": FLAG,
            "kernel_metadata": Shape("mapping", NAMES),
            "custom_classes": NAMES,
            "build_features": NAMES,
        },
        required=("model", "root_operators"),
    ),
    may_be_single=True,
)
