"""Checks files of all dialects: every rule of a run, and lints; nothing is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

from opwright.backends.dispatch.meta_kernels import MODULES, MetaKernels, load_meta_kernels
from opwright.backends.extensions import NO_EXTENSIONS
from opwright.backends.external_backend import ExternalBackend, RunBackends
from opwright.backends.job import load_backends
from opwright.backends.lazy_backend import LazyBackend, RunLazyBackends
from opwright.backends.operator_records import CoverageReport
from opwright.backends.rows import BACKEND, LAZY
from opwright.backends.wrapper_options import Fallback
from opwright.dialects.dialect import Dialect, LoadContext
from opwright.dialects.native_functions.loader import load_operator_files
from opwright.dialects.selection import check_selection, load_selection
from opwright.dialects.table import DEPRECATED, DERIVATIVES, DIALECTS, SHIM_TABLES, TAGS, yaml_names
from opwright.emit.aten.c_shim import check_names
from opwright.emit.autograd.nodes import functions_with_kernels
from opwright.emit.autograd.variable_type import wrappers_of
from opwright.emit.emitter import Job, Lazy, Options
from opwright.emit.family import REGISTRATIONS
from opwright.emit.registry import DEFAULT_FAMILIES, FAMILIES, build_folders, checks_of, dialects_of
from opwright.libraries.operator_library import RunLibraries
from opwright.model.dispatch_key import device_flags
from opwright.model.native_function import NativeFunction
from opwright.plugins.active import ACTIVE, with_plugins
from opwright.plugins.lint import EntryNodes, Lint, Operators
from opwright.release.inputs import Inputs
from opwright.release.tree import rules_of
from opwright.run.generation import Generation
from opwright.run.loading import check_job, load_deferred_dialects, load_job
from opwright.run.request import Request
from opwright.schema.function import SchemaKind
from opwright.source.diagnostic import Diagnostic, Diagnostics, Fault, FaultsFound
from opwright.source.records import NamedTuple
from opwright.source.span import Span
from opwright.source.text import SourceFile
from opwright.tools.check.lints import BACKEND_LINTS, OPERATOR_LINTS
from opwright.tools.check.suppressions import CodeFilter
from opwright.tools.coverage.report import coverage_report, entry_records
from opwright.tools.tool_codes import NO_PYTHON_MODULES

_LAZY_FILE: Final = re.compile(r"(?m)^[\"']?(?:full_codegen|ir_gen|non_native)[\"']?[ \t]*:")


class CheckRequest(NamedTuple):
    """Files to check against the inputs of a release.

    With `checks_pytorch`, the inputs are checked too. `operator_files` are like `native_functions.yaml`, with operators
    of other namespaces. `others` are files that are loaded alone, with their dialects. `allowed_paths` are
    files and folders that heads may name although they are outside of their projects. With `tolerant`, what PyTorch's
    own programs accept is no error. `codes` selects the lints that run; it does not filter other diagnostics. `assumed`
    are the paths of files of the release that are not under check: the user checks a file in place of another one.
    """

    inputs: Inputs
    checks_pytorch: bool = False
    operator_files: tuple[SourceFile, ...] = ()
    libraries: tuple[SourceFile, ...] = ()
    backends: tuple[SourceFile, ...] = ()
    selections: tuple[SourceFile, ...] = ()
    others: tuple[tuple[Dialect[Any], SourceFile], ...] = ()
    tolerant: bool = False
    release: str | None = None
    codes: CodeFilter = CodeFilter()
    read_file: Callable[[str], SourceFile] = SourceFile.read
    allowed_paths: tuple[str, ...] = ()
    assumed: frozenset[str] = frozenset()

    @property
    def files(self) -> list[SourceFile]:
        """Files under check, those of the release included if they are checked."""
        files = [*self.operator_files, *self.libraries, *self.backends, *self.selections]
        files += [file for _, file in self.others]
        if not self.checks_pytorch:
            return files
        names = yaml_names({DERIVATIVES.name, DEPRECATED.name})
        texts = [self.inputs.read_optional(name) for name in names if name in self.inputs.names()]
        return [text for text in texts if text is not None] + files


def check(request: CheckRequest) -> list[Diagnostic]:
    """All diagnostics of the files, in the order of their places, before any of them is filtered or suppressed."""
    sink = Diagnostics(keeps_all_remarks=True)
    try:
        _Check(request, sink).run()
    except (Fault, FaultsFound) as raised:
        sink.take(raised)
    return list(sink.sorted())


class _Check:
    """Stages of a check. A stage that needs what a fault took away is left out."""

    def __init__(self, request: CheckRequest, sink: Diagnostics) -> None:
        self._request: Final = request
        self._sink: Final = sink
        self._rules: Final = rules_of(request.inputs, request.release, sink)
        self._nodes: Final = EntryNodes()

    def run(self) -> None:
        """Run all stages."""
        request = self._request
        if request.checks_pytorch or request.operator_files or request.backends or request.selections:
            self._check_with_pytorch()
        if request.libraries:
            self._check_libraries()
        for dialect, file in request.others:
            context = with_plugins(LoadContext(self._sink, self._rules, request.inputs, tolerant=request.tolerant))
            self._attempt(partial(dialect.load, [file], context))

    def _request_of(self, families: tuple[str, ...]) -> Request:
        request = self._request
        return Request(
            request.inputs,
            {},
            families,
            tolerant=request.tolerant,
            devices=frozenset(device_flags()),
            release=request.release,
            libraries=request.libraries,
            read_file=request.read_file,
            allowed_paths=request.allowed_paths,
        )

    def _check_with_pytorch(self) -> None:
        request = self._request
        families = _pytorch_families(request.inputs)
        if not request.checks_pytorch:
            # Lints of backends read derivatives.
            families = tuple([family for family in families if DERIVATIVES.name in FAMILIES[family].dialects])
        run_request = self._request_of(families)
        # The files of operators may be there without the templates, which only generating needs.
        lacks_templates = REGISTRATIONS not in request.inputs.names()
        loaded = tuple(
            [family for family in families if not (lacks_templates and REGISTRATIONS in FAMILIES[family].inputs)]
        )
        job = load_job(run_request._replace(families=loaded), self._rules, self._sink, {})
        if request.checks_pytorch:
            check_job(job, run_request, self._sink)
            load_deferred_dialects(job, run_request, self._sink, defer=False)
            if SHIM_TABLES.inputs[0] in request.inputs.names() and job.catalog.is_sound:
                self._attempt(partial(check_names, job, self._sink))
            # A catalog without some entries is not what derivatives are for.
            has_derivatives = any(DERIVATIVES.name in FAMILIES[family].dialects for family in families)
            if has_derivatives and job.catalog.is_sound and not self._sink.has_errors:
                self._attempt(partial(_check_gradient_kernels, job, self._sink))
            self._lint_pytorch(job)
        tags = TAGS.files(request.inputs)[0]
        catalog = load_operator_files(job.catalog, request.operator_files, tags, self._sink, self._rules)
        paths = {file.path for file in request.operator_files}
        self._lint(
            Operators(tuple([function for function in catalog if function.entry.file.path in paths]), self._nodes)
        )
        context = with_plugins(
            LoadContext(
                self._sink,
                self._rules,
                request.inputs,
                catalog,
                catalog.functions,
                tolerant=request.tolerant,
                read_file=request.read_file,
                allowed_paths=request.allowed_paths,
            )
        )
        for backend in request.backends:
            self._attempt(partial(self._check_backend, backend, context, job))
        for selection in request.selections:
            self._attempt(partial(self._check_selection, selection, context))

    def _attempt(self, stage: Callable[[], object]) -> None:
        """Run a stage for one file; a fault that ends it does not end the check of other files."""
        try:
            stage()
        except (Fault, FaultsFound) as raised:
            self._sink.take(raised)

    def _check_selection(self, file: SourceFile, context: LoadContext) -> None:
        selection = load_selection(file, self._sink)
        check_selection(selection, context.operators, self._sink, tolerant=context.tolerant)

    def _check_backend(self, file: SourceFile, context: LoadContext, job: Job) -> None:
        backend_sink = Diagnostics(keeps_all_remarks=True)
        context = context._replace(sink=backend_sink)
        lazy_backends: tuple[LazyBackend, ...] = ()
        try:
            if _LAZY_FILE.search(file.text):
                lazy_backends = LAZY.load([file], context)
                backends = tuple([lazy_backend.backend for lazy_backend in lazy_backends])
            else:
                backends = BACKEND.load([file], context)
        finally:
            self._sink.extend(backend_sink)
        libraries = tuple([library for backend in backends for library in backend.libraries])
        backend_job = Job(
            context.operators,
            self._rules,
            Options(),
            derivatives=Lazy(lambda: job.derivatives),
            guests=(
                *(RunBackends(backends), RunLazyBackends(lazy_backends), RunLibraries(libraries)),
                ACTIVE.extensions or NO_EXTENSIONS,
            ),
        )
        # Rules for lazy tensors concern lazy backends alone. A backend's own operators follow the rules of libraries.
        families = [
            name
            for name, family in FAMILIES.items()
            if family.serves_backends and (lazy_backends or LAZY.name not in family.dialects)
        ]
        for rule in checks_of((*families, *_library_families()), deferred=False, tolerant=self._request.tolerant):
            rule(backend_job, self._sink)
        if backend_sink.has_errors:
            return
        for library in libraries:
            self._lint(Operators(_of_entries(library.catalog), self._nodes, in_library=True))
        if not lazy_backends:
            for backend in backends:
                self._lint_backend(backend, backend_job)

    def _check_libraries(self) -> None:
        run_request = self._request_of(_library_families())
        job = load_job(run_request, self._rules, self._sink, {})
        check_job(job, run_request, self._sink)
        load_deferred_dialects(job, run_request, self._sink, defer=False)
        if not self._sink.has_errors:
            self._attempt(partial(_render, job, run_request))
        self._lint(Operators(_of_entries(job.catalog), self._nodes, in_library=True))

    def _lint_pytorch(self, job: Job) -> None:
        catalog = job.catalog
        synthesized = tuple([function for function in catalog if function.is_synthesized])
        kernels = Lazy(partial(load_release_meta_kernels, self._request.inputs, self._sink))
        self._lint(
            Operators(
                _of_entries(catalog),
                self._nodes,
                are_pytorch=True,
                synthesized=synthesized,
                tags=TAGS.files(self._request.inputs)[0],
                tag_names=frozenset(catalog.tags),
                has_meta_kernel=lambda function: kernels.get().has(function.name.name, function.name.overload),
            ),
            is_sound=catalog.is_sound,
        )

    def _runs(self, lint: Lint, *, of_pytorch: bool) -> bool:
        return self._request.codes.shows(lint.code, by_default=lint.for_pytorch if of_pytorch else lint.for_others)

    def _lint(self, operators: Operators, *, is_sound: bool = True) -> None:
        """Run the lints of operators that are selected, those that compare entries only if no entry has a fault."""
        rows = [*OPERATOR_LINTS, *ACTIVE.operator_lints]
        for row in rows if operators.functions else ():
            if self._runs(row.lint, of_pytorch=operators.are_pytorch) and (is_sound or not row.lint.compares_entries):
                row.check(operators, self._sink)

    def _lint_backend(self, backend: ExternalBackend, job: Job) -> None:
        """Run the lints of backends that are selected, on files that say all that the backend registers."""
        rows = [row for row in [*BACKEND_LINTS, *ACTIVE.backend_lints] if self._runs(row.lint, of_pytorch=False)]
        if not rows or not backend.options.derives_from_out:
            return
        records = entry_records(backend, job)
        for row in rows:
            row.check(records, self._sink)


def _render(job: Job, request: Request) -> None:
    """Make the files of a job without writing any. Raises FaultsFound with what keeps emitters from making theirs."""
    # A tolerant run leaves the plug-ins alone that are active.
    request = request._replace(folders=build_folders("", request.families), plugins=ACTIVE.plugins, tolerant=True)
    for _ in Generation(request, Diagnostics(), job=job).render_files():
        pass


def _pytorch_families(inputs: Inputs) -> tuple[str, ...]:
    """Families whose rules PyTorch's files must follow, apart from those whose files the inputs lack."""
    names = inputs.names()
    needed = {dialect.name: dialect.inputs for dialect in DIALECTS if dialect.is_required}
    return tuple(
        [
            family
            for family in DEFAULT_FAMILIES
            if all(name in names for dialect in dialects_of([family]) for name in needed.get(dialect, ()))
        ]
    )


def _library_families() -> tuple[str, ...]:
    return tuple([name for name, family in FAMILIES.items() if family.serves_libraries])


def _of_entries(functions: Iterable[NativeFunction]) -> tuple[NativeFunction, ...]:
    """Functions that have an entry of their own."""
    return tuple([function for function in functions if not function.is_synthesized])


def load_coverage(request: Request, sink: Diagnostics, fallback: Fallback | None) -> CoverageReport:
    """Coverage of the only backend of a request.

    `fallback` is what runs for operators without a kernel, None for what the file says. Raises FaultsFound with every
    mistake in the file.
    """
    inputs = request.inputs
    rules = rules_of(inputs, request.release, sink)
    # The backend is loaded for a report, so it is no part of the job.
    job = load_job(request._replace(families=("autograd",), backends=()), rules, sink, {})
    context = LoadContext(sink, rules, inputs, job.catalog, job.catalog.functions, only_reports=True)
    backends = load_backends(request, with_plugins(context))
    sink.raise_if_errors()
    return coverage_report(backends[0], job, load_release_meta_kernels(inputs, sink), fallback)


def load_release_meta_kernels(inputs: Inputs, sink: Diagnostics) -> MetaKernels:
    """Kernels for Meta that PyTorch registers in Python; none if its modules are not at hand."""
    reason = f"{inputs.origin} has none"
    try:
        paths = [path for path in MODULES if path in inputs.member_names(path)]
        texts = inputs.read_members(paths)
    except Fault as fault:
        paths, texts, reason = [], {}, fault.diagnostic.message
    if not paths:
        message = f"the Python modules that register kernels for Meta are not at hand: {reason}"
        sink.warning(NO_PYTHON_MODULES, message, help="operators whose shapes come from them are listed as `missing`")
    return load_meta_kernels([SourceFile.decode(path, texts[path]).text for path in paths])


def _check_gradient_kernels(job: Job, sink: Diagnostics) -> None:
    """Report what keeps kernels from being made, as generating them would: derivatives that do not fit a function."""
    told: set[tuple[str, Span | None]] = set()
    # A fault of an entry is also one of the overloads that take its formulas over.
    functions = [function for function in functions_with_kernels(job) if function.infos]
    for function in sorted(functions, key=lambda each: each.function.kind is not SchemaKind.functional):
        try:
            wrappers_of(function)
        except Fault as fault:
            place = (fault.diagnostic.code, fault.diagnostic.span)
            if place not in told:
                sink.add(fault.diagnostic)
            told.add(place)
