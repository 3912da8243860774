"""torch-spyre: `Metadata.yaml`, which names for each operation the template of its kernels.

    opwright generate --plugin torch_spyre.py --backend Metadata.yaml ...

An entry stands for all overloads of an operator that devices implement. The vendor's program writes the kernels.
"""

from __future__ import annotations

from opwright.plugin import (
    BackendReader,
    LoadContext,
    MappingNode,
    Node,
    Plugin,
    SequenceNode,
    leave_out,
    listed_operators,
    node_at,
    text_of,
)


def recognizes(root: Node) -> bool:
    """Whether a file is a list of operations with templates."""
    return isinstance(root, SequenceNode) and any(text_of(entry.get("template_name")) for entry in root)


def rewrite(root: Node, context: LoadContext) -> MappingNode:
    """The file as a backend file. Kernels of the template `custom` are written by hand."""
    supported = []
    for name, _, fields in listed_operators(root, "operator_name"):
        overloads = [function for function in context.operators.functions if function.name.name == name.value]
        if not overloads or text_of(fields.get("template_name")) == "custom":
            leave_out(name, "has no template" if overloads else "is no operator of this release", context)
            continue
        for function in overloads:
            if not function.has_composite_implicit and not function.has_composite_explicit:
                kernel = f"spyre__{name.value}_{function.name.overload or 'default'}"
                supported.append(node_at(name, {function.name.text: {"family": "spyre", "kernel_name": kernel}}))
    head = {"backend": "PrivateUse1", "display_name": "Spyre", "cpp_namespace": "spyre"}
    families = {"spyre": {"namespace": "spyre"}}
    return node_at(root, {**head, "derived_overloads": False, "families": families, "supported": supported})


plugin = Plugin("torch_spyre", api=1, backend_readers=[BackendReader("metadata", recognizes, rewrite)])
