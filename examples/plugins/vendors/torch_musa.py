"""torch_musa: `musa_functions.yaml`, a list of entries that say what is other than in PyTorch's own.

    opwright generate --plugin torch_musa.py --backend musa_functions.yaml ...

Kernels whose name is that of the CPU's or CUDA's are PyTorch's, compiled for the device; others are in `at::musa`.
"""

from __future__ import annotations

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
    leave_out,
    listed_operators,
    node_at,
    text_of,
)

SECTIONS = {
    "PrivateUse1": "supported",
    "SparsePrivateUse1": "sparse",
    "SparseCsrPrivateUse1": "sparse_csr",
    "QuantizedPrivateUse1": "quantized",
    "NestedTensorPrivateUse1": "nested_tensor",
    "AutogradPrivateUse1": "autograd",
}
HEAD: dict[str, NodeValue] = {
    "backend": "PrivateUse1",
    "display_name": "MUSA",
    "cpp_namespace": "at::musa",
    "use_out_as_primary": True,
    "device_guard": True,
    "device_check": False,
    "override_composite": True,
    "derived_overloads": False,
    "guard": {"type": "c10::musa::OptionalMUSAGuard", "header": "torch_musa/csrc/core/MUSAGuard.h"},
    "allocation": {"empty": "at::detail::empty_musa", "header": "torch_musa/csrc/aten/ops/TensorFactory.h"},
    "includes": ["torch_musa/csrc/aten/utils/Utils.h"],
    "families": {"musa": {"namespace": "at::musa"}, "ported": {"namespace": "at::native"}},
}


def recognizes(root: Node) -> bool:
    """Whether a file is a list with kernels for PrivateUse1."""
    return isinstance(root, SequenceNode) and any("PrivateUse1" in kernels(entry) for entry in root)


def kernels(entry: Node) -> dict[str, str]:
    """The kernels that an entry names, by dispatch keys."""
    table = entry.get("dispatch")
    return {key.value: text_of(kernel) for key, kernel in table} if isinstance(table, MappingNode) else {}


def options(entry: MappingNode, kernel: str, function: NativeFunction, *, is_dense: bool) -> dict[str, NodeValue]:
    """How the operator of an entry is implemented; without a kernel, by PyTorch's structured one."""
    names = {key.name: known.name for key, known in function.kernels.items()}
    is_structured = function.structured and is_dense and entry.get("structured") is None
    if is_structured and not kernel and names.get("CPU") == names.get("CUDA"):
        return {"stub": True}
    family = "ported" if kernel in names.values() and not is_structured else "musa"
    found: dict[str, NodeValue] = {"family": family, "kernel_name": kernel or function.name.unambiguous}
    if is_structured:
        has_own_meta = entry.get("precomputed") is not None or entry.get("structured_inherits") is not None
        return {**found, "structured": True, "define_meta": has_own_meta}
    return {**found, **{key: entry.get(key) is not None for key in ("device_check", "device_guard")}}


def rewrite(root: Node, context: LoadContext) -> MappingNode:
    """The file as a backend file."""
    sections: dict[str, list[NodeValue]] = {section: [] for section in SECTIONS.values()}
    for operator in known_operators(listed_operators(root), context):
        function, table = context.operators[operator.name.value], kernels(operator.fields)
        if not table and function.structured:
            table = {"PrivateUse1": ""}
        elif not table and function.structured_delegate is None:
            leave_out(operator.name, "names no kernel", context)
        for keys, kernel in table.items():
            for key in keys.split(", "):
                own = options(operator.fields, kernel, function, is_dense=key == "PrivateUse1")
                sections[SECTIONS[key]].append(operator.entry(own))
    return node_at(root, {**HEAD, **sections})


plugin = Plugin("torch_musa", api=1, backend_readers=[BackendReader("musa_functions", recognizes, rewrite)])
