"""What is fuzzed: each dialect that is read, cut into entries, with what is made of a text in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from opwright.backends.choices import LazyNames
from opwright.backends.external_backend import ExternalBackend, RunBackends
from opwright.backends.lazy_backend import LazyBackend, RunLazyBackends
from opwright.backends.rows import BACKEND, LAZY
from opwright.dialects.derivatives.loader import load_derivatives
from opwright.dialects.derivatives.matching import match_derivatives
from opwright.dialects.dialect import Dialect, LoadContext
from opwright.dialects.docstrings import Evaluator
from opwright.dialects.python_source import parse_module
from opwright.dialects.selection import check_selection
from opwright.dialects.table import (
    DERIVATIVES,
    DIALECTS,
    DOCSTRINGS,
    NATIVE_FUNCTIONS,
    SELECTION,
    TEMPLATES_OF_STUBS,
)
from opwright.emit.autograd import functions as autograd_functions
from opwright.emit.autograd import inplace_or_view, python_functions, variable_type
from opwright.emit.checks import check_emittable
from opwright.emit.emitter import Job, Options
from opwright.emit.registry import FAMILIES, checks_of, emitters
from opwright.files.plan import file_specs
from opwright.libraries.operator_library import OperatorLibrary, RunLibraries
from opwright.libraries.rows import LIBRARY
from opwright.mobile.executorch_choices import ExecutorchOptions
from opwright.mobile.executorch_operators import ExecutorchOperator, ExecutorchOperators, RunExecutorch
from opwright.mobile.families import EXECUTORCH_FAMILIES
from opwright.mobile.rows import EXECUTORCH, UPGRADERS
from opwright.mobile.upgrader_tables import UpgraderTables
from opwright.mobile.upgraders.emitter import upgrader_source
from opwright.model.catalog import Catalog
from opwright.model.derivatives import Derivatives
from opwright.model.dispatch_key import CPU, dispatch_keys
from opwright.model.more_inputs import Docstring
from opwright.model.selection import Selection
from opwright.release.inputs import Inputs, open_inputs
from opwright.release.rules import Rules
from opwright.release.version import NEWEST
from opwright.source.codes import UNKNOWN_FORM
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.text import SourceFile
from opwright.workspace.overlay import with_texts
from tests.conformance.mutate import base_name
from tests.conformance.selections import SELECTIONS
from tests.dialects.cases import load_cases
from tests.executorch.executorch_cases import sound_texts
from tests.fuzz.backends import BACKENDS, EXTENSIONS, LAZY_BACKENDS
from tests.fuzz.checks import FILES, check_settings, check_text
from tests.fuzz.installs import SEEDS, install_at_random
from tests.fuzz.libraries import LIBRARIES
from tests.fuzz.modules import MEMBERS, MODULES, SETTINGS, TEMPLATES
from tests.fuzz.requirements import requirements_text
from tests.fuzz.sources import READERS
from tests.upgraders.test_cases import FOLDER as UPGRADER_CASES

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
    is_yaml: bool = True
    make: Callable[[Random], str] | None = None
    """Makes whole texts, some with faults, which are not damaged."""

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
    for deferred in (False, True):
        for check in checks_of(FAMILIES, deferred=deferred, tolerant=True):
            check(job, sink)
    sink.raise_if_errors()
    count = 0
    for emitter in emitters(job, FAMILIES):
        units, context = emitter.units(job), job.context(emitter.reads)
        count += len(list(file_specs(emitter, units)))
        emitter.file_slots(job)
        for unit in units:
            emitter.fragment(unit, context)
    return count


def grouped(entries: list[str]) -> tuple[tuple[str, ...], ...]:
    """The entries of each operator together."""
    groups: dict[str, list[str]] = {}
    for entry in entries:
        if entry.startswith("- func:"):
            groups.setdefault(base_name(entry), []).append(entry)
    return tuple(map(tuple, groups.values()))


#: What is made of a text of a dialect once it is loaded: dialect -> (what was loaded, context, length of the text).
Use = Callable[[Any, LoadContext, int], object]


def use_catalog(catalog: Catalog, context: LoadContext, length: int) -> object:
    """Emits every family, with options that follow from the text."""
    context.sink.raise_if_errors()
    return emitted_files(catalog, OPTIONS[length % len(OPTIONS)], context.sink)


def use_derivatives(derivatives: Derivatives, context: LoadContext, length: int) -> object:
    """Emits autograd's fragments."""
    return None if context.sink.has_errors else emitted_fragments(derivatives, context.operators, context.sink)


def use_selection(selection: Selection, context: LoadContext, length: int) -> object:
    """Checks the selection, and asks it for some operators."""
    catalog = context.operators
    check_selection(selection, catalog, context.sink, tolerant=length % 2 == 0)
    return [selection.selects_for_training(function) for function in catalog.functions[:100]]


def use_libraries(libraries: tuple[OperatorLibrary, ...], context: LoadContext, _length: int) -> object:
    """Emits the files of libraries, after the checks that a run makes."""
    context.sink.raise_if_errors()
    functions = tuple([function for library in libraries for function in library.catalog.functions])
    job = Job(Catalog(functions, (), (), dispatch_keys(), {}), RULES, Options(), guests=[RunLibraries(libraries)])
    for deferred in (False, True):
        for check in checks_of(["library"], deferred=deferred, tolerant=False):
            check(job, context.sink)
    context.sink.raise_if_errors()
    texts = []
    for emitter in emitters(job, ["library"]):
        fragment_context = job.context(emitter.reads)
        texts += [emitter.fragment(unit, fragment_context) for unit in emitter.units(job)]
    return texts


def use_backends(backends: tuple[ExternalBackend, ...], context: LoadContext, length: int) -> object:
    """Emits the files of backends, after the checks that a run makes."""
    libraries = tuple([library for backend in backends for library in backend.libraries])
    job = Job(
        context.operators,
        RULES,
        Options(),
        guests=[RunBackends(backends), RunLibraries(libraries), EXTENSIONS],
    )
    return emitted_family("backend", job, context) + emitted_family("library", job, context)


def use_lazy(backends: tuple[LazyBackend, ...], context: LoadContext, length: int) -> object:
    """Emits the files of lazy tensors, in one style or the other, after the checks that a run makes."""
    names = LazyNames(forced_fallback=length % 3 == 0, style=("plain", "torchscript")[length % 2])
    own = tuple([backend.backend for backend in backends])
    job = Job(context.operators, RULES, Options(guests=(names,)), guests=[RunBackends(own), RunLazyBackends(backends)])
    return emitted_family("lazy", job, context)


def use_executorch(operators: tuple[ExecutorchOperator, ...], context: LoadContext, length: int) -> object:
    """Emits the files of ExecuTorch's kernels, in one mode or the other, after the checks that a run makes."""
    if length % 4 == 0:
        operators = tuple([operator._replace(is_custom=True) for operator in operators])
    options = ExecutorchOptions(aten_mode=length % 5 == 0, as_reference=context.tolerant)
    own = ExecutorchOperators(operators, has_custom_file=True)
    job = Job(context.operators, RULES, Options(guests=(options,)), guests=[RunExecutorch(own)])
    return [text for family in EXECUTORCH_FAMILIES for text in emitted_family(family, job, context)]


def emitted_family(family: str, job: Job, context: LoadContext) -> list[object]:
    """The fragments and the slots of all files of a family."""
    context.sink.raise_if_errors()
    for check in checks_of([family], deferred=False, tolerant=context.tolerant):
        check(job, context.sink)
    context.sink.raise_if_errors()
    texts: list[object] = []
    for emitter in emitters(job, [family]):
        fragment_context = job.context(emitter.reads)
        texts.append(emitter.file_slots(job))
        texts += [emitter.fragment(unit, fragment_context) for unit in emitter.units(job)]
    return texts


def use_upgraders(tables: UpgraderTables, context: LoadContext, length: int) -> object:
    """Emits the file of upgraders."""
    context.sink.raise_if_errors()
    return upgrader_source(tables)


USES: dict[str, Use] = {
    NATIVE_FUNCTIONS.name: use_catalog,
    DERIVATIVES.name: use_derivatives,
    SELECTION.name: use_selection,
    LIBRARY.name: use_libraries,
    BACKEND.name: use_backends,
    LAZY.name: use_lazy,
    EXECUTORCH.name: use_executorch,
    UPGRADERS.name: use_upgraders,
}
#: Whole files of the dialects that PyTorch has no file of.
WHOLE_FILES = {
    SELECTION.name: [*SELECTIONS.values()],
    LIBRARY.name: LIBRARIES,
    BACKEND.name: BACKENDS,
    LAZY.name: LAZY_BACKENDS,
    EXECUTORCH.name: sound_texts(),
    UPGRADERS.name: [case.text for case in load_cases("accepted.yaml", UPGRADER_CASES)],
    **MODULES,
    TEMPLATES_OF_STUBS.name: TEMPLATES,
}


def entries_of(dialect: Dialect[Any], inputs: Inputs) -> list[str]:
    """The entries of PyTorch's file of a dialect; whole files where PyTorch has none."""
    if dialect.name in WHOLE_FILES:
        return WHOLE_FILES[dialect.name]
    (file,) = dialect.files(inputs)
    return re.split(r"^(?=- \w+:)", file.text, flags=re.MULTILINE)[1:]


def name_of(dialect: Dialect[Any]) -> str:
    """The name of a file of the dialect."""
    if dialect is DOCSTRINGS:
        return DOCSTRINGS.members[0]
    suffix = "txt" if dialect.name in MEMBERS else "yaml"
    return dialect.inputs[0].rpartition("/")[2] if dialect.inputs else f"{dialect.name}.{suffix}"


def target_of(dialect: Dialect[Any], context: LoadContext) -> Target:
    """What fuzzes one dialect."""
    entries = entries_of(dialect, context.inputs)
    name = name_of(dialect)

    def load(text: str, sink: Diagnostics) -> object:
        tolerant = dialect in (BACKEND, LAZY, EXECUTORCH) and len(text) % 3 == 0
        own = context._replace(sink=sink, strict=len(text) % 2 == 0, tolerant=tolerant)
        members = MEMBERS.get(dialect.name, ())
        if members:
            texts = {member: SourceFile(member, text if member == members[0] else entries[0]) for member in members}
            own = own._replace(inputs=with_texts(own.inputs, texts))
        loaded = dialect.load([SourceFile(name, text)], own)
        return USES[dialect.name](loaded, own, len(text)) if dialect.name in USES else loaded

    if dialect.name in WHOLE_FILES:
        return Target(name, entries, load, most=1, is_yaml=name.endswith(".yaml"))
    return Target(name, entries, load, grouped(entries) if dialect is NATIVE_FUNCTIONS else ())


def docstrings_target(inputs: Inputs) -> Target:
    """What fuzzes modules with docstrings."""
    name = name_of(DOCSTRINGS)
    file = inputs.read_text(name)

    def load(text: str, sink: Diagnostics) -> dict[str, Docstring]:
        docstrings: dict[str, Docstring] = {}
        source = SourceFile(name, text)
        try:
            body = parse_module(source, UNKNOWN_FORM).body
        except Fault as fault:
            sink.add(fault.diagnostic)
        else:
            Evaluator(source, {}, docstrings, sink).run(body)
        return docstrings

    lines = file.text.splitlines(keepends=True)
    statements = parse_module(file, UNKNOWN_FORM).body
    entries = ["".join(lines[statement.lineno - 1 : statement.end_lineno]) for statement in statements]
    return Target(name, entries, load, is_yaml=False)


#: The names of the targets, for tests that start before these are made.
NAMES = (*map(name_of, DIALECTS), "check.yaml", "pyproject.toml", "install", "requirements", *READERS)


def targets() -> list[Target]:
    """Every dialect is fuzzed, and `opwright check` with its settings: a new row of the table is as well."""
    context = LoadContext(Diagnostics(), RULES, open_inputs())
    catalog = NATIVE_FUNCTIONS.load_inputs(context)
    assert catalog is not None
    context = context._replace(catalog=catalog, functions=catalog.functions)
    library = target_of(LIBRARY, context)
    return [
        *[target_of(dialect, context) for dialect in DIALECTS if dialect is not DOCSTRINGS],
        replace(library, name="requirements", make=requirements_text),
        docstrings_target(context.inputs),
        Target("check.yaml", FILES, check_text, most=1),
        Target("pyproject.toml", SETTINGS, check_settings, most=1, is_yaml=False),
        Target("install", SEEDS, install_at_random, most=1, is_yaml=False),
        *[Target(name, texts, load, most=1, is_yaml=False) for name, (texts, load) in READERS.items()],
    ]
