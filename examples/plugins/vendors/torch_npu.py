"""torch_npu: the backend file that its generator merges from its own and op-plugin's.

    opwright generate --plugin torch_npu.py --backend torch_npu/csrc/aten/npu_native_functions_by_codegen.yaml ...

Entries are names, or mappings with `func`; a mapping counts if it says how the operator is implemented. Operators of
`custom` are those of the namespace `npu`. Kernels of `quant` and `autograd` are functions of op-plugin.
"""

from __future__ import annotations

from opwright.plugin import (
    BackendReader,
    Code,
    ExtraKey,
    LoadContext,
    Mapping,
    Node,
    NodeValue,
    Plugin,
    Scalar,
    listed_operators,
    node_at,
    with_entries,
)

#: What the vendor's program has in its code, and not in its file.
HEAD: dict[str, NodeValue] = {
    "backend": "PrivateUse1",
    "display_name": "NPU",
    "export_macro": "TORCH_API",
    "default_args": True,
    "device_guard": True,
    "dispatch_headers": True,
    "use_out_as_primary": True,
    "override_composite": True,
    "derived_overloads": False,
    "families": {"structured": {"namespace": "at_npu::native"}},
}
#: The keys that say how an operator is implemented.
IMPLEMENTED = frozenset(("impl_ns", "op_api", "device_check"))
LEFT_OUT = Code("NPU0001", "an entry of torch_npu for another program", "The entry names no kernel of dense tensors.")


def recognizes(root: Node) -> bool:
    """Whether a file is of the backend NPU."""
    backend = root.get("backend") if isinstance(root, Mapping) else None
    return isinstance(backend, Scalar) and backend.value == "NPU"


def options(name: Scalar, keys: set[str]) -> dict[str, NodeValue]:
    """The options of an entry; structured kernels are classes in the namespace, but for that of `cat`."""
    checks: dict[str, NodeValue] = {"device_check": False} if "device_check" in keys else {}
    is_structured = "structured" in keys and name.value != "cat.out"
    structured: dict[str, NodeValue] = {"structured": True, "family": "structured"} if is_structured else {}
    return {**checks, **structured, **({"op_api": True} if "op_api" in keys else {})}


def rewrite(root: Node, context: LoadContext) -> Mapping:
    """The file as a backend file."""
    assert isinstance(root, Mapping)
    custom = {f"npu::{name.value}": (name, func) for name, func, _ in listed_operators(root.get("custom"))}
    symint = [name for name, _, _ in listed_operators(root.get("symint"))]
    supported: dict[str, Node] = {}
    for name, _, fields in [*listed_operators(root.get("supported")), *listed_operators(root.get("symint"))]:
        keys = {key.value for key, _ in fields}
        if keys and not keys & IMPLEMENTED:
            context.sink.note(LEFT_OUT.code, f"`{name.value}` is left out: it names no dense kernel", name.span)
        elif f"npu::{name.value}" not in custom and (name.value == "cat" or "structured_delegate" not in keys):
            supported.setdefault(name.value, node_at(name, {name.value: options(name, keys)}))
    supported |= {name: node_at(place, {name: {"func": func}}) for name, (place, func) in custom.items()}
    others: dict[str, NodeValue] = {}
    for section, own in (("quantized", "quant"), ("autograd", "autograd")):
        names = [name for name, _, _ in listed_operators(root.get(own))]
        kernels: dict[str, NodeValue] = {name.value: f"op_plugin::{name.value.partition('.')[0]}" for name in names}
        others[section] = [node_at(name, {name.value: {"kernel": kernels[name.value]}}) for name in names]
    own_symint = [f"npu::{name.value}" for name in symint]
    others["symint"] = [
        node_at(name, own if own in custom else name) for name, own in zip(symint, own_symint, strict=True)
    ]
    kept = [(key, value) for key, value in root if key.value == "cpp_namespace"]
    head = Mapping(root.file, root.start, root.end, kept)
    return with_entries(head, {**HEAD, "supported": [*supported.values()], **others})


plugin = Plugin(
    "torch_npu",
    api=1,
    codes=[LEFT_OUT],
    backend_readers=[BackendReader("npu_native_functions", recognizes, rewrite)],
    extra_keys=[ExtraKey("op_api", bool, where="backend entry", default=False, help="The kernel of another library.")],
)
