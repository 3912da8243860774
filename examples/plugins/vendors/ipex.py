"""Intel's extension: a file for each dispatch key of a backend, with a class of kernels for each.

    opwright generate --plugin ipex.py --backend xpu_functions.yaml ...

The files for sparse, quantized and nested tensors stand beside the one for dense tensors. PyTorch has had kernels for
`XPU` of its own since, so the backend has the key that is free.
"""

from __future__ import annotations

from opwright.plugin import (
    BackendReader,
    Code,
    LoadContext,
    Mapping,
    Node,
    NodeValue,
    Plugin,
    Scalar,
    Sequence,
    node_at,
    read_beside,
    with_entries,
)

BESIDE = {
    "sparse": "sparsexpu_functions.yaml",
    "quantized": "quantizedxpu_functions.yaml",
    "nested_tensor": "nestedtensorxpu_functions.yaml",
}
LEFT_OUT = Code("IPEX0001", "an operator of Intel's extension that is left out", "The release has no such operator.")


def recognizes(root: Node) -> bool:
    """Whether a file is of the backend XPU."""
    backend = root.get("backend") if isinstance(root, Mapping) else None
    return isinstance(backend, Scalar) and backend.value == "XPU"


def taken(items: Node | None, context: LoadContext) -> list[Scalar]:
    """The names of operators that the release has, each once."""
    names: dict[str, Scalar] = {}
    for name in items if isinstance(items, Sequence) else ():
        if isinstance(name, Scalar) and name.value in context.operators and name.value not in names:
            names[name.value] = name
        elif isinstance(name, Scalar):
            reason = "has an entry above" if name.value in names else "is no operator of this release"
            context.sink.note(LEFT_OUT.code, f"`{name.value}` {reason}", name.span)
    return [*names.values()]


def rewrite(root: Node, context: LoadContext) -> Mapping:
    """The files as one backend file."""
    assert isinstance(root, Mapping)
    families: dict[str, NodeValue] = {}
    sections: dict[str, NodeValue] = {"supported": [*taken(root.get("supported"), context)]}
    sections["autograd"] = [
        node_at(name, {name.value: {"kernel_name": f"{context.operators[name.value].name.unambiguous}_autograd"}})
        for name in taken(root.get("autograd"), context)
    ]
    for section, path in BESIDE.items():
        file = read_beside(root, path, context)
        class_name = file.get("class_name") if isinstance(file, Mapping) else None
        families[section] = {"class": class_name}
        names = taken(file.get("supported") if isinstance(file, Mapping) else None, context)
        sections[section] = [node_at(name, {name.value: {"family": section}}) for name in names]
    head: dict[str, NodeValue] = {"backend": "PrivateUse1", "display_name": "XPU", "families": families}
    switches: dict[str, NodeValue] = {"override_composite": True, "derived_overloads": False}
    return with_entries(root, {**head, **switches, **sections})


plugin = Plugin("ipex", api=1, codes=[LEFT_OUT], backend_readers=[BackendReader("xpu_functions", recognizes, rewrite)])
