"""From inputs to a job: loads the catalog, and the other inputs that the families of a run need."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from opwright.convention import public_api
from opwright.dialects.dialect import Dialect, LoadContext
from opwright.dialects.selection import check_selection, check_static_backends
from opwright.dialects.table import (
    DEPRECATED,
    DERIVATIVES,
    DIALECTS,
    NATIVE_AOT,
    NATIVE_FUNCTIONS,
    SHIM_TABLES,
    TAGS,
    dialect_help,
    dialect_named,
    more_dialects,
)
from opwright.emit.checks import check_emittable, check_functionalization
from opwright.emit.emitter import Job, Lazy
from opwright.emit.family import OWN_STUBS, REGISTRATIONS
from opwright.emit.registry import (
    FAMILIES,
    checks_of,
    dialects_of,
    family_inputs,
    has_local_units,
    has_own_operators,
    job_loader,
    serves_libraries,
)
from opwright.files.template import LAUNCHER, UnitTemplate, template_kind
from opwright.model.catalog import Catalog
from opwright.model.derivatives import NO_DERIVATIVES, MatchedDerivatives
from opwright.model.dispatch_key import DispatchKey, device_flags, dispatch_keys
from opwright.model.more_inputs import DeprecatedSignature, NativeAotKernel
from opwright.release.behaviour import Behaviour
from opwright.release.inputs import Inputs, open_inputs
from opwright.release.rules import Rules
from opwright.release.tree import rules_of
from opwright.release.version import version_span
from opwright.run.request import run_plugins
from opwright.source.codes import FAMILY_TOO_NEW, NO_OWN_STUBS, UNKNOWN_INPUT, UNKNOWN_NAMESPACE
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound, did_you_mean
from opwright.source.text import SourceFile

if TYPE_CHECKING:
    from opwright.release.tables import ShimTables
    from opwright.run.request import Request
    from opwright.source.items import ChosenItems

Loaded = TypeVar("Loaded")


def ignored_keys(rules: Rules, devices: Collection[str] = ()) -> frozenset[DispatchKey]:
    """Dispatch keys that a run leaves out, given the flags of the optional devices that it has.

    >>> from opwright.release.version import parse_version
    >>> sorted(key.name for key in ignored_keys(Rules(parse_version("2.13.0")), ["mps"]))
    ['MTIA', 'XPU']
    """
    return frozenset(
        key
        for key in dispatch_keys()
        if (key.flag and key.flag not in devices and (not key.flag_rule or rules.value(key.flag_rule)))
        or not rules.has_key(key)
    )


def load(
    torch: str | None = None,
    *,
    source_path: str | None = None,
    **devices: bool,
) -> Catalog:
    """Catalog of a PyTorch: all its native functions, groups, kernels and tags.

    `torch` is a version such as `"2.13.0"`, the path of a wheel, or `"auto"` for the installed one (the default);
    `source_path` is a folder `aten/src/ATen` instead. Flags such as `mps=True` add the dispatch keys of devices that
    not every build has: `mps`, `xpu` and `mtia`.

    Raises FaultsFound with every mistake in the YAML, Fault if the inputs cannot be read, and TypeError for a flag of
    no device.

    >>> print(load("auto")["relu"].schema)
    relu(Tensor self) -> Tensor
    """
    for flag in devices.keys() - device_flags().keys():
        raise TypeError(f"load() has no flag {flag!r}")
    sink = Diagnostics()
    inputs = open_inputs(torch, source_path, sink=sink)
    rules = rules_of(inputs, sink=sink)
    ignored = ignored_keys(rules, [flag for flag in devices if devices[flag]])
    catalog = _load_catalog(LoadContext(sink, rules, inputs, ignored_keys=ignored))
    sink.raise_if_errors()
    return catalog


def _load_catalog(context: LoadContext) -> Catalog:
    catalog = NATIVE_FUNCTIONS.load_inputs(context)
    assert catalog is not None, "inputs without operators are refused"
    return catalog


def load_job(request: Request, rules: Rules, sink: Diagnostics, chosen_items: Mapping[str, ChosenItems]) -> Job:
    """Job of a request. Faults go to `sink`. Of the dialects among the `chosen_items`, it loads only these.

    Derivatives and deprecated signatures are loaded when they are asked for.
    """
    load_own = job_loader(request.families, has_backends=bool(request.backends))
    return (load_own or load_pytorch_job)(request, rules, sink, chosen_items)


def load_pytorch_job(
    request: Request,
    rules: Rules,
    sink: Diagnostics,
    chosen_items: Mapping[str, ChosenItems],
    *,
    devices: frozenset[str] | None = None,
    load_guests: Callable[[LoadContext], tuple[object, ...]] = lambda _: (),
) -> Job:
    """Job with PyTorch's operators, and what guests load once these are there. The parameters are those of `load_job`.

    `devices` are the flags of the devices whose kernels it has, by default those of the request.
    """
    # Where shims are kept for all devices, updating them needs the kernels of all.
    updates = request.options.update_c_shim
    shim_devices = [key.flag for key in dispatch_keys() if updates and rules.has_c_shim(key)]
    ignored = ignored_keys(rules, request.devices.union(shim_devices) if devices is None else devices)
    context = LoadContext(
        sink,
        rules,
        request.inputs,
        ignored_keys=ignored,
        strict=request.strict,
        tolerant=request.tolerant,
        read_file=request.read_file,
        allowed_paths=request.allowed_paths,
        chosen_items=chosen_items,
        choices=request.options,
    )
    context = run_plugins().with_their_keys(context)
    catalog = _load_catalog(context)
    context = context._replace(catalog=catalog, functions=catalog.functions)
    boxed = any(FAMILIES[name].selects_as_aten for name in request.families)
    check_selection(request.selection, catalog, sink, tolerant=request.tolerant, boxed=boxed)
    guests = load_guests(context)
    return Job(
        catalog,
        rules,
        request.options,
        request.selection,
        derivatives=Lazy(partial(_load_derivatives, request, context)),
        deprecated=Lazy(partial(_load_deprecated, request, context)),
        native_aot=_attempt(partial(_load_native_aot, request, context), sink) or (),
        shim_tables=_attempt(partial(_load_shim_tables, request, context), sink),
        registration_text=_attempt(partial(_load_registration_text, request, rules), sink),
        own_stubs=_load_own_stubs(request, sink),
        more_inputs=load_more(request, context),
        guests=(*guests, *run_plugins().guests),
    )


def _load_native_aot(request: Request, context: LoadContext) -> Sequence[NativeAotKernel]:
    """The kernels compiled ahead of time, which the families that load the operators of one file alone do not show."""
    if context.operators.is_partial and not has_local_units(request.families):
        return ()
    kernels = NATIVE_AOT.load_inputs(context)
    shows = any(".aten.native_aot" in FAMILIES[name].emitters for name in request.families)
    if kernels is None and shows and context.rules.native_aot_stubs:
        context.inputs.check_native_aot()
    return kernels or ()


def _load_shim_tables(request: Request, context: LoadContext) -> ShimTables | None:
    """The operators with a C shim.

    None for runs that make no shims, and for those of a release that the user names for a folder of their own.
    """
    inputs = context.inputs
    if SHIM_TABLES.name not in dialects_of(request.families):
        return None
    if inputs.root is None and request.release and SHIM_TABLES.inputs[0] not in inputs.names():
        return None
    return SHIM_TABLES.load_inputs(context)


def load_more(request: Request, context: LoadContext) -> dict[str, object]:
    """What the dialects that are not built in load, by their names, from the inputs and from the request's files."""
    names = dialects_of(request.families) | {dialect.name for dialect in _recognizing(request)}
    loaded: dict[str, object] = {}
    for dialect in more_dialects(names):
        files = [*dialect.files(context.inputs), *filter(dialect.recognizes, request.input_files)]
        loaded[dialect.name] = dialect.load(files, context) if files or dialect.members else None
    return loaded


def _recognizing(request: Request) -> list[Dialect[Any]]:
    """Dialects of the request's files. Raises Fault for a file that is of no dialect that is not built in."""
    dialects = more_dialects([dialect.name for dialect in DIALECTS])
    recognizing = []
    for file in request.input_files:
        dialect = next((candidate for candidate in dialects if candidate.recognizes(file)), None)
        if dialect is None:
            names = ", ".join([f"`{candidate.name}`" for candidate in dialects if not candidate.members])
            help = dialect_help(None, file) or (f"there are: {names}" if names else "name the plug-in that reads it")
            raise Fault.at(UNKNOWN_INPUT, f"no plug-in of this run reads `{file.path}`", help=help)
        recognizing.append(dialect)
    return recognizing


def load_libraries(request: Request, rules: Rules, sink: Diagnostics) -> tuple[Any, ...]:
    """Operator libraries of a request."""
    context = LoadContext(
        sink,
        rules,
        request.inputs,
        strict=request.strict,
        read_file=request.read_file,
        allowed_paths=request.allowed_paths,
    )
    context = run_plugins().with_their_keys(context)
    return dialect_named("library").load(request.libraries, context) if request.libraries else ()


def with_libraries(job: Job, request: Request, sink: Diagnostics) -> Job:
    """Job with the operators of the request's libraries, and without those of namespaces it does not ask for.

    Raises FaultsFound.
    """
    has_operators = request.libraries or request.operator_files
    if serves_libraries(request.families) or request.backends or (not has_operators and request.namespaces is None):
        return job
    from opwright.dialects.native_functions.loader import add_operators, load_operator_files

    tags = TAGS.files(request.inputs)[0]
    catalog = load_operator_files(job.catalog, request.operator_files, tags, sink, job.rules)
    libraries = load_libraries(request, job.rules, sink)
    # Those of a library with kernels for operators of others are in the library that defines them.
    functions = [function for library in libraries if library.owner is None for function in library.catalog]
    catalog = add_operators(catalog, functions, sink)
    sink.raise_if_errors()
    if request.namespaces is not None:
        catalog = _in_namespaces(catalog, request.namespaces, sink)
    return job.replace(catalog=catalog)


def _in_namespaces(catalog: Catalog, chosen: Sequence[str], sink: Diagnostics) -> Catalog:
    """Catalog with the functions of these namespaces alone. Raises FaultsFound if one of them has no function."""
    namespaces = dict.fromkeys([function.namespace for function in catalog.functions])
    for name in chosen:
        if name not in namespaces:
            help = did_you_mean(name, namespaces) or f"there are: {', '.join(namespaces)}"
            sink.error(UNKNOWN_NAMESPACE, f"no operator is in the namespace `{name}`", help=help)
    sink.raise_if_errors()
    functions = tuple([function for function in catalog.functions if function.namespace in chosen])
    return catalog.replace(functions=functions, groups=(), view_groups=())


def check_job(job: Job, request: Request, sink: Diagnostics) -> None:
    """Report faults that keep emitters from making their files, unless entries are missing from the job."""
    is_sound = job.catalog.is_sound
    if not has_own_operators(request.families):
        (check_emittable if is_sound else check_functionalization)(job, sink)
    if not is_sound:
        return
    check_static_backends(request.options.static_dispatch, job.catalog, sink, tolerant=request.tolerant)
    for check in checks_of(request.families, deferred=False, tolerant=request.tolerant):
        check(job, sink)


def load_deferred_dialects(job: Job, request: Request, sink: Diagnostics, *, defer: bool) -> None:
    """Load and check what few emitters need.

    With `defer`, deferred dialects are left to the process that makes the files which show them, unless there are
    faults already: then they are loaded, so that one run reports all faults.
    """
    early = dialects_of(request.families, deferred=False)
    for dialect, load_input in ((DERIVATIVES, lambda: job.derivatives), (DEPRECATED, lambda: job.deprecated)):
        if not defer or sink.has_errors or dialect.name in early:
            _attempt(load_input, sink)
    if (not defer or sink.has_errors) and job.catalog.is_sound:
        for check in checks_of(request.families, deferred=True):
            _attempt(partial(check, job, sink), sink)


def check_release(request: Request, rules: Rules) -> None:
    """Raises Fault for the first family of a request that Opwright does not make for a release (E0524)."""
    for family in [FAMILIES[name] for name in request.families]:
        if not family.rule or rules.value(family.rule):
            continue
        row: Behaviour[bool] = getattr(Rules, family.rule)
        change = row.changes[-1]
        notes = [f"the inputs are those of {request.inputs.origin}"]
        notes += [f"the generator in them lacks {change.mark}"] if rules.tree is not None and change.mark else []
        raise Fault.at(
            FAMILY_TOO_NEW,
            f"Opwright does not write {family.help} for PyTorch {rules.version.series}",
            None if request.release else version_span(request.inputs),
            notes=notes,
            help=f"name PyTorch {change.since} or newer, or use the generator that this release contains",
        )


def _attempt(load_part: Callable[[], Loaded], sink: Diagnostics) -> Loaded | None:
    """Load a part of the job. Its faults go to the sink, so that those of other parts are told too."""
    try:
        return load_part()
    except Fault as fault:
        sink.add(fault.diagnostic)
    except FaultsFound:
        # Its diagnostics are in the sink already, because the part was loaded with it.
        pass
    return None


def _gather_faults(load_part: Callable[[LoadContext], Loaded], context: LoadContext) -> Loaded:
    """Load a part of the job; its diagnostics go to the sink of the context. Raises FaultsFound if it has errors."""
    dialect_sink = Diagnostics()
    part = load_part(context._replace(sink=dialect_sink))
    context.sink.extend(dialect_sink)
    dialect_sink.raise_if_errors()
    return part


def _load_derivatives(request: Request, context: LoadContext) -> MatchedDerivatives:
    """Derivatives of the functions selected for training, which autograd's files have in the order of C++ names.

    None where no family of the run needs them. Raises FaultsFound.
    """
    from opwright.dialects.derivatives.matching import match_derivatives

    if DERIVATIVES.name not in dialects_of(request.families):
        return NO_DERIVATIVES

    def load_matched(context: LoadContext) -> MatchedDerivatives:
        derivatives, catalog = DERIVATIVES.load_inputs(context), context.operators
        # Functions or derivatives that are missing because of a fault would be matched wrongly.
        if derivatives is None or context.sink.has_errors or not catalog.is_sound:
            return NO_DERIVATIVES
        selected = [function for function in catalog.functions if request.selection.selects_for_training(function)]
        in_order = sorted(selected, key=lambda function: public_api.name(function.schema))
        return match_derivatives(derivatives, in_order, context.sink)

    return _gather_faults(load_matched, context)


def _load_deprecated(request: Request, context: LoadContext) -> Sequence[DeprecatedSignature]:
    """Deprecated signatures of the functions that Python gets from the generator; none for runs without its files.

    Raises FaultsFound.
    """
    from opwright.convention.python.bound import is_bound

    if DEPRECATED.name not in dialects_of(request.families):
        return ()
    functions = tuple(filter(is_bound, context.operators.functions))
    return _gather_faults(DEPRECATED.load_inputs, context._replace(functions=functions)) or ()


def _load_registration_text(request: Request, rules: Rules) -> UnitTemplate | None:
    """Template of the text of a unit in `Register{Key}.cpp`; None for runs without these files."""
    if REGISTRATIONS not in family_inputs(request.families):
        return None
    return UnitTemplate(request.inputs.read_text(REGISTRATIONS), launcher(request), template_kind(rules))


def launcher(request: Request) -> str:
    """Program that comments of registrations name."""
    if request.options.program is not None:
        return request.options.program
    # A row for backends knows its program. That of the last one counts; a family of a plug-in has that of the first.
    rows = [row for row in FAMILIES.values() if row.serves_backends]
    own = [row for row in rows if row.name in request.families]
    programs = [name for row in own for name in row.programs] or [name for row in rows[:1] for name in row.programs]
    return f"torchgen/{programs[-1]}.py" if own else LAUNCHER


def own_stub_paths(inputs: Inputs) -> list[str]:
    """Paths of PyTorch's stubs, in its package."""
    return [path for path in inputs.member_names(OWN_STUBS.partition("*")[0]) if fnmatchcase(path, OWN_STUBS)]


def _load_own_stubs(request: Request, sink: Diagnostics) -> dict[str, str]:
    """PyTorch's stubs, by path; none for runs that do not copy them."""
    if OWN_STUBS not in family_inputs(request.families):
        return {}

    paths = own_stub_paths(request.inputs)
    if not paths:
        sink.warning(NO_OWN_STUBS, f"no stubs of PyTorch's at {request.inputs.origin}")
    return {path: SourceFile.decode(path, data).text for path, data in request.inputs.read_members(paths).items()}
