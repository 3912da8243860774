"""torch_npu: the backend file that its generator merges from its own and op-plugin's.

    opwright generate --plugin torch_npu.py --backend torch_npu/csrc/aten/npu_native_functions_by_codegen.yaml ...

Entries are names, or mappings with `func`; a mapping counts if it says how the operator is implemented. Operators of
`custom` are those of the namespace `npu`. Kernels of `quant` and `autograd` are functions of op-plugin.
"""

from __future__ import annotations

from opwright.plugin import (
    BackendReader,
    ExtraKey,
    LoadContext,
    MappingNode,
    Node,
    NodeValue,
    Plugin,
    Scalar,
    leave_out,
    listed_operators,
    text_of,
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


def recognizes(root: Node) -> bool:
    """Whether a file is of the backend NPU."""
    return text_of(root.get("backend")) == "NPU"


def options(name: Scalar, keys: set[str]) -> dict[str, NodeValue]:
    """The options of an entry; structured kernels are classes in the namespace, but for that of `cat`."""
    checks: dict[str, NodeValue] = {"device_check": False} if "device_check" in keys else {}
    is_structured = "structured" in keys and name.value != "cat.out"
    structured: dict[str, NodeValue] = {"structured": True, "family": "structured"} if is_structured else {}
    return {**checks, **structured, **({"op_api": True} if "op_api" in keys else {})}


def rewrite(root: Node, context: LoadContext) -> MappingNode:
    """The file as a backend file."""
    assert isinstance(root, MappingNode)
    lists = {section: [*listed_operators(root.get(section))] for section in ("custom", "supported", "symint")}
    own = {operator.name.value: operator for operator in lists["custom"]}
    supported: dict[str, Node] = {}
    for operator in [*lists["supported"], *lists["symint"]]:
        name, keys = operator.name, {key.value for key, _ in operator.fields}
        if keys and not keys & IMPLEMENTED:
            leave_out(name, "names no kernel of dense tensors", context)
        elif name.value not in own and (name.value == "cat" or "structured_delegate" not in keys):
            supported.setdefault(name.value, operator.entry(options(name, keys)))
    names = [operator.name for operator in lists["symint"]]
    others: dict[str, NodeValue] = {
        "supported": [*supported.values(), *[operator.entry({}, namespace="npu") for operator in own.values()]],
        "symint": [f"npu::{name.value}" if name.value in own else name for name in names],
    }
    for section, source in (("quantized", "quant"), ("autograd", "autograd")):
        others[section] = [
            operator.entry({"kernel": f"op_plugin::{operator.name.value.partition('.')[0]}"})
            for operator in listed_operators(root.get(source))
        ]
    kept = [(key, value) for key, value in root if key.value == "cpp_namespace"]
    return with_entries(root.replace(entries=kept), {**HEAD, **others})


plugin = Plugin(
    "torch_npu",
    api=1,
    backend_readers=[BackendReader("npu_native_functions", recognizes, rewrite)],
    extra_keys=[ExtraKey("op_api", bool, where="backend entry", default=False, help="The kernel of another library.")],
)
