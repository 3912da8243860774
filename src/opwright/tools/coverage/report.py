"""Makes the coverage report of a backend."""

from __future__ import annotations

from collections.abc import Iterator

from opwright.backends.dispatch.backward import BackwardFacts
from opwright.backends.dispatch.device_kernels import composite_key
from opwright.backends.dispatch.meta_kernels import MetaKernels
from opwright.backends.dispatch.traps import TrapFacts, device_dispatch, dispatch_traps, gradient_traps, what_breaks
from opwright.backends.external_backend import ExternalBackend
from opwright.backends.operator_names import META_WITH_CUDA, NEEDED
from opwright.backends.operator_records import (
    Backward,
    BackwardStatus,
    CoverageReport,
    MetaSupport,
    NeededOperator,
    OperatorRecord,
)
from opwright.backends.wrapper_options import Fallback
from opwright.emit.aten.backend import is_refused
from opwright.emit.emitter import Job
from opwright.libraries.emit.meta_kernels import has_meta_kernel
from opwright.model.dispatch_key import META
from opwright.model.native_function import NativeFunction

#: The kernels for Meta of a PyTorch whose Python modules are not at hand.
NO_META_KERNELS = MetaKernels((), ())


def coverage_report(
    backend: ExternalBackend, job: Job, meta_kernels: MetaKernels, fallback: Fallback | None = None
) -> CoverageReport:
    """Coverage of a backend by the operators of the job, which has derivatives.

    `fallback` is what runs for operators without a kernel, None for what the file says.
    """
    options = backend.options
    chosen = options.fallback if fallback is None else fallback
    dispatch = device_dispatch(backend, job, chosen)
    facts = TrapFacts(dispatch, job.rules, options.fallback_copies_views)
    records = sorted(
        _records(backend, job, meta_kernels, facts, all_operators=True),
        # Whether or not a name starts with underscores does not count.
        key=lambda record: (record.name.lstrip("_").lower(), record.name),
    )
    needed = NEEDED.in_release(job.rules)
    return CoverageReport(
        backend.display_name,
        backend.key.name,
        backend.path,
        job.rules.version.series,
        chosen.name,
        "copy" if options.fallback_copies_views else "error",
        tuple(records),
        tuple(
            [
                NeededOperator(record, what_breaks(record.function, facts))
                for record in records
                if record.function.name.text in needed
            ]
        ),
    )


def entry_records(backend: ExternalBackend, job: Job) -> list[OperatorRecord]:
    """Records of the operators that a backend file names, without the kernels for Meta that are in Python."""
    dispatch = device_dispatch(backend, job, backend.options.fallback)
    facts = TrapFacts(dispatch, job.rules, backend.options.fallback_copies_views)
    return list(_records(backend, job, NO_META_KERNELS, facts, all_operators=False))


def _records(
    backend: ExternalBackend, job: Job, meta_kernels: MetaKernels, facts: TrapFacts, *, all_operators: bool
) -> Iterator[OperatorRecord]:
    """Records of all operators: PyTorch's, the backend's own, and those of other libraries that have an entry.

    Without `all_operators`, of those alone that the backend file names.
    """
    section = backend.section("autograd")
    autograd = [] if section is None else [entry.function for entry in section.entries]
    derivatives = [job.derivatives, *[library.derivatives.matched for library in backend.libraries]]
    gradients = BackwardFacts(derivatives, job.catalog, facts.dispatch, job.rules, autograd=frozenset(autograd))
    keys = _further_keys(backend)
    with_cuda = META_WITH_CUDA.in_release(job.rules)
    named = [entry.function for section in backend.sections for entry in section.entries]
    functions = [function for library in backend.libraries for function in library.catalog.functions]
    defined = dict.fromkeys((*job.catalog.functions, *functions))
    for function in dict.fromkeys((*defined, *named) if all_operators else named):
        is_defined = function in defined
        record = OperatorRecord(
            function,
            facts.dispatch.reach(function),
            gradients.backward(function) if is_defined else Backward(BackwardStatus.unknown),
            meta_support(function, meta_kernels, with_cuda) if is_defined else MetaSupport.unknown,
            keys.get(function, ()),
            facts.span(function),
        )
        yield record._replace(traps=(*dispatch_traps(function, facts), *gradient_traps(record)))


def _further_keys(backend: ExternalBackend) -> dict[NativeFunction, tuple[str, ...]]:
    """Further dispatch keys for which a backend has kernels, by function."""
    keys: dict[NativeFunction, tuple[str, ...]] = {}
    for section in backend.sections:
        for entry in section.entries if section.key is not backend.key else ():
            keys[entry.function] = (*keys.get(entry.function, ()), section.key.name)
    return keys


def meta_support(
    function: NativeFunction, meta_kernels: MetaKernels, with_cuda: frozenset[str] = frozenset()
) -> MetaSupport:
    """Where the shapes of a function's results come from while PyTorch traces.

    `with_cuda` names the operators whose kernel for Meta depends on the build of PyTorch.

    >>> import opwright
    >>> catalog = opwright.load()
    >>> [meta_support(catalog[name], NO_META_KERNELS).name for name in ("add.out", "view", "reshape", "bincount")]
    ['structured', 'kernel', 'composite', 'missing']
    """
    if META in function.kernels or (not function.library.in_libtorch and has_meta_kernel(function)):
        return MetaSupport.kernel
    if function.in_structured_group:
        return MetaSupport.structured
    if meta_kernels.has(function.name.name, function.name.overload):
        return MetaSupport.python
    if composite_key(function, META) is not None:
        return MetaSupport.composite
    if is_refused(function):
        return MetaSupport.inplace
    return MetaSupport.cuda_build if function.name.text in with_cuda else MetaSupport.missing
