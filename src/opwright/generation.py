"""One run from inputs to files: what the programs and the library share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple

from opwright.build.engine import LAUNCHER, Engine, Summary, generated_comment
from opwright.build.folders import BUILD_FOLDERS, build_folders
from opwright.build.incremental import Maker
from opwright.build.outputs import emitted
from opwright.build.plan import Emitted, Output, Plan, Planned
from opwright.build.provenance import FileOrigin, Sources, origins
from opwright.build.shards import shard_number
from opwright.build.staging import remove_old_staging
from opwright.build.template import Template
from opwright.build.unit_template import UnitTemplate
from opwright.convention import public_api
from opwright.dialects.dialect import LoadContext
from opwright.dialects.selection.loader import check_selection, check_static_backends
from opwright.dialects.table import (
    DEPRECATED,
    DERIVATIVES,
    NATIVE_AOT,
    NATIVE_FUNCTIONS,
    SHIM_TABLES,
    TAGS,
    more_dialects,
)
from opwright.emit.checks import check_emittable
from opwright.emit.emitter import Job, Later, Options
from opwright.emit.header_names import check_headers_of_pytorch
from opwright.emit.registry import (
    DEFAULT_FAMILIES,
    dialects_of,
    emitters,
    import_emitters,
    made_template,
)
from opwright.model.catalog import Catalog
from opwright.model.deprecated import DeprecatedSignature
from opwright.model.derivatives import NO_DERIVATIVES, MatchedDerivatives
from opwright.model.dispatch_key import DispatchKey, device_flags, dispatch_keys
from opwright.model.selection import EVERYTHING, Selection
from opwright.release.inputs import Inputs, open_inputs
from opwright.release.rules import Rules
from opwright.release.version import Version, version_of
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound
from opwright.source.text import SourceFile

if TYPE_CHECKING:
    from opwright.build.past import EmitterPast
    from opwright.build.plain_files import Status
    from opwright.build.staging import Journal

__all__ = [
    "BUILD_FOLDERS",
    "Earlier",
    "Generation",
    "Outcome",
    "Request",
    "Shard",
    "build_folders",
    "ignored_keys",
    "load",
]


def template_path(name: str) -> str:
    """The input that is the template of a name: ATen's by its file name, others with their folder.

    >>> template_path("Functions.h"), template_path("autograd/Functions.h")
    ('templates/Functions.h', 'autograd/templates/Functions.h')
    """
    folder, slash, file = name.rpartition("/")
    return f"{folder}{slash}templates/{file}"


def ignored_keys(rules: Rules, devices: Collection[str] = ()) -> frozenset[DispatchKey]:
    """The dispatch keys that a run leaves out, given the flags of the optional devices that it has.

    >>> from opwright.release.version import parse_version
    >>> sorted(key.name for key in ignored_keys(Rules(parse_version("2.13.0")), ["mps"]))
    ['MTIA', 'XPU']
    """
    return frozenset(
        key
        for key in dispatch_keys()
        if key.flag and key.flag not in devices and (not key.flag_rule or getattr(rules, key.flag_rule))
    )


def load(
    torch: str | None = None,
    *,
    source_path: str | None = None,
    **devices: bool,
) -> Catalog:
    """The catalog of a PyTorch: all its native functions, groups, kernels and tags.

    `torch` is a version such as `"2.13.0"`, the path of a wheel, or `"auto"` for the installed one (the default);
    `source_path` is a folder `aten/src/ATen` instead. Flags such as `mps=True` add the dispatch keys of devices that
    not every build has: `mps`, `xpu` and `mtia`.

    Raises FaultsFound with every mistake in the YAML, Fault where the inputs cannot be had, and TypeError for a flag of
    no device.

    >>> print(load("auto")["relu"].schema)
    relu(Tensor self) -> Tensor
    """
    for flag in devices.keys() - device_flags().keys():
        raise TypeError(f"load() has no flag {flag!r}")
    sink = Diagnostics()
    inputs = open_inputs(torch, source_path, sink=sink)
    rules = Rules(version_of(inputs, sink=sink))
    ignored = ignored_keys(rules, [flag for flag in devices if devices[flag]])
    catalog = _load_catalog(LoadContext(sink, rules, inputs, ignored_keys=ignored))
    sink.raise_if_errors()
    return catalog


def _load_catalog(context: LoadContext) -> Catalog:
    catalog = NATIVE_FUNCTIONS.load_inputs(context)
    assert catalog is not None, "inputs without operators are refused"
    return catalog


def _load_derivatives(request: Request, context: LoadContext) -> MatchedDerivatives:
    """The derivatives of the functions selected for training, which autograd's files have in the order of C++ names.

    None where no family of the run needs them. Raises FaultsFound.
    """
    from opwright.dialects.derivatives.matching import match_derivatives

    if DERIVATIVES.name not in dialects_of(request.families):
        return NO_DERIVATIVES
    own, catalog = Diagnostics(), context.operators
    derivatives = DERIVATIVES.load_inputs(context._replace(sink=own))
    matched = NO_DERIVATIVES
    # Functions or derivatives that are missing because of a fault would be matched wrongly.
    if derivatives is not None and not own.has_errors and catalog.is_sound:
        selected = [function for function in catalog.functions if request.selection.selects_for_training(function)]
        in_order = sorted(selected, key=lambda function: public_api.name(function.schema))
        matched = match_derivatives(derivatives, in_order, own)
    context.sink.extend(own)
    own.raise_if_errors()
    return matched


def _load_deprecated(request: Request, context: LoadContext) -> Sequence[DeprecatedSignature]:
    """The deprecated signatures of the functions that Python gets from the generator; none for runs without its files.

    Raises FaultsFound.
    """
    from opwright.convention.python.bound import is_bound

    if DEPRECATED.name not in dialects_of(request.families):
        return ()
    own = Diagnostics()
    functions = tuple(filter(is_bound, context.operators.functions))
    signatures = DEPRECATED.load_inputs(context._replace(sink=own, functions=functions))
    context.sink.extend(own)
    own.raise_if_errors()
    return signatures or ()


def _check_kernels(job: Job, families: Collection[str], sink: Diagnostics) -> None:
    """Report kernels that cannot be declared or registered, before anything is written."""
    if "headers" not in families and "sources" not in families:
        return
    from opwright.emit.aten.kernel_checks import check_kernels

    check_kernels(job, families, sink)


def _check_boxed(job: Job, families: Collection[str], sink: Diagnostics) -> None:
    """Warn of selected operators that get no boxed functions."""
    if "unboxing" in families:
        from opwright.emit.aten.unboxing import check_selected

        check_selected(job, sink)


def _check_modules(job: Job, sink: Diagnostics) -> None:
    """Warn of functions of Python modules that there are not."""
    from opwright.emit.python.units import check_modules

    check_modules(job, sink)


def _check_bindings(job: Job, sink: Diagnostics) -> None:
    """Report functions that Python cannot have, before anything is written."""
    from opwright.emit.python.units import check_bindings

    check_bindings(job, sink)


def _registration_text(request: Request, sink: Diagnostics) -> UnitTemplate | None:
    """The template of what `Register{Key}.cpp` has of each unit; None for runs without these files."""
    if "sources" not in request.families:
        return None
    try:
        return UnitTemplate(request.inputs.read_text(template_path("RegisterDispatchDefinitions.ini")))
    except Fault as fault:
        sink.add(fault.diagnostic)
        return None


#: Modules that are imported where they are needed: by all runs that write files, or by those of a family.
_MODULES: Final = ("build.past", "build.prune", "build.tokens", "build.workers")
_MODULES_OF: Final = {
    "headers": ("emit.aten.kernel_checks",),
    "sources": ("emit.aten.kernel_checks",),
    "python": ("emit.python.units",),
}


def import_modules(families: Iterable[str]) -> None:
    """Import now what a run of these families imports sooner or later, before copies of this process do so each."""
    for name in (*_MODULES, *(module for family in families for module in _MODULES_OF.get(family, ()))):
        import_module(f"opwright.{name}")
    for name in sorted(dialects_of(families)):
        import_module(f"opwright.dialects.{name}.loader")
    import_emitters(families)


class Shard(NamedTuple):
    """One of `parts` parts of the outputs, by number from 0 on. The parts are disjoint, and together they are all."""

    number: int
    parts: int

    def has(self, output: Output) -> bool:
        """Whether an output is in this part."""
        return shard_number(f"{output.folder}/{output.path}", self.parts) == self.number


class Request(NamedTuple):
    """What a run is asked for: inputs, output folders by name, families of emitters, flags.

    `devices` are the flags of optional devices that the run has kernels for, such as `mps`.
    `shard` is the part of the outputs that the run makes, None for all. `tolerant` makes warnings of what PyTorch's own
    generator lets pass (operators that are selected but do not exist); `strict` makes errors of what it lets pass in
    derivatives (names and functions that do not exist, what has no effect), where others are warned.

    >>> request = Request(inputs=open_inputs(), folders=build_folders("build"), families=("headers",))
    >>> request.folders["headeronly"]
    'build/torch/headeronly/core'
    """

    inputs: Inputs
    folders: Mapping[str, str]
    families: tuple[str, ...] = DEFAULT_FAMILIES
    options: Options = Options()
    selection: Selection = EVERYTHING
    tolerant: bool = False
    strict: bool = False
    devices: frozenset[str] = frozenset()
    release: str | None = None
    shard: Shard | None = None


#: From how many emitters times functions on a run gains from a second process: starting one costs some 20 ms.
_WORTH_SHARING: Final = 30_000


class Earlier(NamedTuple):
    """What an earlier run left: how the files of each emitter were made, and which are as they were, with status."""

    emitters: Mapping[str, EmitterPast]
    intact: Mapping[str, Status]


class Outcome(NamedTuple):
    """What a run did, the status of every output by path, and how the files of each emitter were made."""

    summary: Summary
    statuses: Mapping[str, Status]
    emitters: Mapping[str, EmitterPast]


class Generation:
    """A run whose inputs are loaded: it can be planned, and written.

    `sink` has the warnings and notes of loading. Construction raises FaultsFound with every fault of the inputs; with
    `later`, what only files of Python show is loaded and checked when they are made, by the processes that make them.

    >>> request = Request(inputs=open_inputs(), folders=build_folders("build"), families=("declarations_yaml",))
    >>> [output.path for output in Generation(request).plan().outputs]
    ['Declarations.yaml']
    """

    def __init__(self, request: Request, sink: Diagnostics | None = None, *, later: bool = False) -> None:
        self.request: Final = request
        self.sink: Final = sink if sink is not None else Diagnostics()
        self.version: Final[Version] = version_of(request.inputs, request.release, self.sink)
        rules = Rules(self.version)
        # Shims are kept for all devices, so updating them needs the kernels of all.
        shim_devices = [key.flag for key in dispatch_keys() if key.has_c_shim and request.options.update_c_shim]
        ignored = ignored_keys(rules, request.devices.union(shim_devices))
        loading = LoadContext(self.sink, rules, request.inputs, ignored_keys=ignored, strict=request.strict)
        catalog = _load_catalog(loading)
        loading = loading._replace(catalog=catalog, functions=catalog.functions)
        boxed = "unboxing" in request.families
        check_selection(request.selection, catalog, self.sink, tolerant=request.tolerant, boxed=boxed)
        has_shims = SHIM_TABLES.name in dialects_of(request.families)
        #: What dialects that are not PyTorch's own loaded, by the name of the dialect.
        self.loaded: Final[Mapping[str, object]] = {
            dialect.name: dialect.load_inputs(loading) for dialect in more_dialects()
        }
        self.job: Final = Job(
            catalog,
            rules,
            request.options,
            request.selection,
            Later(partial(_load_derivatives, request, loading)),
            Later(partial(_load_deprecated, request, loading)),
            NATIVE_AOT.load_inputs(loading) or (),
            SHIM_TABLES.load_inputs(loading) if has_shims else None,
            _registration_text(request, self.sink),
        )
        if catalog.is_sound:
            check_emittable(self.job, self.sink)
            check_static_backends(request.options.static_dispatch, catalog, self.sink, tolerant=request.tolerant)
            _check_boxed(self.job, request.families, self.sink)
            if "headers" in request.families and not request.tolerant:
                check_headers_of_pytorch(self.job, self.sink)
            _check_kernels(self.job, request.families, self.sink)
        self._load_rest(later=later)
        self.sink.raise_if_errors()
        inputs = request.inputs

        def read_template(name: str) -> SourceFile:
            plain, slots = made_template(name, self.job)
            source = inputs.read_text(template_path(plain))
            return source if slots is None else SourceFile(source.path, Template(source).render(slots))

        self._engine: Final = Engine(request.folders, read_template, self._comment)

    def _comment(self, template: str) -> str:
        """What files say of the program that made them from a template: autograd's are made by one of their own."""
        folder, _, name = template.rpartition("/")
        return generated_comment(name, self.request.options.autograd_program if folder else LAUNCHER)

    def _load_rest(self, *, later: bool) -> None:
        """Load and check what files of autograd and Python are made from, but for what can be left for later.

        Where there are faults already, nothing is: then all other inputs are read, so that one run reports all faults.
        """
        # Of Python's files one emitter's show derivatives: one process can load them while another makes the rest.
        if not later or self.sink.has_errors or "autograd" in self.request.families:
            self._attempt(lambda: self.job.derivatives)
        is_sound, has_python = self.job.catalog.is_sound, "python" in self.request.families
        if has_python and is_sound:
            _check_modules(self.job, self.sink)
        if not later or self.sink.has_errors:
            self._attempt(lambda: self.job.deprecated)
            if has_python and is_sound:
                self._attempt(lambda: _check_bindings(self.job, self.sink))

    def _attempt(self, load: Callable[[], object]) -> None:
        """Load a part of the job; what keeps it from being loaded is in the sink."""
        try:
            load()
        except Fault as fault:
            self.sink.add(fault.diagnostic)
        except FaultsFound:
            # Its diagnostics are there already, since the part was loaded with this run's sink.
            pass

    def _emitted(self) -> Iterable[Emitted]:
        return map(self._chosen, emitted(emitters(self.job, self.request.families), self.job))

    def _chosen(self, output: Emitted) -> Emitted:
        """The same without the outputs of other shards."""
        shard = self.request.shard
        return output if shard is None else (output[0], filter(shard.has, output[1]))

    def check_shims(self, *, note_missing: bool = False) -> None:
        """Compare the headers of C shims with those that are kept in their output folder, where they are not updated.

        Notes operators that can have no shim, and, with `note_missing`, headers that are not there. Raises FaultsFound
        where a header differs.
        """
        from opwright.build.kept_headers import check_kept_headers
        from opwright.emit.aten.c_shim import check_c_forms, check_names, headers

        if "sources" not in self.request.families:
            return
        check_names(self.job, self.sink)
        check_c_forms(self.job, self.sink)
        if not self.request.options.update_c_shim:
            check_kept_headers(headers(self.job), self.request.folders["aoti"], self.sink, note_missing=note_missing)
        self.sink.raise_if_errors()

    def plan(self) -> Plan:
        """Every output with its place; nothing is rendered."""
        return self._engine.plan(self._emitted())

    def write(self, report: Callable[[Planned, bool], None] | None = None) -> Summary:
        """Write the outputs that differ from what is on disk; nothing is kept for later runs."""
        remove_old_staging(self.request.folders.values())
        maker = Maker(self.job, self._engine.renderer, remembers=False)
        return self._engine.write(map(self._chosen, maker.emitted(emitters(self.job, self.request.families))), report)

    def write_after(
        self,
        earlier: Earlier | None,
        report: Callable[[Planned, bool], None] | None = None,
        processes: int = 1,
        journal: Journal | None = None,
    ) -> Outcome:
        """Write the outputs that differ, making only what an earlier run with the same job token left different.

        Where all is to be made, and it is much, so many processes share the work. The journal gets the staging folders.
        """
        self._engine.journal = journal
        previous = earlier or Earlier({}, {})
        maker = Maker(self.job, self._engine.renderer, previous.emitters, previous.intact.__contains__)
        statuses: dict[str, Status] = {}
        chosen = list(emitters(self.job, self.request.families))
        tasks = [partial(self._done, task) for task in maker.tasks(chosen)]
        if previous.emitters or processes < 2 or len(chosen) * len(self.job.catalog) < _WORTH_SHARING:
            summary = self._engine.write((task() for task in tasks), report, statuses, previous.intact)
            return Outcome(summary, statuses, maker.present)
        diagnostics_before = len(self.sink)
        summary, parts = self._engine.write_shared(
            processes, tasks, statuses, lambda: (maker.present, self.sink.since(diagnostics_before)), report
        )
        # What another process warned of while it loaded more; the first part is of this one.
        for _, warnings in parts[1:]:
            self.sink.extend(warnings)
        return Outcome(summary, statuses, {name: past for part, _ in parts for name, past in part.items()})

    def _done(self, task: Callable[[], Emitted]) -> Emitted:
        return self._chosen(task())

    def differing(self) -> list[str]:
        """The paths of the outputs that are not on disk as they should be; nothing is written."""
        maker = Maker(self.job, self._engine.renderer, remembers=False)
        return self._engine.differing(map(self._chosen, maker.emitted(emitters(self.job, self.request.families))))

    def kept_outputs(self) -> list[str]:
        """The paths of the outputs that belong to the user's sources, which no later run removes."""
        source_emitters = [
            emitter for emitter in emitters(self.job, self.request.families) if emitter.belong_to_sources
        ]
        return [planned.target for planned in self._engine.plan(emitted(source_emitters, self.job)).outputs]

    def provenance(self, outcome: Outcome) -> dict[str, FileOrigin]:
        """Where the lines of each output come from, by its path; after a run."""
        chosen = list(emitters(self.job, self.request.families))
        sources = Sources(
            chosen,
            self._engine.plan(self._emitted()),
            outcome.emitters,
            lambda name: self._engine.renderer.template(name)[0].source.text,
            TAGS.files(self.request.inputs)[0],
        )
        return origins(self.job, sources)
