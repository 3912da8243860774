"""torch_mlu: `mlu_functions.yaml`, with a section for the operators of each library.

    opwright generate --plugin torch_mlu.py --backend mlu_functions.yaml ...

Kernels are functions of `torch_mlu::ops`, whose names begin with the library of kernels that they use. Structured ones
are PyTorch's where the CPU and CUDA share them, unless the entry overrides them.
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
    known_operators,
    listed_operators,
    node_at,
    text_of,
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


def recognizes(root: Node) -> bool:
    """Whether a file has the sections of torch_mlu and names no backend."""
    return root.get("aten") is not None and root.get("backend") is None


def family(fields: MappingNode) -> dict[str, NodeValue]:
    """The library that has the kernel of an entry."""
    return {"family": text_of(fields.get("derived_type")) or "cnnl"}


def options(function: NativeFunction, fields: MappingNode) -> dict[str, NodeValue]:
    """How a dense operator of PyTorch is implemented."""
    kernels = {key.name: kernel.name for key, kernel in function.kernels.items()}
    overrides = fields.get("override_meta") is not None or fields.get("override_impl") is not None
    if not function.structured:
        return family(fields)
    if kernels.get("CPU") == kernels.get("CUDA") and not overrides:
        return {"stub": True}
    return {**family(fields), "structured": True, "define_meta": fields.get("override_meta") is not None}


def rewrite(root: Node, context: LoadContext) -> MappingNode:
    """The file as a backend file. An overload that follows from a structured one has no entry there."""
    sections: dict[str, list[NodeValue]] = {"supported": [], "sparse": [], "autograd": []}
    for operator in known_operators(listed_operators(root.get("aten")), context):
        function, fields = context.operators[operator.name.value], operator.fields
        keys = (text_of(fields.get("dispatch")) or "PrivateUse1").split(", ")
        if "PrivateUse1" in keys and function.structured_delegate is None:
            sections["supported"].append(operator.entry(options(function, fields)))
        if "SparsePrivateUse1" in keys:
            sections["sparse"].append(operator.entry(family(fields)))
        if fields.get("custom_autograd") is not None:
            kernel = f"torch_mlu::ops::cnnl_{function.name.unambiguous}_autograd"
            sections["autograd"].append(operator.entry({"kernel": kernel}))
    for section, namespace in LIBRARIES.items():
        for operator in listed_operators(root.get(section)):
            sections["supported"].append(operator.entry(family(operator.fields), namespace))
    return node_at(root, {**HEAD, **sections})


plugin = Plugin("torch_mlu", api=1, backend_readers=[BackendReader("mlu_functions", recognizes, rewrite)])
