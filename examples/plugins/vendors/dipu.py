"""DIPU: `diopi_functions.yaml`, whose entries have a schema and the call of a device's library.

    opwright generate --plugin dipu.py --backend diopi_functions.yaml ...

The vendor's program writes the kernels. Entries are for all releases of PyTorch, or for those that `torch_ver` lists.
"""

from __future__ import annotations

from opwright.plugin import (
    BackendReader,
    ListedOperator,
    LoadContext,
    MappingNode,
    Node,
    Plugin,
    SequenceNode,
    known_operators,
    listed_operators,
    node_at,
    texts_of,
)


def recognizes(root: Node) -> bool:
    """Whether a file is a list of schemas, of which one has the call of the library."""
    return isinstance(root, SequenceNode) and any(entry.get("schema") and entry.get("interface") for entry in root)


def reason(operator: ListedOperator) -> str:
    """Why an entry makes nothing; empty if it makes something."""
    releases = texts_of(operator.fields.get("torch_ver"))
    if texts_of(operator.fields.get("register_operator")) in (["false"], ["False"]):
        return "is not registered"
    return "is for other releases" if releases and "all" not in releases else ""


def rewrite(root: Node, context: LoadContext) -> MappingNode:
    """The file as a backend file."""
    operators = known_operators(listed_operators(root, "schema"), context, reason)
    kernels = [(own, f"dipu_{own.name.value.replace('.', '_').lower()}") for own in operators]
    supported = [operator.entry({"family": "dipu", "kernel_name": kernel}) for operator, kernel in kernels]
    head = {"backend": "PrivateUse1", "display_name": "DIPU", "cpp_namespace": "dipu::native"}
    switches = {"override_composite": True, "derived_overloads": False}
    families = {"dipu": {"namespace": "dipu::native"}}
    return node_at(root, {**head, **switches, "families": families, "supported": supported})


plugin = Plugin("dipu", api=1, backend_readers=[BackendReader("diopi_functions", recognizes, rewrite)])
