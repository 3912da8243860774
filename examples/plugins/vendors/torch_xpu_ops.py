"""torch-xpu-ops: entries like PyTorch's own, with kernels for `XPU` and the keys that go with it.

    opwright generate --plugin torch_xpu_ops.py --backend native_functions.yaml ...

PyTorch's full generator reads this file in place of its own. Here each kernel becomes an entry of a backend.
"""

from __future__ import annotations

from collections.abc import Iterator

from opwright.plugin import (
    BackendReader,
    Code,
    LoadContext,
    Mapping,
    NativeFunction,
    Node,
    NodeValue,
    Plugin,
    Scalar,
    Sequence,
    listed_operators,
    node_at,
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
LEFT_OUT = Code("XPU0001", "an entry of torch-xpu-ops that makes nothing", "The release has no such operator.")


def recognizes(root: Node) -> bool:
    """Whether a file is a list with kernels for XPU."""
    items = root.items if isinstance(root, Sequence) else []
    return any(key == "XPU" for item in items if isinstance(item, Mapping) for key, _ in kernels(item))


def kernels(entry: Mapping) -> Iterator[tuple[str, Scalar]]:
    """The kernels of an entry for the keys of the backend, each with its key."""
    table = entry.get("dispatch")
    for keys, kernel in table if isinstance(table, Mapping) else ():
        if isinstance(kernel, Scalar):
            yield from [(key.strip(), kernel) for key in keys.value.split(",") if key.strip() in SECTIONS]


def options(function: NativeFunction, kernel: str, *, is_dense: bool) -> dict[str, NodeValue]:
    """How an operator is implemented: by a kernel that PyTorch's devices share, or by one of the vendor's."""
    shared = {known.name for key, known in function.kernels.items() if key.name == "CPU"}
    shared &= {known.name for key, known in function.kernels.items() if key.name == "CUDA"}
    if function.structured and is_dense and kernel in shared:
        return {"stub": True}
    name = kernel.rpartition("::")[2]
    return {"family": "xpu", "kernel_name": name, **({"structured": True} if function.structured and is_dense else {})}


def rewrite(root: Node, context: LoadContext) -> Mapping:
    """The file as a backend file."""
    sections: dict[str, list[NodeValue]] = {section: [] for section in SECTIONS.values()}
    for name, _, entry in listed_operators(root):
        found = [*kernels(entry)]
        if found and name.value not in context.operators:
            context.sink.note(LEFT_OUT.code, f"`{name.value}` is no operator of this release", name.span)
            continue
        for key, kernel in found:
            own = options(context.operators[name.value], kernel.value, is_dense=key == "XPU")
            sections[SECTIONS[key]].append(node_at(name, {name.value: own}))
    filled: dict[str, NodeValue] = {section: items for section, items in sections.items() if items}
    return node_at(root, {**HEAD, **filled})


plugin = Plugin(
    "torch_xpu_ops", api=1, codes=[LEFT_OUT], backend_readers=[BackendReader("native_functions", recognizes, rewrite)]
)
