"""What is fuzzed: each input file of the generator, cut into entries, with the loader that reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from opwright.emit.autograd import functions as autograd_functions
from opwright.emit.autograd import inplace_or_view, python_functions, variable_type
from opwright.emit.emitter import Job, Options
from opwright.load import load_catalog
from opwright.load.deprecated import load_deprecated
from opwright.load.derivative_matching import match_derivatives
from opwright.load.derivatives import load_derivatives
from opwright.model.catalog import Catalog
from opwright.model.derivatives import Derivatives
from opwright.release.rules import Rules
from opwright.release.version import NEWEST
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from tests.conformance.inputs import pytorch_files
from tests.conformance.mutate import DEPRECATED, DERIVATIVES, NATIVE, split_entries

TAGS = "ATen/native/tags.yaml"
MOST_ENTRIES = 6


@dataclass(frozen=True)
class Target:
    """One input file: its entries, and what reads a text in its place and puts faults into the sink."""

    name: str
    entries: list[str]
    load: Callable[[str, Diagnostics], object]

    def excerpt(self, random: Random) -> str:
        """A few neighbouring entries: small enough to be read thousands of times, large enough to hang together."""
        count = random.randint(1, MOST_ENTRIES)
        start = random.randrange(max(len(self.entries) - count, 1))
        return "".join(self.entries[start : start + count])


def emitted_fragments(derivatives: Derivatives, catalog: Catalog, sink: Diagnostics) -> list[object]:
    """What the emitters of autograd make of derivatives that were accepted, for the operations in them."""
    roots = {function.root_name for function in derivatives.infos}
    functions = [function for function in catalog.functions if function.root_name.removeprefix("_foreach_") in roots]
    matched = match_derivatives(derivatives, functions, sink)
    sink.raise_if_errors()
    job = Job(catalog, Rules(NEWEST), Options(), derivatives=matched)
    made = [python_functions, autograd_functions, variable_type, inplace_or_view]
    return [
        emitter.fragment(unit, job)
        for module in made
        for emitter in module.emitters(job)
        for unit in emitter.units(job)
    ]


def targets() -> list[Target]:
    """Everything that is fuzzed."""
    native = pytorch_files()[NATIVE].decode()
    tags = SourceFile("tags.yaml", pytorch_files()[TAGS].decode())

    def load_native(text: str, sink: Diagnostics) -> object:
        return load_catalog(SourceFile("native_functions.yaml", text), tags, sink)

    def load_tags(text: str, sink: Diagnostics) -> object:
        return load_catalog(SourceFile("native_functions.yaml", "[]"), SourceFile("tags.yaml", text), sink)

    catalog = load_catalog(SourceFile("native_functions.yaml", native), tags, Diagnostics())

    def load_formulas(text: str, sink: Diagnostics) -> object:
        derivatives = load_derivatives(SourceFile("derivatives.yaml", text), catalog, sink, strict=len(text) % 2 == 0)
        return None if sink.has_errors else emitted_fragments(derivatives, catalog, sink)

    def load_signatures(text: str, sink: Diagnostics) -> object:
        return load_deprecated(SourceFile("deprecated.yaml", text), catalog.functions, sink)

    return [
        Target("native_functions.yaml", split_entries(native)[1], load_native),
        Target("tags.yaml", tags.text.replace("\n- tag:", "\n\f- tag:").split("\f"), load_tags),
        Target("derivatives.yaml", split_entries(pytorch_files()[DERIVATIVES].decode())[1], load_formulas),
        Target("deprecated.yaml", split_entries(pytorch_files()[DEPRECATED].decode())[1], load_signatures),
    ]
