"""Units of a library's files: the whole library, or a part of its sources, which consist of sections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from hashlib import blake2b
from typing import Any, Final, Protocol, TypeAlias, TypeVar, cast

from opwright.emit.aten.backend import KernelUnit, members
from opwright.emit.emitter import FragmentContext, Job, Slots, per_job
from opwright.libraries.entry_fields import library_fields
from opwright.libraries.kernels import implementations_of, is_checked, python_function
from opwright.libraries.operator_library import OperatorLibrary, OwnWrappers, RunLibraries
from opwright.model.derivatives import DifferentiabilityInfo, DifferentiableFunction
from opwright.model.library import Library
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup
from opwright.source.records import NamedTuple

#: How many operations one source file has, about. PyTorch's headers take most of a compilation, so that larger sources
#: cost less in all, and smaller ones less after an edit: docs/benchmarks.md has the table.
_OPERATIONS_PER_FILE: Final = 100


class PartDerivatives(NamedTuple):
    """Derivatives of the operators of a part.

    `functions` are the functions of the part with the derivatives that they use, and `infos` those that nodes of the
    backward graph are made for, in the order of the library's file. `includes` are the headers that declare the
    author's functions in formulas, and `called` the operators of PyTorch that formulas call as functions.
    """

    functions: tuple[DifferentiableFunction, ...] = ()
    infos: tuple[DifferentiabilityInfo, ...] = ()
    includes: tuple[str, ...] = ()
    called: tuple[str, ...] = ()


_NO_DERIVATIVES: Final = PartDerivatives()


class LibraryPart(NamedTuple):
    """Some of the operators of a library, which share a source file.


    `number` is None for the library as a whole. `includes` are the headers that declare the author's kernels; without
    any, generated code declares them. `units` are groups, and functions without a group. The library as a whole is for
    files without derivatives. With `has_own_signatures`, kernels have the C++ signatures with which the author's
    headers declare them. The operators of a part with a `condition` exist where that holds. One part of a library with
    several kernels for a key `forces_implementations`. `wrappers` are those of a backend's operators.
    """

    library: Library
    number: int | None
    includes: tuple[str, ...]
    units: tuple[KernelUnit, ...]
    derivatives: PartDerivatives = _NO_DERIVATIVES
    has_own_signatures: bool = False
    condition: str = ""
    forces_implementations: bool = False
    wrappers: OwnWrappers | None = None

    @property
    def functions(self) -> list[NativeFunction]:
        """Functions of all units."""
        return [function for unit in self.units for function in members(unit)]

    @property
    def path(self) -> str:
        """Folder of the library's files, which include directives name: `acme`."""
        return self.library.headers


def structured_groups(units: Sequence[KernelUnit]) -> list[NativeFunctionsGroup]:
    """Groups with structured kernels."""
    return [unit for unit in units if isinstance(unit, NativeFunctionsGroup) and unit.structured]


def _part(library: OperatorLibrary, number: int | None, units: Sequence[KernelUnit]) -> LibraryPart:
    return LibraryPart(
        library.library,
        number,
        library.includes,
        tuple(units),
        has_own_signatures=library.has_own_signatures,
        wrappers=library.wrappers,
    )


def has_own_kernel(function: NativeFunction, functionality: str) -> bool:
    """Whether the author wrote a kernel under a key of some functionality, such as `Autograd` or `AutogradCPU`."""
    return any(key.name.startswith(functionality) for key in function.kernels)


@per_job
def whole_libraries(job: Job) -> Sequence[LibraryPart]:
    """Each library of the run with the native C++ interface, as a whole."""
    return [_part(library, None, library.catalog.groups) for library in _native_libraries(job)]


@per_job
def library_parts(job: Job) -> Sequence[LibraryPart]:
    """Parts of these libraries. An operation stays in its part unless the number of parts changes."""
    return [part for library in _native_libraries(job) for part in _parts_of(library)]


def _native_libraries(job: Job) -> list[OperatorLibrary]:
    return [library for library in job.of(RunLibraries).libraries if not library.is_stable]


def _parts_of(library: OperatorLibrary) -> list[LibraryPart]:
    """Parts of a library: each condition has one of its own, after those of the unconditional operators."""
    groups = [unit for unit in library.catalog.groups if not _condition_of(unit)]
    count = max(1, round(len(groups) / _OPERATIONS_PER_FILE))
    parts: list[list[KernelUnit]] = [[] for _ in range(count)]
    for unit in groups:
        parts[_stable_number(unit.root_name) % count].append(unit)
    conditions = sorted(set(map(_condition_of, library.catalog.groups)) - {""})
    parts += [[unit for unit in library.catalog.groups if _condition_of(unit) == condition] for condition in conditions]
    derivatives = _derivatives_by_part(library, parts)
    are_chosen = any(
        implementations_of(kernel) and not python_function(kernel) and not is_checked(kernel)
        for function in library.catalog.functions
        for kernel in function.kernels.values()
    )
    return [
        _part(library, number, units)._replace(
            derivatives=derivatives[number],
            condition=condition,
            forces_implementations=are_chosen and number == 0,
        )
        for number, (units, condition) in enumerate(zip(parts, [*[""] * count, *conditions], strict=True))
    ]


def parts_by_root(part: LibraryPart) -> Iterator[LibraryPart]:
    """A part divided into parts of operations with the same root name, such as `add` and `add_`."""
    return (root_part for _, root_part in _divide(part, lambda unit: unit.root_name))


def parts_by_condition(part: LibraryPart) -> list[LibraryPart]:
    """A part divided by the conditions of its operators, the unconditional ones first."""
    divided = sorted(_divide(part, _condition_of))
    return [condition_part._replace(condition=condition) for condition, condition_part in divided] or [part]


def _condition_of(unit: KernelUnit) -> str:
    return library_fields(next(iter(members(unit)))).condition


def _divide(part: LibraryPart, name_of: Callable[[KernelUnit], str]) -> Iterator[tuple[str, LibraryPart]]:
    """Parts with the units that have a name in common, by these names."""
    units: dict[str, list[KernelUnit]] = {}
    for unit in part.units:
        units.setdefault(name_of(unit), []).append(unit)
    derivatives = part.derivatives
    for name, part_units in units.items():
        functions = frozenset([function for unit in part_units for function in members(unit)])
        yield (
            name,
            part._replace(
                units=tuple(part_units),
                derivatives=derivatives._replace(
                    functions=tuple([item for item in derivatives.functions if item.function in functions]),
                    infos=tuple([info for info in derivatives.infos if info.function in functions]),
                ),
            ),
        )


def _derivatives_by_part(library: OperatorLibrary, parts: Sequence[Sequence[KernelUnit]]) -> list[PartDerivatives]:
    """Derivatives of each part, with what their formulas need."""
    derivatives, differentiable = library.derivatives, library.differentiable_functions()
    functions = [[function for unit in units for function in members(unit)] for units in parts]
    numbers = {function: number for number, indices in enumerate(functions) for function in indices}
    infos: list[list[DifferentiabilityInfo]] = [[] for _ in parts]
    for info in derivatives.matched.infos + derivatives.matched.made:
        if info.function in numbers:
            infos[numbers[info.function]].append(info)
    return [
        PartDerivatives(
            tuple([differentiable[function] for function in functions[number]]),
            tuple(indices),
            derivatives.includes if indices else (),
            _operators_in(derivatives.called, indices),
        )
        for number, indices in enumerate(infos)
    ]


def _operators_in(operators: Sequence[str], infos: Sequence[DifferentiabilityInfo]) -> tuple[str, ...]:
    """Those of the operators that formulas call as functions."""
    words = {word for info in infos for derivative in info.forward_derivatives for word in derivative.words}
    words.update(*[info.words for info in infos])
    return tuple([name for name in operators if name in words])


def _stable_number(name: str) -> int:
    """A number that a name has in every process."""
    return int.from_bytes(blake2b(name.encode(), digest_size=4).digest(), "big")


class _Unit(Protocol):
    """What a source is made from."""

    @property
    def functions(self) -> Sequence[NativeFunction]: ...


_AnyUnit = TypeVar("_AnyUnit", bound=_Unit)


def made_for_two(
    make: Callable[[_AnyUnit, FragmentContext], Slots],
) -> Callable[[_AnyUnit, FragmentContext], Slots]:
    """A decorator of the fragment of a source, whose text the digest in `python/cache_keys.py` covers too.

    Whoever asks second takes the text of a unit, which the cache of its first function keeps till then. The units of a
    job are the same objects for both.
    """

    @wraps(make)
    def look_up(unit: _AnyUnit, context: FragmentContext) -> Slots:
        functions = unit.functions
        cache: dict[Any, Any] = functions[0].cache if functions else {}
        kept_unit, slots = cache.pop(make, (None, {}))
        if kept_unit is not unit:
            slots = make(unit, context)
            cache[make] = unit, slots
        return cast("Slots", slots)

    return look_up


class Section(NamedTuple):
    """A piece of a source file: the headers that it needs, and its text. An empty text adds nothing to the file."""

    includes: tuple[str, ...] = ()
    text: str = ""


#: Makes the section of a subject for a part of a library.
MakeSection: TypeAlias = Callable[[LibraryPart, FragmentContext], Section]


def by_root(functions: Iterable[NativeFunction]) -> Mapping[str, Sequence[NativeFunction]]:
    """Functions by the root of their names, among which is the functional form of each."""
    roots: dict[str, list[NativeFunction]] = {}
    for function in functions:
        roots.setdefault(function.root_name, []).append(function)
    return roots
