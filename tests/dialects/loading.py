"""Loads a YAML text in tests, and gives what is found as plain values."""

from __future__ import annotations

from opwright.dialects.native_functions.loader import load_catalog
from opwright.model.catalog import Catalog
from opwright.model.dispatch_key import key_named
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile

NAMES = ("core", "pointwise", "nondeterministic_seeded", "view_copy", "inplace_view", "generated", "pt2_compliant_tag")
TAGS = "".join(f"- tag: {name}\n  desc: A tag.\n" for name in (*NAMES, "out", "inplace"))


def load_text(text: str, tags: str = TAGS, ignored: tuple[str, ...] = ()) -> tuple[Catalog, Diagnostics]:
    """The catalog of a text, and the sink with its faults."""
    sink = Diagnostics()
    ignored_keys = frozenset(key_named(name) for name in ignored)
    native, tags_file = SourceFile("native.yaml", text), SourceFile("tags.yaml", tags)
    return load_catalog(native, tags_file, sink, ignored_keys=ignored_keys), sink


def found_faults(sink: Diagnostics) -> tuple[tuple[int, int, int, str], ...]:
    """The faults in a sink as (line, column, width, code), in order; the width counts the first line alone."""
    faults = []
    for diagnostic in sink.sorted():
        span = diagnostic.span
        assert span is not None, diagnostic
        width = len(span.text.split("\n", 1)[0])
        faults.append((span.line, span.column, width, diagnostic.code))
    return tuple(sorted(faults))
