"""Fingerprints of units: 8 bytes of everything that a fragment can read from its unit.

A fragment reads its unit, the functions in it, and the groups that these belong to. So the fingerprint of a function
covers its own entry and the entries of its groups' members. The position of an entry in its file is no part of it.
Comments inside an entry are, which at worst makes a fragment again.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from opwright.emit.emitter import HasFingerprintKey
from opwright.model.derivatives import DifferentiabilityInfo, DifferentiableFunction
from opwright.model.dispatch_key import DispatchKey
from opwright.model.external_backend import BackendEntry
from opwright.model.library import PYTORCH
from opwright.model.native_function import Kernel, NativeFunction, NativeFunctionsGroup, Precomputed, ViewGroup
from opwright.schema.function import Argument, Return
from opwright.schema.names import OperatorName
from opwright.schema.types import Type

if TYPE_CHECKING:
    from opwright.emit.emitter import DeclaredRead, FragmentContext, Job

__all__ = [
    "FINGERPRINT_SIZE",
    "NOT_FINGERPRINTED",
    "UnitFingerprints",
    "fingerprint",
    "job_fingerprint",
    "read_fingerprints",
    "split_fingerprints",
]

FINGERPRINT_SIZE: Final = 8

#: Values whose `repr` tells all of them.
_ATOMS: Final = (str, float, DispatchKey, enum.Enum, Argument, OperatorName, Return, Type)

#: Attributes of a function that its own entry's fingerprint leaves out: its position, its caches, what follows from
#: other attributes, and its groups, whose members' entries are fingerprinted instead.
NOT_FINGERPRINTED: Final = frozenset(
    ("arguments", "cache", "entry", "group", "kind", "name", "root_name", "view_group")
)


def fingerprint(text: str) -> bytes:
    """The fingerprint of a text, which may hold surrogates."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=FINGERPRINT_SIZE).digest()


def split_fingerprints(joined: bytes) -> list[bytes]:
    """Fingerprints that were stored one after the other."""
    size = FINGERPRINT_SIZE
    return [joined[start : start + size] for start in range(0, len(joined), size)]


class UnitFingerprints:
    """The fingerprints of a job's units, each computed once."""

    __slots__ = ("_by_identity", "_by_value", "_entries", "_members")

    def __init__(self) -> None:
        #: Of values that can be keys of a dictionary. Functions, groups and infos are equal only to themselves.
        self._by_value: dict[object, bytes] = {}
        #: Of lists, and of tuples with lists in them. The value is kept, so that no other one gets its number.
        self._by_identity: dict[int, tuple[object, bytes]] = {}
        self._entries: dict[NativeFunction, bytes] = {}
        self._members: dict[NativeFunctionsGroup | ViewGroup, bytes] = {}

    def of_all(self, units: Sequence[object]) -> list[bytes]:
        """The fingerprints of units. Raises TypeError as `of` does."""
        # Nearly all units are functions that other emitters have as well, so one look-up each is worth a try.
        try:
            cached = list(map(self._by_value.get, units))
        except TypeError:
            return list(map(self.of, units))
        return [
            self.of(unit) if fingerprint is None else fingerprint
            for unit, fingerprint in zip(units, cached, strict=True)
        ]

    def of(self, unit: object) -> bytes:
        """The fingerprint of a unit.

        Raises TypeError for a unit that holds an object of a kind whose contents are not known here: such a unit
        derives from `HasFingerprintKey`.
        """
        # Nearly all units are of these two kinds.
        if type(unit) is NativeFunction:
            return self._by_value.get(unit) or self._function(unit)
        if type(unit) is DifferentiableFunction:
            # It has dictionaries, and to find out by an exception takes longer than the rest.
            return self._of_unhashable(unit) if unit.infos else self.of(unit.function)
        try:
            cached = self._by_value.get(unit)
        except TypeError:
            return self._of_unhashable(unit)
        if cached is not None:
            return cached
        result = self._compute(unit)
        # True and 1 are equal, so numbers are not cached.
        if not isinstance(unit, int):
            self._by_value[unit] = result
        return result

    def _of_unhashable(self, unit: object) -> bytes:
        cached = self._by_identity.get(id(unit))
        if cached is not None:
            return cached[1]
        result = self._compute(unit)
        self._by_identity[id(unit)] = unit, result
        return result

    def _compute(self, unit: object) -> bytes:
        if isinstance(unit, DifferentiableFunction):
            return self._differentiable(unit)
        if isinstance(unit, BackendEntry):
            # Where its name stands in the file is no part of it.
            return self._row((unit.function, unit.kernel, unit.options))
        if isinstance(unit, (tuple, list)):
            return self._row(unit)
        if isinstance(unit, Kernel):
            return fingerprint(repr(_kernel_row(unit)))
        if isinstance(unit, HasFingerprintKey):
            return self._row(unit.fingerprint_key)
        if isinstance(unit, DifferentiabilityInfo):
            return fingerprint(f"{_derivatives_text(unit)}|{self.of(unit.function).hex()}")
        if isinstance(unit, (NativeFunctionsGroup, ViewGroup)):
            members = b"".join(map(self.of, unit.functions()))
            return blake2b(type(unit).__name__.encode() + members, digest_size=FINGERPRINT_SIZE).digest()
        if isinstance(unit, _ATOMS):
            return fingerprint(f"{type(unit).__name__} {unit!r}")
        if unit is None or isinstance(unit, int):
            text = b"%r " % unit
            # The fingerprints of a file's units are stored one after the other, so all have the same size.
            return text.ljust(FINGERPRINT_SIZE) if len(text) <= FINGERPRINT_SIZE else fingerprint(text.decode())
        if isinstance(unit, Mapping):
            return self._row(list(unit.items()))
        if isinstance(unit, frozenset):
            return self._row(sorted(map(str, unit)))
        raise TypeError(f"a unit holds a `{type(unit).__name__}`, which has no fingerprint")

    def _row(self, row: Sequence[object]) -> bytes:
        """The fingerprint of a row, from those of its items."""
        # With the count, rows of rows with the same items in another nesting differ.
        parts = [b"%d " % len(row), *self.of_all(row)]
        return blake2b(b"".join(parts), digest_size=FINGERPRINT_SIZE).digest()

    def _differentiable(self, differentiable: DifferentiableFunction) -> bytes:
        """The fingerprint of a function with its derivatives.

        Which forward formulas come from the functional overload shows in the fragments of in-place functions.
        """
        own = self.of(differentiable.function)
        if not differentiable.infos:
            return own
        parts = [own]
        for key, info in differentiable.infos.items():
            parts += [key.encode(), self.of(info)]
            forward = differentiable.forward[key]
            parts += [derivative.formula.encode() for derivative in forward if derivative.from_functional]
        return blake2b(b"|".join(parts), digest_size=FINGERPRINT_SIZE).digest()

    def _function(self, function: NativeFunction) -> bytes:
        """The fingerprint of a function: of its own entry, and of those of its groups' members."""
        result = self._entries.get(function) or self.entry(function)
        group, view_group = function.group, function.view_group
        if group is not None or view_group is not None:
            result += b"|" if group is None else self._members.get(group) or self._member_entries(group)
            result += b"|" if view_group is None else self._members.get(view_group) or self._member_entries(view_group)
            result = blake2b(result, digest_size=FINGERPRINT_SIZE).digest()
        self._by_value[function] = result
        return result

    def _member_entries(self, group: NativeFunctionsGroup | ViewGroup) -> bytes:
        """The fingerprint of the entries of a group's members."""
        entries = self._entries
        contents = b"".join([entries.get(member) or self.entry(member) for member in group.functions()])
        result = self._members[group] = blake2b(contents, digest_size=FINGERPRINT_SIZE).digest()
        return result

    def entry(self, function: NativeFunction) -> bytes:
        """The fingerprint of a function's own entry, without those of its groups."""
        result = self._entries.get(function)
        if result is None:
            result = self._entries[function] = fingerprint(_entry_text(function))
        return result


def _entry_text(function: NativeFunction) -> str:
    """The text of a function's entry, and which form of it was synthesized.

    An alias (`*name`) brings in what is not in the entry's own text, so with anchors in the file it is all fields.
    So it is for operators of libraries, where the head of the file and sections add to what entries say.
    """
    entry = function.entry
    if entry.file.has_anchors or function.library is not PYTORCH:
        return _fields_text(function)
    return f"{entry.text}|{function.schema}" if function.is_synthesized else entry.text


def _fields_text(function: NativeFunction) -> str:
    """All fields of a function, as one text."""
    kernels = list(map(_kernel_row, function.kernels.values()))
    loops = [(key.name, loop.name, loop.dtypes) for key, loop in function.ufunc.items()]
    flags = (
        function.function, function.method, function.structured, function.device_guard, function.manual_cpp_binding,
        function.manual_kernel_registration, function.is_synthesized, function.is_abstract, function.needs_derivative,
        function.is_view, function.style,
    )  # fmt: skip
    return (
        f"{function.namespace}::{function.schema.written_text}|{kernels}|{loops}|{list(map(int, flags))}|"
        f"{function.device_check.name}|{function.structured_delegate}|{function.structured_inherits}|"
        f"{function.python_module}|{function.category_override}|{sorted(function.cpp_no_default_args)}|"
        f"{sorted(function.tags)}|{list(map(str, function.autogen))}|{_precomputed_text(function.precomputed)}|"
        f"{tuple(function.library)}|{function.library_fields}"
    )


def _kernel_row(kernel: Kernel) -> tuple[object, ...]:
    """All of a kernel and of its implementations."""
    row = (kernel.key.name, kernel.name, kernel.namespace, kernel.structured, kernel.condition)
    implementations = [(_kernel_row(own), *rest) for own, *rest in kernel.implementations]
    return (*row, implementations) if implementations else row


def _derivatives_text(info: DifferentiabilityInfo) -> str:
    """The entry of an info as one text; what its formulas save and read follows from it and the function."""
    backward = [
        (derivative.original_formula, derivative.formula, derivative.var_names) for derivative in info.derivatives
    ]
    forward = [(derivative.formula, derivative.var_names) for derivative in info.forward_derivatives]
    return (
        f"{info.name}|{info.node_name}|{backward}|{forward}|{info.differentiable_arguments}|{info.non_differentiable}|"
        f"{info.available_gradients}|{info.output_differentiability}|{info.output_condition}"
    )


def _precomputed_text(precomputed: Precomputed | None) -> str:
    if precomputed is None:
        return ""
    replaced = [(name, list(map(str, arguments))) for name, arguments in precomputed.replace.items()]
    return f"{replaced}{list(map(str, precomputed.add))}"


def job_fingerprint(job: FragmentContext) -> bytes:
    """The fingerprint of what every fragment can read besides its unit: options, rules and selection."""
    return fingerprint(f"{job.rules.identity}|{job.options.texts()}|{job.selection!r}")


def read_fingerprints(reads: Iterable[DeclaredRead[Any]], job: Job, units: UnitFingerprints) -> bytes:
    """The fingerprints of declared reads, one after the other."""
    return b"".join([units.of(read.fingerprint_key(read.get(job))) for read in reads])
