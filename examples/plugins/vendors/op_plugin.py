"""op-plugin: `op_plugin_functions.yaml`, whose entries say for which releases each library has a kernel.

    opwright generate --plugin op_plugin.py --backend op_plugin_functions.yaml ...

A value is `all_version`, a range `[v2.1, newest]`, or releases with commas between them. The functions of `op_plugin`
choose between the libraries when they are called.
"""

from __future__ import annotations

from collections.abc import Iterator

from opwright.plugin import (
    BackendReader,
    ListedOperator,
    LoadContext,
    MappingNode,
    Node,
    NodeValue,
    Plugin,
    SequenceNode,
    known_operators,
    leave_out,
    listed_operators,
    node_at,
    texts_of,
)

SECTIONS = ("official", "custom", "symint", "quant", "autograd")
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


def recognizes(root: Node) -> bool:
    """Whether a file lists the releases of op-plugin."""
    return root.get("all_version") is not None and root.get("official") is not None


def words(node: Node | None) -> list[str]:
    """The texts of a list, or those between the commas of a text."""
    return [word.strip() for text in texts_of(node) for word in text.split(",")]


def holds(node: Node | None, release: str, known: list[str]) -> bool:
    """Whether a value covers a release. Releases after the last known one are like it."""
    names = [known[-1] if word == "newest" else word for word in words(node)]
    if isinstance(node, SequenceNode) and len(names) == 2 and set(names) <= {*known}:
        return known.index(names[0]) <= known.index(release) <= known.index(names[1])
    return release in names or names == ["all_version"]


def reason(operator: ListedOperator, known: list[str], context: LoadContext) -> str:
    """Why an entry makes nothing in a release; empty if it makes something."""
    release = f"v{context.rules.version.series}"
    if "Dimname" in operator.func.value and not context.rules.dispatcher_takes_dimnames:
        return f"has the type `Dimname`, which {release} does not have"
    covered = release if release in known else known[-1]
    if any(holds(operator.fields.get(key), covered, known) for key in KERNELS):
        return ""
    return f"has no kernel for dense tensors in {release}"


def checks(operator: ListedOperator) -> dict[str, NodeValue]:
    """What the entry of an operator says of its device check."""
    return {"device_check": False} if operator.fields.get("device_check") is not None else {}


def rewrite(root: Node, context: LoadContext) -> MappingNode:
    """The file as a backend file."""
    known = words(root.get("all_version"))
    lists = {section: [*listed_operators(root.get(section))] for section in SECTIONS}
    own = {operator.name.value: reason(operator, known, context) for operator in lists["custom"]}
    for name, _, _ in lists["custom"]:
        if own[name.value]:
            leave_out(name, own[name.value], context)

    def implemented(operators: list[ListedOperator]) -> Iterator[ListedOperator]:
        return known_operators(operators, context, lambda operator: reason(operator, known, context))

    official = [*lists["official"], *[operator for operator in lists["symint"] if operator.name.value not in own]]
    entries = [operator.entry({"family": "op_plugin", **checks(operator)}) for operator in implemented(official)]
    custom = [operator for operator in lists["custom"] if not own[operator.name.value]]
    entries += [operator.entry({"family": "op_plugin"}, namespace="npu") for operator in custom]
    taken = {name.value for entry in entries for name, _ in entry}
    names = [f"npu::{name.value}" if name.value in own else name.value for name, _, _ in lists["symint"]]
    sections: dict[str, NodeValue] = {"supported": entries, "symint": sorted(taken.intersection(names))}
    for section, source in (("quantized", "quant"), ("autograd", "autograd")):
        sections[section] = [
            operator.entry({"kernel": f"op_plugin::{operator.name.value.partition('.')[0]}"})
            for operator in implemented(lists[source])
        ]
    return node_at(root, {**HEAD, **sections})


plugin = Plugin("op_plugin", api=1, backend_readers=[BackendReader("op_plugin_functions", recognizes, rewrite)])
