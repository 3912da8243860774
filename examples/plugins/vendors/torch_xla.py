"""torch_xla, and others with a file for PyTorch's generator: operators that a newer release lacks are left out.

opwright generate --plugin torch_xla.py --backend xla_native_functions.yaml ...
"""

from __future__ import annotations

from opwright.plugin import (
    BackendReader,
    LoadContext,
    MappingNode,
    Node,
    Plugin,
    known_operators,
    listed_operators,
    text_of,
    with_entries,
)

SECTIONS = ("supported", "full_codegen", "autograd", "ir_gen")


def recognizes(root: Node) -> bool:
    """Whether a file is of a backend with lazy tensors."""
    return text_of(root.get("backend")) in ("XLA", "Lazy")


def rewrite(root: Node, context: LoadContext) -> MappingNode:
    """The file without operators that the release does not have."""
    assert isinstance(root, MappingNode)
    sections = {section: known_operators(listed_operators(root.get(section)), context) for section in SECTIONS}
    lists = {section: [name for name, _, _ in found] for section, found in sections.items() if root.get(section)}
    symint = [name for name, _, _ in listed_operators(root.get("symint")) if name.value in context.operators]
    return with_entries(root, {**lists, "symint": symint})


plugin = Plugin("torch_xla", api=1, backend_readers=[BackendReader("xla_native_functions", recognizes, rewrite)])
