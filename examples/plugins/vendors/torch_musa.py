"""torch_musa: `musa_functions.yaml`, a list of entries that say what is other than in PyTorch's own.

    opwright generate --plugin torch_musa.py --backend musa_functions.yaml ...

Kernels whose name is that of the CPU's or CUDA's are PyTorch's, compiled for the device; others are in `at::musa`.
"""

from __future__ import annotations

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
LEFT_OUT = Code("MUSA0001", "an entry of torch_musa that makes nothing", "The release has no such operator or kernel.")


def recognizes(root: Node) -> bool:
    """Whether a file is a list with kernels for PrivateUse1."""
    items = root.items if isinstance(root, Sequence) else []
    tables = [item.get("dispatch") for item in items if isinstance(item, Mapping)]
    return any(isinstance(table, Mapping) and table.get("PrivateUse1") is not None for table in tables)


def options(entry: Mapping, kernel: str, function: NativeFunction, *, is_dense: bool) -> dict[str, NodeValue]:
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


def rewrite(root: Node, context: LoadContext) -> Mapping:
    """The file as a backend file."""
    sections: dict[str, list[NodeValue]] = {section: [] for section in SECTIONS.values()}
    for name, _, entry in listed_operators(root):
        if name.value not in context.operators:
            context.sink.note(LEFT_OUT.code, f"`{name.value}` is no operator of this release", name.span)
            continue
        function, dispatch = context.operators[name.value], entry.get("dispatch")
        table = {key.value: value for key, value in dispatch} if isinstance(dispatch, Mapping) else {}
        if not table and function.structured:
            table = {"PrivateUse1": node_at(name, "")}
        elif not table and function.structured_delegate is None:
            context.sink.note(LEFT_OUT.code, f"`{name.value}` names no kernel", name.span)
        for keys, kernel in table.items():
            for key in keys.split(", "):
                is_dense = key == "PrivateUse1"
                named = kernel.value if isinstance(kernel, Scalar) else ""
                own = options(entry, named, function, is_dense=is_dense)
                sections[SECTIONS[key]].append(node_at(name, {name.value: own}))
    return node_at(root, {**HEAD, **sections})


plugin = Plugin(
    "torch_musa", api=1, codes=[LEFT_OUT], backend_readers=[BackendReader("musa_functions", recognizes, rewrite)]
)
