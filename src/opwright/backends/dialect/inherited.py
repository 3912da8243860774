"""Kernels of PyTorch that backends inherit, and those for operators that have no entry: `inherit_kernels`."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final

from opwright.backends.dialect.sections import DENSE, SectionKind
from opwright.backends.dialect.texts import read_text, read_word
from opwright.dialects.field import TEXT, Field, choice
from opwright.dialects.values import RELEASE_FIELDS, Releases, read_fields
from opwright.model.dispatch_key import KEYS
from opwright.model.native_function import Kernel, NativeFunction
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


#: The devices whose kernels backends inherit, and the word for a kernel that all of them have.
DEVICES: Final = ("CPU", "CUDA")
SHARED: Final = "shared"


def inherited_kernel(function: NativeFunction, source: str, kind: SectionKind) -> tuple[Kernel | None, str]:
    """Kernel of PyTorch's that a section inherits for a function; if there is none, None with what to do instead.

    The source is a device, or `shared`. Sections for other tensors than dense ones inherit kernels for these tensors.
    Element-wise kernels that PyTorch generates are shared, because they call loops by the device of their tensors.
    """
    keys = {device: KEYS.get(kind.prefix + device) for device in DEVICES}
    kernels = {device: function.kernels[key] for device, key in keys.items() if key in function.kernels}
    if source == SHARED and len(kernels) == len(DEVICES):
        names = {f"{kernel.namespace}::{kernel.name}" for kernel in kernels.values()}
        if len(names) == 1 or (function.ufunc and kind.is_dense):
            return kernels[DEVICES[0]], ""
        return None, "; ".join([f"`inherit: {device}` is `{kernel.name}`" for device, kernel in kernels.items()])
    if kernels:
        return kernels.get(source), f"write `inherit: {next(iter(kernels))}`"
    return None, _absent_help(function)


def shared_kernel(function: NativeFunction) -> Kernel | None:
    """Kernel for dense tensors that PyTorch has for the CPU and CUDA alike; None if it has none."""
    return inherited_kernel(function, SHARED, DENSE)[0]


def _absent_help(function: NativeFunction) -> str:
    if function.structured_delegate is not None:
        return f"`{function.structured_delegate}` has the kernel"
    if function.has_composite_kernel:
        return "delete the entry: PyTorch implements the operator for all devices"
    return ""
