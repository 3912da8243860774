"""Module `_cache_keys.py` of a library's package: what lets PyTorch's caches tell its declarations apart.

PyTorch keeps compiled programs on disk and finds them by the names of operators, while the programs have in them what
traces read: declared outputs, formulas, requirements, and kernels that are made of other operators. The module adds a
digest of these to the key of all caches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from typing import Any, Final

from opwright.emit.emitter import AnyEmitter, FragmentContext, Job, Slots
from opwright.libraries.emit import sources
from opwright.libraries.emit.openings import NAMESPACE, opening
from opwright.libraries.emit.parts import LibraryPart
from opwright.libraries.emit.python.registering import REGISTERING
from opwright.libraries.emit.python.registrations import module_emitter
from opwright.libraries.emit.stable import StableLibrary
from opwright.libraries.emit.stable import emitters as stable_emitters
from opwright.libraries.entry_fields import library_fields
from opwright.libraries.kernels import implementations_of, written_kernels
from opwright.libraries.operator_library import OperatorLibrary, RunLibraries
from opwright.model.dispatch_key import META
from opwright.model.native_function import Kernel, NativeFunction
from opwright.source.records import NamedTuple

#: The name of the module.
CACHE_KEYS: Final = "_cache_keys"

#: The modules of a package that traces read, in the order of the digest.
_ORDER: Final = ("fakes", "overlap", "overloads", "autograd", "autocast", "vmap", "sharding", "kernels", "reference")


class _Traced(NamedTuple):
    """What traces read of a library: its schemas, and texts that are made from units.

    `modules` are the Python modules whose functions traces call. With `reads_binary`, they call functions of the author
    in the shared object.
    """

    package: str
    namespace: str
    schemas: tuple[tuple[str, tuple[str, ...]], ...]
    texts: tuple[tuple[Callable[[Any, FragmentContext], Slots], object], ...]
    modules: tuple[str, ...]
    reads_binary: bool


def _read_by_traces(job: Job) -> list[AnyEmitter]:
    """The emitters of sources and Python; headers are for callers."""
    modules = [module.emitter() for module in sorted(REGISTERING, key=lambda module: _ORDER.index(module.name))]
    return [
        emitter for emitter in (*sources.emitters(job), *modules, *stable_emitters(job)) if emitter.folder != "include"
    ]


def _libraries(job: Job) -> Sequence[_Traced]:
    texts: dict[str, list[tuple[Callable[[Any, FragmentContext], Slots], object]]] = {}
    for emitter in _read_by_traces(job):
        for unit in emitter.units(job):
            namespace = unit.library.namespace if isinstance(unit, LibraryPart | StableLibrary) else unit.namespace
            texts.setdefault(namespace, []).append((emitter.fragment, unit))
    return [
        _Traced(
            library.python_package,
            library.library.namespace,
            tuple([(str(function.schema), tuple(sorted(function.tags))) for function in library.catalog.functions]),
            tuple(texts.get(library.library.namespace, ())),
            tuple(sorted({name for function in library.catalog.functions for name in _traced_modules(function)})),
            _reads_binary(library),
        )
        for library in job.of(RunLibraries).libraries
        if library.owner is None
    ]


def _traced_modules(function: NativeFunction) -> Iterator[str]:
    """Python modules with functions of the author that traces call."""
    reference = library_fields(function).reference
    if reference is not None:
        yield reference.path.partition(":")[0]
    for kernel in filter(_is_traced, function.kernels.values()):
        yield from [choice.python.partition(":")[0] for choice in implementations_of(kernel) if choice.python]


def _is_traced(kernel: Kernel) -> bool:
    """Whether traces run a kernel, and do not only name the operator: one for a device works on real tensors."""
    key = kernel.key
    return key.device is None or key.device is META.device or key.name.startswith(("Autograd", "Autocast"))


def _reads_binary(library: OperatorLibrary) -> bool:
    """Whether traces call functions in C++ that the author wrote."""
    return bool(library.derivatives.includes) or any(
        function.structured
        or library_fields(function).batch_rule
        or any(written_kernels(kernel) for kernel in filter(_is_traced, function.kernels.values()))
        for function in library.catalog.functions
    )


def _module(library: _Traced, context: FragmentContext) -> str:
    digest = blake2b(repr(library.schemas).encode(), digest_size=16)
    for fragment, unit in library.texts:
        for slot, text in sorted(fragment(unit, context).items()):
            digest.update(repr((slot, text if isinstance(text, str) else list(text))).encode())
    facts = {
        NAMESPACE: library.namespace,
        "{digest}": digest.hexdigest(),
        '("{modules}",)': repr(library.modules),
        'bool("{reads_binary}")': repr(library.reads_binary),
    }
    return opening("cache_keys", values=facts)


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitter of the module."""
    reads = {read: None for emitter in _read_by_traces(job) for read in emitter.reads}
    return [module_emitter(CACHE_KEYS.removeprefix("_"), _libraries, _module).replace(reads=tuple(reads))]
