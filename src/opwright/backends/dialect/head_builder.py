"""Head of a backend file, as the readers of its fields fill it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from opwright.backends.dialect.hooks import HookNode
from opwright.backends.dialect.inherited import InheritedKernels
from opwright.backends.dialect.kernel_families import KernelFamily
from opwright.dialects.values import Releases
from opwright.model.wrapper_options import NO_HEAD_OPTIONS, HeadOptions
from opwright.release.rules import Rules
from opwright.release.version_range import VersionRange
from opwright.source.diagnostic import Diagnostics
from opwright.source.nodes import MappingNode, Node, Scalar
from opwright.source.span import Span


class HeadBuilder:
    """Values of a head's fields.

    `sections` has the entries of each section as nodes, and `symint`, `manual` and `refused` the names of
    operators. `inherited` has the rules by which operators without an entry have kernels of PyTorch, and
    `library_files` the paths of library files with the backend's operators. `spans` has the span of each
    field's value. `options` are those that PyTorch's generator does not know.
    """

    __slots__ = (
        "_names",
        "backend",
        "class_name",
        "convention",
        "cpp_namespace",
        "device_guard",
        "display_name",
        "families",
        "hooks",
        "inherited",
        "is_rewritten",
        "kernel_name",
        "library_files",
        "manual",
        "options",
        "out_is_primary",
        "refused",
        "root",
        "rules",
        "sections",
        "sink",
        "spans",
        "symint",
        "torch",
    )

    def __init__(self, root: MappingNode, rules: Rules, sink: Diagnostics) -> None:
        self.root: Final = root
        self.rules: Final = rules
        self.sink: Final = sink
        self.spans: Final = {key.value: value.span for key, value in root.entries}
        self.sections: Final[dict[str, list[Node]]] = {}
        self._names: Final[dict[str, frozenset[str]]] = {}
        self.backend = ""
        self.cpp_namespace = ""
        self.class_name: str | None = None
        self.display_name = ""
        self.out_is_primary = False
        #: Whether a plug-in made the nodes, from a file of another form.
        self.is_rewritten = False
        self.device_guard = False
        self.symint: list[Scalar] = []
        self.manual: list[Scalar] = []
        self.refused: list[Scalar] = []
        self.torch = VersionRange()
        self.kernel_name = "{name}"
        self.convention: Scalar | None = None
        self.families: dict[str, KernelFamily] = {}
        self.inherited: list[InheritedKernels] = []
        self.hooks: list[HookNode] = []
        self.library_files: list[Scalar] = []
        self.options: HeadOptions = NO_HEAD_OPTIONS

    def span(self, field: str) -> Span:
        """Span of a field's value; the whole file if it has none."""
        return self.spans.get(field, self.root.span)

    @property
    def releases(self) -> Releases:
        """Release of the run, and those of the file."""
        return Releases(self.rules.version, self.torch, self.sink)

    def key_span(self, field: str) -> Span:
        """Span of a field's key; that of the first key if the file does not have the field."""
        keys = {key.value: key.span for key, _ in self.root.entries}
        span = keys.get(field, next(iter(keys.values()), self.root.span))
        # A key that a plug-in made may have the place of the whole file.
        return span.first_line if self.is_rewritten else span

    @property
    def conventions(self) -> tuple[tuple[str, Span], ...]:
        """Calling conventions that the file names, each with its first place."""
        scalars = [self.convention, *[family.convention for family in self.families.values()]]
        named = {scalar.value: scalar.span for scalar in reversed(scalars) if scalar is not None}
        return tuple(named.items())

    def names(self, section: str) -> frozenset[str]:
        """Names of operators in a section, whatever the options of their entries."""
        names = self._names.get(section)
        if names is None:
            items = self.sections.get(section, ())
            names = self._names[section] = frozenset([name.value for item in items for name in _names(item)])
        return names

    @property
    def symint_names(self) -> frozenset[str]:
        """Names of operators whose kernels take symbolic integers."""
        names = self._names.get("symint")
        if names is None:
            names = self._names["symint"] = frozenset([name.value for name in self.symint])
        return names


def _names(item: Node) -> list[Scalar]:
    if isinstance(item, MappingNode):
        return [key for key, _ in item.entries[:1]]
    return [item] if isinstance(item, Scalar) else []


HeadReader: TypeAlias = Callable[[Node, HeadBuilder], None]
"""Reads the value of a field."""
