"""Backend files with lazy tensors, as runs read them that are not drop-in programs."""

from __future__ import annotations

from opwright.backends.dialect.lazy import load
from opwright.backends.lazy_backend import LazyBackend, NodeMember, NodeShape
from opwright.dialects.dialect import LoadContext
from opwright.release.inputs import open_inputs
from opwright.release.rules import Rules
from opwright.release.version import parse_version
from opwright.run.loading import load as load_catalog
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from tests.dialects.loading import found_faults

FILE = """\
backend: Lazy
cpp_namespace: acme::lazy
full_codegen:
  - tanh
  - slice_copy.Tensor
supported:
  - abs
symint:
  - slice_copy.Tensor
ir_gen:
  - selu
non_native:
  - func: scalar(Scalar value) -> Tensor
    opkind: at::prim::Constant
    properties: [ShapeCompute, TreatScalarsAsConstants, Lower]
"""


def loaded(text: str) -> tuple[tuple[LazyBackend, ...], Diagnostics]:
    """The backends of a file, and its faults."""
    sink = Diagnostics()
    catalog = load_catalog("auto")
    rules = Rules(parse_version("2.13.0"))
    context = LoadContext(sink, rules, open_inputs("auto"), catalog, catalog.functions)
    return load([SourceFile("lazy.yaml", text)], context), sink


def test_sections_are_in_the_model() -> None:
    """Generated entries are those of `full_codegen` alone; nodes have the properties of their groups."""
    (backend,), sink = loaded(FILE)
    assert not len(sink)
    assert [(entry.function.name.text, entry.kernel.name) for entry in backend.generated] == [
        ("tanh", "tanh"),
        ("slice_copy.Tensor", "slice_copy_symint"),
    ]
    assert [entry.function.name.text for entry in backend.nodes] == ["selu"]
    (node,) = backend.non_native
    assert (node.op_kind, node.properties.shape, node.properties.lower, node.properties.reuse) == (
        "at::prim::Constant",
        NodeShape.computed,
        NodeMember.defined,
        NodeMember.defined,
    )
    assert node.properties.constant_scalars


def test_what_has_no_effect_is_an_error() -> None:
    """Outside of drop-in programs, unknown nodes and fields are errors."""
    _, sink = loaded(FILE.replace("- selu", "- sellu").replace("opkind:", "op_kind:"))
    assert [(line, code) for line, _, _, code in found_faults(sink)] == [(11, "E1602"), (14, "E1604")]
