"""torch_mlu: `mlu_functions.yaml`, with a section for the operators of each library.

    opwright generate --plugin torch_mlu.py --backend mlu_functions.yaml ...

Kernels are functions of `torch_mlu::ops`, whose names begin with the library of kernels that they use. Structured ones
are PyTorch's own where the CPU and CUDA share them, unless the entry overrides them.
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
    listed_operators,
    node_at,
)

LIBRARIES = {"vision": "torchvision", "audio": "torchaudio", "custom": "torch_mlu"}
KERNELS = ("cnnl", "bang", "mluop")
HEAD: dict[str, NodeValue] = {
    "backend": "PrivateUse1",
    "display_name": "MLU",
    "cpp_namespace": "torch_mlu",
    "use_out_as_primary": True,
    "device_guard": True,
    "override_composite": True,
    "lazy_init": "torch_mlu::lazyInitMLU();",
    "guard": {"type": "torch_mlu::mlu::OptionalMLUGuard", "header": "framework/core/guard.h"},
    "includes": ["aten/operators/all_ops.h"],
    "families": {name: {"namespace": "torch_mlu::ops", "kernel_name": f"{name}_{{name}}"} for name in KERNELS},
}
LEFT_OUT = Code(
    "MLU0001", "an entry of torch_mlu that makes nothing", "The release has no such operator, or no kernel."
)


def recognizes(root: Node) -> bool:
    """Whether a file has the sections of torch_mlu and names no backend."""
    return isinstance(root, Mapping) and root.get("aten") is not None and root.get("backend") is None


def options(name: str, fields: Mapping, context: LoadContext) -> dict[str, NodeValue]:
    """How a dense operator of PyTorch is implemented."""
    function, family = context.operators[name], fields.get("derived_type") or "cnnl"
    kernels = {key.name: kernel.name for key, kernel in function.kernels.items()}
    overrides = fields.get("override_meta") is not None or fields.get("override_impl") is not None
    if not function.structured:
        return {"family": family}
    if kernels.get("CPU") == kernels.get("CUDA") and not overrides:
        return {"stub": True}
    return {"family": family, "structured": True, "define_meta": fields.get("override_meta") is not None}


def rewrite(root: Node, context: LoadContext) -> Mapping:
    """The file as a backend file. An overload that follows from a structured one has no entry there."""
    assert isinstance(root, Mapping)
    sections: dict[str, dict[str, Node]] = {"supported": {}, "sparse": {}, "autograd": {}}
    for name, _, fields in listed_operators(root.get("aten")):
        if name.value not in context.operators or name.value in sections["supported"]:
            reason = "has an entry above" if name.value in sections["supported"] else "is no operator of this release"
            context.sink.note(LEFT_OUT.code, f"`{name.value}` {reason}", name.span)
            continue
        function, dispatch = context.operators[name.value], fields.get("dispatch")
        keys = dispatch.value.split(", ") if isinstance(dispatch, Scalar) else ["PrivateUse1"]
        if "PrivateUse1" in keys and function.structured_delegate is None:
            sections["supported"][name.value] = node_at(name, options(name.value, fields, context))
        if "SparsePrivateUse1" in keys:
            sections["sparse"][name.value] = node_at(name, {"family": fields.get("derived_type") or "cnnl"})
        if fields.get("custom_autograd") is not None:
            kernel = f"torch_mlu::ops::cnnl_{function.name.unambiguous}_autograd"
            sections["autograd"][name.value] = node_at(name, {"kernel": kernel})
    for section, namespace in LIBRARIES.items():
        for name, func, fields in listed_operators(root.get(section)):
            own: dict[str, NodeValue] = {"func": func, "family": fields.get("derived_type") or "cnnl"}
            sections["supported"][f"{namespace}::{name.value}"] = node_at(name, own)
    lists: dict[str, NodeValue] = {
        section: [node_at(own, {name: own}) for name, own in table.items()] for section, table in sections.items()
    }
    return node_at(root, {**HEAD, **lists})


plugin = Plugin(
    "torch_mlu", api=1, codes=[LEFT_OUT], backend_readers=[BackendReader("mlu_functions", recognizes, rewrite)]
)
