"""op-plugin: `op_plugin_functions.yaml`, whose entries say for which releases each library has a kernel.

    opwright generate --plugin op_plugin.py --backend op_plugin_functions.yaml ...

A value is `all_version`, a range `[v2.1, newest]`, or releases with commas between them. The functions of `op_plugin`
choose between the libraries when they are called.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from opwright.plugin import (
    BackendReader,
    Code,
    ListedOperator,
    LoadContext,
    Mapping,
    Node,
    NodeValue,
    Plugin,
    Scalar,
    Sequence,
    listed_operators,
    node_at,
)

KERNELS = ("acl_op", "op_api", "dvm")
HEAD: dict[str, NodeValue] = {
    "backend": "PrivateUse1",
    "display_name": "NPU",
    "cpp_namespace": "op_plugin",
    "default_args": True,
    "device_guard": True,
    "use_out_as_primary": True,
    "override_composite": True,
    "derived_overloads": False,
    "families": {"op_plugin": {"namespace": "op_plugin"}},
}
LEFT_OUT = Code("OPP0001", "an entry of op-plugin that makes nothing", "No library has a kernel of it in this release.")


def recognizes(root: Node) -> bool:
    """Whether a file lists the releases of op-plugin."""
    return isinstance(root, Mapping) and root.get("all_version") is not None and root.get("official") is not None


def words(node: Node | None) -> list[str]:
    """The texts of a list, or those between the commas of a text."""
    if isinstance(node, Sequence):
        return [item.value for item in node if isinstance(item, Scalar)]
    return [word.strip() for word in node.value.split(",")] if isinstance(node, Scalar) else []


def holds(node: Node | None, release: str, known: list[str]) -> bool:
    """Whether a value covers a release. Releases after the last known one are like it."""
    names = [known[-1] if word == "newest" else word for word in words(node)]
    if isinstance(node, Sequence) and len(names) == 2 and set(names) <= {*known}:
        return known.index(names[0]) <= known.index(release) <= known.index(names[1])
    return release in names or names == ["all_version"]


def entries(root: Mapping, section: str, context: LoadContext, own: Container[str] = ()) -> Iterator[ListedOperator]:
    """The entries of a section that make something in the release of the run.

    `own` are the names of operators that PyTorch does not have.
    """
    known, release = words(root.get("all_version")), f"v{context.rules.version.series}"
    for operator in listed_operators(root.get(section)):
        name = operator.name
        if not any(
            holds(operator.fields.get(key), release if release in known else known[-1], known) for key in KERNELS
        ):
            context.sink.note(LEFT_OUT.code, f"`{name.value}` has no kernel for dense tensors in {release}", name.span)
        elif section != "custom" and name.value not in own and name.value not in context.operators:
            context.sink.note(LEFT_OUT.code, f"`{name.value}` is no operator of this release", name.span)
        else:
            yield operator


def rewrite(root: Node, context: LoadContext) -> Mapping:
    """The file as a backend file."""
    assert isinstance(root, Mapping)
    custom = {name.value: (name, func) for name, func, _ in entries(root, "custom", context)}
    symint = [*entries(root, "symint", context, custom)]
    supported: dict[str, Node] = {}
    for name, _, fields in [*entries(root, "official", context), *symint]:
        checks: dict[str, NodeValue] = {"device_check": False} if fields.get("device_check") is not None else {}
        if name.value not in custom:
            supported.setdefault(name.value, node_at(name, {name.value: {**checks, "family": "op_plugin"}}))
    for own, (name, func) in custom.items():
        supported[f"npu::{own}"] = node_at(name, {f"npu::{own}": {"func": func, "family": "op_plugin"}})
    names = dict.fromkeys([f"npu::{name.value}" if name.value in custom else name.value for name, _, _ in symint])
    sections: dict[str, NodeValue] = {"supported": [*supported.values()], "symint": [*names]}
    for section, own in (("quantized", "quant"), ("autograd", "autograd")):
        kernels = [(name, f"op_plugin::{name.value.partition('.')[0]}") for name, _, _ in entries(root, own, context)]
        sections[section] = [node_at(name, {name.value: {"kernel": kernel}}) for name, kernel in kernels]
    return node_at(root, {**HEAD, **sections})


plugin = Plugin(
    "op_plugin", api=1, codes=[LEFT_OUT], backend_readers=[BackendReader("op_plugin_functions", recognizes, rewrite)]
)
