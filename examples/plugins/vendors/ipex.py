"""Intel's extension: a file for each dispatch key of a backend, with a class of kernels for each.

    opwright generate --plugin ipex.py --backend xpu_functions.yaml ...

The files for sparse, quantized and nested tensors stand beside the one for dense tensors. PyTorch has had kernels for
`XPU` of its own since, so the backend has the key that is free.
"""

from __future__ import annotations

from opwright.plugin import (
    BackendReader,
    LoadContext,
    MappingNode,
    Node,
    NodeValue,
    Plugin,
    known_operators,
    listed_operators,
    read_beside,
    text_of,
    with_entries,
)

BESIDE = {
    "sparse": "sparsexpu_functions.yaml",
    "quantized": "quantizedxpu_functions.yaml",
    "nested_tensor": "nestedtensorxpu_functions.yaml",
}


def recognizes(root: Node) -> bool:
    """Whether a file is of the backend XPU, with the class that those of the extension name."""
    return text_of(root.get("backend")) == "XPU" and root.get("class_name") is not None


def rewrite(root: Node, context: LoadContext) -> MappingNode:
    """The files as one backend file."""
    assert isinstance(root, MappingNode)
    families: dict[str, NodeValue] = {}
    supported, autograd = [
        [*known_operators(listed_operators(root.get(section)), context)] for section in ("supported", "autograd")
    ]
    sections: dict[str, NodeValue] = {"supported": [operator.name for operator in supported]}
    names = [context.operators[operator.name.value].name.unambiguous for operator in autograd]
    sections["autograd"] = [
        operator.entry({"kernel_name": f"{name}_autograd"}) for operator, name in zip(autograd, names, strict=True)
    ]
    for section, path in BESIDE.items():
        file = read_beside(root, path, context)
        families[section] = {"class": file.get("class_name")}
        operators = known_operators(listed_operators(file.get("supported")), context)
        sections[section] = [operator.entry({"family": section}) for operator in operators]
    head: dict[str, NodeValue] = {"backend": "PrivateUse1", "display_name": "XPU", "families": families}
    switches: dict[str, NodeValue] = {"override_composite": True, "derived_overloads": False}
    return with_entries(root, {**head, **switches, **sections})


plugin = Plugin("ipex", api=1, backend_readers=[BackendReader("xpu_functions", recognizes, rewrite)])
