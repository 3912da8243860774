"""What is fuzzed: each dialect of YAML that is read, cut into entries, with what is made of a text in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random

from opwright.build.outputs import outputs_of
from opwright.dialects.deprecated.loader import load_deprecated
from opwright.dialects.derivatives.loader import load_derivatives
from opwright.dialects.derivatives.matching import match_derivatives
from opwright.dialects.native_functions.loader import load_catalog
from opwright.dialects.selection.loader import check_selection, load_selection
from opwright.emit.aten.kernel_checks import check_kernels
from opwright.emit.autograd import functions as autograd_functions
from opwright.emit.autograd import inplace_or_view, python_functions, variable_type
from opwright.emit.checks import check_emittable
from opwright.emit.emitter import Job, Options
from opwright.emit.python.units import check_bindings, check_modules
from opwright.emit.registry import FAMILIES, emitters
from opwright.emit.stubs.files import emitters as stub_emitters
from opwright.model.catalog import Catalog
from opwright.model.derivatives import Derivatives
from opwright.model.dispatch_key import CPU
from opwright.release.rules import Rules
from opwright.release.version import NEWEST
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from tests.conformance.inputs import pytorch_files
from tests.conformance.mutate import DEPRECATED, DERIVATIVES, NATIVE, base_name, split_entries
from tests.conformance.selections import SELECTIONS

TAGS = "ATen/native/tags.yaml"
MOST_ENTRIES = 6
RULES = Rules(NEWEST)

#: The options that fragments differ by most.
OPTIONS = (
    Options(),
    Options(per_operator_headers=False, static_dispatch=(CPU,)),
    Options(rocm=True, extend_c_shim=True),
    Options(skip_dispatcher_registration=True, backends=frozenset((CPU,))),
)


@dataclass(frozen=True)
class Target:
    """One dialect: its entries, and what reads a text of it, emits what was accepted, and puts faults into the sink."""

    name: str
    entries: list[str]
    load: Callable[[str, Diagnostics], object]
    groups: tuple[tuple[str, ...], ...] = ()
    most: int = MOST_ENTRIES

    def excerpt(self, random: Random) -> str:
        """A few entries that hang together or stand side by side: small enough to be read thousands of times."""
        if self.groups and random.random() < 0.6:
            return "".join(random.choice(self.groups)[: self.most + 2])
        count = random.randint(1, self.most)
        start = random.randrange(max(len(self.entries) - count, 1))
        return "".join(self.entries[start : start + count])


def made_fragments(made: Iterable[object], job: Job) -> list[object]:
    """The texts that the emitters of some modules make of every unit."""
    return [
        emitter.fragment(unit, job)
        for module in made
        for emitter in module.emitters(job)  # type: ignore[attr-defined]
        for unit in emitter.units(job)
    ]


def emitted_fragments(derivatives: Derivatives, catalog: Catalog, sink: Diagnostics) -> list[object]:
    """What the emitters of autograd make of derivatives that were accepted, for the operations in them."""
    roots = {function.root_name for function in derivatives.infos}
    functions = [function for function in catalog.functions if function.root_name.removeprefix("_foreach_") in roots]
    matched = match_derivatives(derivatives, functions, sink)
    sink.raise_if_errors()
    job = Job(catalog, RULES, Options(), derivatives=matched)
    return made_fragments((python_functions, autograd_functions, variable_type, inplace_or_view), job)


#: The view whose result is declared not to be differentiable: autograd cannot keep its argument.
VIEW = "view.dtype"
DERIVATIVE_OF_VIEW = f"""\
- name: {VIEW}(Tensor(a) self, ScalarType dtype) -> Tensor(a)
  output_differentiability: [False]
"""


def emitted_files(catalog: Catalog, options: Options, sink: Diagnostics) -> int:
    """How many files every family makes of a catalog that was accepted, after the checks that a run makes."""
    has_view = any(function.name.text == VIEW for function in catalog.functions)
    formulas = SourceFile("derivatives.yaml", DERIVATIVE_OF_VIEW if has_view else "[]")
    derivatives = load_derivatives(formulas, catalog, sink)
    # Foreach functions take their derivatives over from others, which there are none of here.
    derived = [function for function in catalog.functions if not function.name.base.startswith("_foreach_")]
    job = Job(catalog, RULES, options, derivatives=match_derivatives(derivatives, derived, sink))
    check_emittable(job, sink)
    check_kernels(job, FAMILIES, sink)
    check_modules(job, sink)
    check_bindings(job, sink)
    sink.raise_if_errors()
    count = 0
    for emitter in [*emitters(job, FAMILIES), *stub_emitters(job)]:
        for output in outputs_of(emitter, job):
            count += 1
            if callable(output.slots):
                output.slots()
    return count


def grouped(entries: list[str]) -> tuple[tuple[str, ...], ...]:
    """The entries of each operator together."""
    groups: dict[str, list[str]] = {}
    for entry in entries:
        if entry.startswith("- func:"):
            groups.setdefault(base_name(entry), []).append(entry)
    return tuple(map(tuple, groups.values()))


def targets() -> list[Target]:
    """Everything that is fuzzed."""
    native = pytorch_files()[NATIVE].decode()
    tags = SourceFile("tags.yaml", pytorch_files()[TAGS].decode())
    entries = split_entries(native)[1]

    def load_native(text: str, sink: Diagnostics) -> object:
        catalog = load_catalog(SourceFile("native_functions.yaml", text), tags, sink, RULES)
        sink.raise_if_errors()
        return emitted_files(catalog, OPTIONS[len(text) % len(OPTIONS)], sink)

    def load_tags(text: str, sink: Diagnostics) -> object:
        return load_catalog(SourceFile("native_functions.yaml", "[]"), SourceFile("tags.yaml", text), sink)

    catalog = load_catalog(SourceFile("native_functions.yaml", native), tags, Diagnostics())

    def load_formulas(text: str, sink: Diagnostics) -> object:
        derivatives = load_derivatives(SourceFile("derivatives.yaml", text), catalog, sink, strict=len(text) % 2 == 0)
        return None if sink.has_errors else emitted_fragments(derivatives, catalog, sink)

    def load_signatures(text: str, sink: Diagnostics) -> object:
        return load_deprecated(SourceFile("deprecated.yaml", text), catalog.functions, sink)

    def load_selected(text: str, sink: Diagnostics) -> object:
        selection = load_selection(SourceFile("selection.yaml", text), sink)
        check_selection(selection, catalog, sink, tolerant=len(text) % 2 == 0)
        return [selection.selects_for_training(function) for function in catalog.functions[:100]]

    return [
        Target("native_functions.yaml", entries, load_native, grouped(entries)),
        Target("tags.yaml", tags.text.replace("\n- tag:", "\n\f- tag:").split("\f"), load_tags),
        Target("derivatives.yaml", split_entries(pytorch_files()[DERIVATIVES].decode())[1], load_formulas),
        Target("deprecated.yaml", split_entries(pytorch_files()[DEPRECATED].decode())[1], load_signatures),
        Target("selection.yaml", list(SELECTIONS.values()), load_selected, most=1),
    ]
