"""Fingerprints of units: 8 bytes of everything that a fragment can read from its unit.

A fragment reads its unit, the functions in it, and the groups that these belong to. So the fingerprint of a function
covers its own entry and the entries of its groups' members. The position of an entry in its file is no part of it.
Comments inside an entry are, which at worst makes a fragment again.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from opwright.model.derivatives import DifferentiabilityInfo, DifferentiableFunction
from opwright.model.dispatch_key import DispatchKey
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup, Precomputed, ViewGroup
from opwright.model.fingerprint_key import HasFingerprintKey
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
Atom: TypeAlias = "str | DispatchKey | enum.Enum | Argument | OperatorName | Return | Type"
_ATOMS: Final = (str, DispatchKey, enum.Enum, Argument, OperatorName, Return, Type)

#: Attributes of a function that its own entry's fingerprint leaves out: its position, its caches, what follows from
#: other attributes, and its groups, whose members' entries are fingerprinted instead.
NOT_FINGERPRINTED: Final = frozenset(("arguments", "derived", "entry", "group", "kind", "name", "root_name", "view_group"))


def fingerprint(text: str) -> bytes:
    """The fingerprint of a text, which may hold surrogates."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=FINGERPRINT_SIZE).digest()


def split_fingerprints(joined: bytes) -> list[bytes]:
    """Fingerprints that were stored one after the other."""
    size = FINGERPRINT_SIZE
    return [joined[start : start + size] for start in range(0, len(joined), size)]


class UnitFingerprints:
    """The fingerprints of a job's units, each computed once."""

    __slots__ = ("_atoms", "_entries", "_functions", "_groups", "_infos", "_members", "_rows")

    def __init__(self) -> None:
        self._atoms: dict[Atom, bytes] = {}
        self._infos: dict[DifferentiabilityInfo, bytes] = {}
        # By identity. The row is kept, so that no other row gets its number.
        self._rows: dict[int, tuple[object, bytes]] = {}
        self._entries: dict[NativeFunction, bytes] = {}
        self._functions: dict[NativeFunction, bytes] = {}
        self._members: dict[NativeFunctionsGroup | ViewGroup, bytes] = {}
        self._groups: dict[NativeFunctionsGroup | ViewGroup, bytes] = {}

    def of(self, unit: object) -> bytes:
        """The fingerprint of a unit.

        Raises TypeError for a unit that holds an object of a kind whose contents are not known here: such a unit
        derives from `HasFingerprintKey`.
        """
        if isinstance(unit, NativeFunction):
            return self._functions.get(unit) or self._function(unit)
        if isinstance(unit, DifferentiableFunction):
            return self._differentiable(unit)
        if isinstance(unit, (tuple, list)):
            return self._row(unit)
        if isinstance(unit, (NativeFunctionsGroup, ViewGroup)):
            return self._groups.get(unit) or self._group(unit)
        if isinstance(unit, _ATOMS):
            return self._atoms.get(unit) or self._atom(unit)
        if unit is None or isinstance(unit, int):
            text = b"%r " % unit
            # The fingerprints of a file's units are stored one after the other, so all have the same size.
            return text.ljust(FINGERPRINT_SIZE) if len(text) <= FINGERPRINT_SIZE else fingerprint(text.decode())
        return self._record(unit)

    def _row(self, row: Sequence[object]) -> bytes:
        """The fingerprint of a row, from those of its items. Rows are shared by many units, and never change in a run."""
        known = self._rows.get(id(row))
        if known is not None:
            return known[1]
        # With the count, rows of rows with the same items in another nesting differ.
        parts = [b"%d " % len(row)]
        functions = self._functions
        parts += [(functions.get(item) if type(item) is NativeFunction else None) or self.of(item) for item in row]
        result = blake2b(b"".join(parts), digest_size=FINGERPRINT_SIZE).digest()
        self._rows[id(row)] = row, result
        return result

    def _record(self, unit: object) -> bytes:
        if isinstance(unit, Mapping):
            return self._row(list(unit.items()))
        if isinstance(unit, frozenset):
            return self._row(sorted(map(str, unit)))
        if isinstance(unit, DifferentiabilityInfo):
            return self._infos.get(unit) or self._info(unit)
        if isinstance(unit, HasFingerprintKey):
            return self._row(unit.fingerprint_key)
        raise TypeError(f"a unit holds a `{type(unit).__name__}`, which has no fingerprint")

    def _info(self, info: DifferentiabilityInfo) -> bytes:
        """The fingerprint of an info: its function's, and its entry's contents without positions in files."""
        function = self._functions.get(info.function) or self._function(info.function)
        result = self._infos[info] = fingerprint(f"{_derivatives_text(info)}|{function.hex()}")
        return result

    def _differentiable(self, differentiable: DifferentiableFunction) -> bytes:
        """The fingerprint of a function with its derivatives.

        Which forward formulas come from the functional overload shows in the fragments of in-place functions.
        """
        function = differentiable.function
        own = self._functions.get(function) or self._function(function)
        if not differentiable.infos:
            return own
        known = self._rows.get(id(differentiable))
        if known is not None:
            return known[1]
        parts = [own]
        for key, info in differentiable.infos.items():
            parts += [key.encode(), self._infos.get(info) or self._info(info)]
            forward = differentiable.forward[key]
            parts += [derivative.formula.encode() for derivative in forward if derivative.from_functional]
        result = blake2b(b"|".join(parts), digest_size=FINGERPRINT_SIZE).digest()
        self._rows[id(differentiable)] = differentiable, result
        return result

    def _atom(self, atom: Atom) -> bytes:
        result = self._atoms[atom] = fingerprint(f"{type(atom).__name__} {atom!r}")
        return result

    def _group(self, group: NativeFunctionsGroup | ViewGroup) -> bytes:
        functions = self._functions
        members = b"".join([functions.get(member) or self._function(member) for member in group.functions()])
        kind = type(group).__name__.encode()
        result = self._groups[group] = blake2b(kind + members, digest_size=FINGERPRINT_SIZE).digest()
        return result

    def _function(self, function: NativeFunction) -> bytes:
        contents = self.entry(function)
        for group in (function.group, function.view_group):
            contents += b"|" if group is None else self._members.get(group) or self._member_entries(group)
        result = self._functions[function] = blake2b(contents, digest_size=FINGERPRINT_SIZE).digest()
        return result

    def _member_entries(self, group: NativeFunctionsGroup | ViewGroup) -> bytes:
        """The fingerprint of the entries of a group's members."""
        entries = b"".join([self.entry(member) for member in group.functions()])
        result = self._members[group] = blake2b(entries, digest_size=FINGERPRINT_SIZE).digest()
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
    """
    entry = function.entry
    if entry.file.has_anchors:
        return _fields_text(function)
    return f"{entry.text}|{function.schema}" if function.is_synthesized else entry.text


def _fields_text(function: NativeFunction) -> str:
    """All fields of a function, as one text."""
    kernels = [(key.name, kernel.name, kernel.namespace, kernel.structured) for key, kernel in function.kernels.items()]
    loops = [(key.name, loop.name, loop.dtypes) for key, loop in function.ufunc.items()]
    flags = (
        function.function, function.method, function.structured, function.device_guard, function.manual_cpp_binding,
        function.manual_kernel_registration, function.is_synthesized, function.is_abstract, function.needs_derivative,
        function.is_view, function.style,
    )  # fmt: skip
    return (
        f"{function.namespace}::{function.schema}|{kernels}|{loops}|{list(map(int, flags))}|"
        f"{function.device_check.name}|{function.structured_delegate}|{function.structured_inherits}|"
        f"{function.python_module}|{function.category_override}|{sorted(function.cpp_no_default_args)}|"
        f"{sorted(function.tags)}|{list(map(str, function.autogen))}|{_precomputed_text(function.precomputed)}"
    )


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
    options = [
        (name, sorted(map(str, value)) if isinstance(value, frozenset) else value)
        for name, value in ((name, getattr(job.options, name)) for name in sorted(job.options._fields))
    ]
    return fingerprint(f"{job.rules.version}|{options}|{job.selection!r}")


def read_fingerprints(reads: Iterable[DeclaredRead[Any]], job: Job, units: UnitFingerprints) -> bytes:
    """The fingerprints of declared reads, one after the other."""
    return b"".join([units.of(read.fingerprint_key(read.get(job))) for read in reads])
