"""torch-xpu-ops: entries like PyTorch's own, with kernels for `XPU` and the keys that go with it.

    opwright generate --plugin torch_xpu_ops.py --backend native_functions.yaml ...

PyTorch's full generator reads this file in place of its own. Here each kernel becomes an entry of a backend. Early
releases have `xpu_functions.yaml` instead.
"""

from __future__ import annotations

from collections.abc import Iterator

from opwright.plugin import (
    BackendReader,
    LoadContext,
    MappingNode,
    NativeFunction,
    Node,
    NodeValue,
    Plugin,
    SequenceNode,
    known_operators,
    listed_operators,
    node_at,
    text_of,
    with_entries,
)

SECTIONS = {
    "XPU": "supported",
    "SparseXPU": "sparse",
    "SparseCsrXPU": "sparse_csr",
    "QuantizedXPU": "quantized",
    "NestedTensorXPU": "nested_tensor",
}
HEAD: dict[str, NodeValue] = {
    "backend": "PrivateUse1",
    "display_name": "XPU",
    "cpp_namespace": "at::native",
    "use_out_as_primary": True,
    "device_guard": True,
    "override_composite": True,
    "derived_overloads": False,
    "includes": ["ATen/ATen.h"],
    "families": {"xpu": {"namespace": "at::native"}},
}


def recognizes(root: Node) -> bool:
    """Whether a file is a list with kernels for XPU."""
    return isinstance(root, SequenceNode) and any(key == "XPU" for entry in root for key, _ in kernels(entry))


def is_early_form(root: Node) -> bool:
    """Whether a file is of the backend XPU, without the class of kernels that Intel's extension names."""
    return text_of(root.get("backend")) == "XPU" and root.get("class_name") is None


def kernels(entry: Node) -> Iterator[tuple[str, str]]:
    """The kernels of an entry for the keys of the backend, each with its key."""
    table = entry.get("dispatch")
    for keys, kernel in table if isinstance(table, MappingNode) else ():
        yield from [(key.strip(), text_of(kernel)) for key in keys.value.split(",") if key.strip() in SECTIONS]


def options(function: NativeFunction, kernel: str, *, is_dense: bool) -> dict[str, NodeValue]:
    """How an operator is implemented: by a kernel that PyTorch's devices share, or by one of the vendor's."""
    shared = {known.name for key, known in function.kernels.items() if key.name == "CPU"}
    shared &= {known.name for key, known in function.kernels.items() if key.name == "CUDA"}
    if function.structured and is_dense and kernel in shared:
        return {"stub": True}
    name = kernel.rpartition("::")[2]
    return {"family": "xpu", "kernel_name": name, **({"structured": True} if function.structured and is_dense else {})}


def rewrite(root: Node, context: LoadContext) -> MappingNode:
    """The file as a backend file."""
    sections: dict[str, list[NodeValue]] = {section: [] for section in SECTIONS.values()}
    operators = [operator for operator in listed_operators(root) if any(kernels(operator.fields))]
    for operator in known_operators(operators, context):
        for key, kernel in kernels(operator.fields):
            own = options(context.operators[operator.name.value], kernel, is_dense=key == "XPU")
            sections[SECTIONS[key]].append(operator.entry(own))
    filled: dict[str, NodeValue] = {section: items for section, items in sections.items() if items}
    return node_at(root, {**HEAD, **filled})


def rewrite_early_form(root: Node, context: LoadContext) -> MappingNode:
    """The file for PyTorch's generator, of an older form, for the key that is free."""
    assert isinstance(root, MappingNode)
    names = [name for name, _, _ in known_operators(listed_operators(root.get("supported")), context)]
    switches: dict[str, NodeValue] = {"override_composite": True, "derived_overloads": False}
    return with_entries(root, {"backend": "PrivateUse1", "display_name": "XPU", **switches, "supported": names})


READERS = [
    BackendReader("native_functions", recognizes, rewrite),
    BackendReader("xpu_functions", is_early_form, rewrite_early_form),
]
plugin = Plugin("torch_xpu_ops", api=1, backend_readers=READERS)
