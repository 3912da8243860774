"""Operator libraries outside PyTorch: files like `native_functions.yaml` whose operators are added to the catalog."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from opwright.dialects.native_functions.loader import load_catalog
from opwright.model.catalog import Catalog
from opwright.model.native_function import NativeFunction
from opwright.release.rules import Rules
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, Label
from opwright.source.span import Span
from opwright.source.text import SourceFile

__all__ = ["add_operators", "load_libraries"]


def load_libraries(
    base: Catalog, files: Sequence[SourceFile], tags: SourceFile, sink: Diagnostics, rules: Rules
) -> Catalog:
    """The catalog with the operators of further files, in any namespaces.

    Each file is loaded separately, so two files may define the same name in different namespaces. All faults go to
    `sink`. The catalog lacks entries with faults, and has the first of two entries for one overload.
    """
    loaded = [load_catalog(file, tags, sink, rules).functions for file in files]
    return add_operators(base, [function for functions in loaded for function in functions], sink)


def add_operators(base: Catalog, operators: Iterable[NativeFunction], sink: Diagnostics) -> Catalog:
    """The catalog with more operators. A second one of a name is a fault, which goes to `sink`, and left out."""
    by_name = {(overload.namespace, overload.name.text): overload for overload in base.functions}
    functions = list(base.functions)
    for function in operators:
        earlier = by_name.setdefault((function.namespace, function.name.text), function)
        if earlier is function:
            functions.append(function)
        else:
            _report_twice(function, earlier, sink)
    # Groups serve kernels and registrations, which each library generates for itself.
    return base.replace(functions=tuple(functions))


def _report_twice(function: NativeFunction, earlier: NativeFunction, sink: Diagnostics) -> None:
    message = f"second entry for `{function.namespace}::{function.name.text}`"
    also = (Label(_name_span(earlier), "first entry", False),)
    sink.error(codes.OVERLOAD_TWICE, message, _name_span(function), also=also)


def _name_span(function: NativeFunction) -> Span:
    """The span of the operator's name in its entry; the start of the entry for a synthesized overload."""
    entry, name = function.entry, function.name.text
    start = max(entry.text.find(name), 0) + entry.start
    return Span(entry.file, start, start + len(name))
