"""Habana: `hpu_op.yaml`, which says of each operator how the vendor's program writes the kernel.

    opwright generate --plugin habana.py --backend hpu_op.yaml ...

The kernels are functions of the namespace `habana`. Operators of other libraries have their schema in their entry.
"""

from __future__ import annotations

from opwright.plugin import (
    BackendReader,
    LoadContext,
    MappingNode,
    Node,
    Plugin,
    known_operators,
    listed_operators,
    node_at,
    without_entries,
)

SCHEMA = "custom_op_schema"


def recognizes(root: Node) -> bool:
    """Whether a file is a mapping of which an entry names the device's operation."""
    return isinstance(root, MappingNode) and any(entry.get("guid") is not None for _, entry in root)


def rewrite(root: Node, context: LoadContext) -> MappingNode:
    """The file as a backend file."""
    assert isinstance(root, MappingNode)
    foreign = {key.value: entry for key, entry in root if entry.get(SCHEMA) is not None}
    own = listed_operators(without_entries(root, foreign.__contains__))
    supported = [operator.entry({"family": "habana"}) for operator in known_operators(own, context)]
    for operator in listed_operators(node_at(root, [*foreign.values()]), SCHEMA):
        supported.append(operator.entry({"family": "habana", "func": operator.func}))
    head = {"backend": "PrivateUse1", "display_name": "HPU", "cpp_namespace": "habana"}
    switches = {"override_composite": True, "derived_overloads": False}
    families = {"habana": {"namespace": "habana"}}
    return node_at(root, {**head, **switches, "families": families, "supported": supported})


plugin = Plugin("habana", api=1, backend_readers=[BackendReader("hpu_op", recognizes, rewrite)])
