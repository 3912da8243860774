"""Shapes of the YAML files of selective builds: what values they have, and whether given values fit."""

from __future__ import annotations

from opwright.source.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final


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


def fits(value: object, shape: Shape) -> bool:
    """Whether a value of a YAML file has a shape, with no unknown field.

    >>> fits([{"name": "aten::add", "depends": [{"name": "aten::mul"}]}], GRAPH), fits({"name": "aten::add"}, GRAPH)
    (True, False)
    """
    if value is None and shape.may_be_null:
        return True
    match shape.kind:
        case "text":
            return value.__class__ is str
        case "flag":
            return value.__class__ is bool
        case "scalar":
            return value.__class__ in (str, int)
        case "list" if shape.item is not None:
            if shape.may_be_single and value.__class__ is dict:
                return fits(value, shape.item)
            return isinstance(value, list) and all(fits(item, shape.item) for item in value)
        case "mapping" if shape.item is not None:
            return isinstance(value, dict) and all(fits(item, shape.item) for item in value.values())
        case "record" if shape.fields is not None:
            if not isinstance(value, dict) or any(name not in value for name in shape.required):
                return False
            return all(name in shape.fields and fits(item, shape.fields[name]) for name, item in value.items())
    return True
