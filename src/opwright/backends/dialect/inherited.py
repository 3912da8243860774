"""Kernels of PyTorch for the operators of a backend that have no entry: `inherit_kernels`."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final

from opwright.dialects.field import TEXT, Field, choice
from opwright.dialects.values import RELEASE_FIELDS, Releases, read_fields, read_text, read_word
from opwright.source.expect import expect_sequence
from opwright.source.nodes import Node
from opwright.source.records import NamedTuple
from opwright.source.span import Span

#: Where kernels are inherited from, with help.
SOURCES: Final = {
    "CPU": "PyTorch's kernel for the CPU.",
    "CUDA": "PyTorch's kernel for CUDA.",
    "shared": "The kernel that PyTorch has for the CPU and CUDA alike.",
}
#: The sections for which PyTorch has kernels of the CPU and CUDA.
SECTIONS_WITH_SOURCES: Final = ("supported", "sparse", "sparse_csr", "quantized", "nested_tensor")

INHERITED_FIELDS: Final = (
    Field("match", "text", TEXT, "A pattern of operator names, such as `_foreach_*`.", is_required=True),
    Field(
        "from",
        "text",
        choice(*SOURCES),
        "Where the kernels are taken from: `CPU`, `CUDA` or `shared`.",
        is_required=True,
    ),
    Field(
        "section", "text", choice(*SECTIONS_WITH_SOURCES), "The section that has the kernels; `supported` without it."
    ),
    *RELEASE_FIELDS,
)


class InheritedKernels(NamedTuple):
    """A rule: operators whose names match a pattern have PyTorch's kernels. `span` is the place of the pattern."""

    pattern: str
    source: str
    section: str
    span: Span

    def matches(self, name: str) -> bool:
        """Whether the rule is about an operator."""
        return fnmatchcase(name, self.pattern)


def read_inherited(node: Node, releases: Releases) -> list[InheritedKernels]:
    """Rules of a list for the release of the run; those with faults are left out."""
    rules, sink = [], releases.sink
    items = expect_sequence(node, "`inherit_kernels`", sink)
    for item in () if items is None else items:
        fields = read_fields(item, "inherit_kernels", INHERITED_FIELDS, sink)
        if fields is None or "match" not in fields or "from" not in fields:
            continue
        span = releases.span(fields)
        if span is None or not span.includes(releases.version):
            continue
        pattern = read_text(fields["match"], "match", sink)
        source = read_word(fields["from"], "from", SOURCES, sink)
        section = "supported"
        if "section" in fields:
            section = read_word(fields["section"], "section", SECTIONS_WITH_SOURCES, sink)
        if pattern and source and section:
            rules.append(InheritedKernels(pattern, source, section, fields["match"].span))
    return rules
