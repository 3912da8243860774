"""torch_xla, and others with a file for PyTorch's own generator: operators that a newer release lacks are left out.

opwright generate --plugin torch_xla.py --backend xla_native_functions.yaml ...
"""

from __future__ import annotations

from opwright.plugin import BackendReader, Code, LoadContext, Mapping, Node, Plugin, Scalar, Sequence, with_entries

SECTIONS = ("supported", "full_codegen", "autograd", "symint", "ir_gen")
LEFT_OUT = Code("XLA0001", "an operator that the release does not have", "The entry is for older releases.")


def recognizes(root: Node) -> bool:
    """Whether a file is of a backend with lazy tensors."""
    backend = root.get("backend") if isinstance(root, Mapping) else None
    return isinstance(backend, Scalar) and backend.value in ("XLA", "Lazy")


def rewrite(root: Node, context: LoadContext) -> Mapping:
    """The file without operators that the release does not have."""
    assert isinstance(root, Mapping)
    sections = {}
    for section in SECTIONS:
        items = root.get(section)
        if isinstance(items, Sequence):
            gone = [item for item in items if isinstance(item, Scalar) and item.value not in context.operators]
            for name in gone:
                context.sink.note(LEFT_OUT.code, f"`{name.value}` is no operator of this release", name.span)
            left = [item for item in items if item not in gone]
            sections[section] = Sequence(items.file, items.start, items.end, left)
    return with_entries(root, {**sections, "override_composite": True})


plugin = Plugin(
    "torch_xla", api=1, codes=[LEFT_OUT], backend_readers=[BackendReader("xla_native_functions", recognizes, rewrite)]
)
