"""Tokens of units: eight bytes that are others as soon as anything differs that a fragment of the unit may show.

A fragment sees its unit, and the functions in it with the groups that these belong to; it may see the rest of the
catalog only by way of the job, which the engine watches. So a function's token is made from all that its entry says,
and all that those of its groups say. Where an entry stands is no part of it; comments in the middle of it are, which
does no harm.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, TypeAlias

from opwright.model.derivatives import DifferentiabilityInfo, DifferentiableFunction
from opwright.model.dispatch_key import DispatchKey
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup, Precomputed, ViewGroup
from opwright.model.said import Said
from opwright.schema.function import Argument, Return
from opwright.schema.names import OperatorName
from opwright.schema.types import Type

if TYPE_CHECKING:
    from opwright.emit.emitter import Job

__all__ = ["TOKEN_SIZE", "UNSAID", "UnitTokens", "digest", "job_token"]

TOKEN_SIZE: Final = 8

#: Values whose representation is all that they are. Those of the schema language say their whole text.
Atom: TypeAlias = "str | DispatchKey | enum.Enum | Argument | OperatorName | Return | Type"
_ATOMS: Final = (str, DispatchKey, enum.Enum, Argument, OperatorName, Return, Type)

#: What a function holds that its token leaves out: where it stands, what is remembered with it, what follows from the
#: rest, and its groups, which the token covers by their members.
UNSAID: Final = frozenset(("arguments", "derived", "entry", "group", "kind", "name", "root_name", "view_group"))


def digest(text: str) -> bytes:
    """A short digest of a text; surrogates, which no output can hold, are allowed."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=TOKEN_SIZE).digest()


class UnitTokens:
    """The tokens of a job's units, each made once."""

    __slots__ = ("_atoms", "_contents", "_functions", "_groups", "_infos", "_members", "_rows")

    def __init__(self) -> None:
        self._atoms: dict[Atom, bytes] = {}
        self._infos: dict[DifferentiabilityInfo, bytes] = {}
        # By identity; the row is kept, so that no other one gets its number.
        self._rows: dict[int, tuple[Sequence[object], bytes]] = {}
        self._contents: dict[NativeFunction, bytes] = {}
        self._functions: dict[NativeFunction, bytes] = {}
        self._members: dict[NativeFunctionsGroup | ViewGroup, bytes] = {}
        self._groups: dict[NativeFunctionsGroup | ViewGroup, bytes] = {}

    def of(self, unit: object) -> bytes | None:
        """The token of a unit; None when it holds something of which it is not known what a fragment may see."""
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
            token = b"%r " % unit
            # Tokens of files are strung together, so all have the same size.
            return token.ljust(TOKEN_SIZE) if len(token) <= TOKEN_SIZE else digest(token.decode())
        return self._record(unit)

    def _row(self, row: Sequence[object]) -> bytes | None:
        """The token of a row, from those of its items. Rows are shared by many units, and never change in a run."""
        known = self._rows.get(id(row))
        if known is not None:
            return known[1]
        # The count is added too, so that no two different rows have the same parts.
        parts = [b"%d " % len(row)]
        functions = self._functions
        for item in row:
            part = (functions.get(item) if type(item) is NativeFunction else None) or self.of(item)
            if part is None:
                return None
            parts.append(part)
        token = blake2b(b"".join(parts), digest_size=TOKEN_SIZE).digest()
        self._rows[id(row)] = row, token
        return token

    def _record(self, unit: object) -> bytes | None:
        """The token of a record, from those of its fields; objects of other kinds may show what is not known of."""
        if isinstance(unit, Mapping):
            return self._row(list(unit.items()))
        if isinstance(unit, frozenset) and all(isinstance(item, str) for item in unit):
            return self._row(sorted(unit))
        if isinstance(unit, DifferentiabilityInfo):
            return self._infos.get(unit) or self._info(unit)
        if isinstance(unit, Said):
            return self._row(unit.said)
        return None

    def _info(self, info: DifferentiabilityInfo) -> bytes:
        """The token of an info: its function's, and all that its entry says; places in files are no part of it."""
        function = self._functions.get(info.function) or self._function(info.function)
        token = self._infos[info] = digest(f"{_derivatives_said(info)}|{function.hex()}")
        return token

    def _differentiable(self, one: DifferentiableFunction) -> bytes:
        """The token of a function with its derivatives; which forward formulas are its own shows in in-place ones."""
        if not one.infos:
            return self._functions.get(one.function) or self._function(one.function)
        known = self._rows.get(id(one))
        if known is not None:
            return known[1]
        parts = [self._functions.get(one.function) or self._function(one.function)]
        for key, info in one.infos.items():
            parts += [key.encode(), self._infos.get(info) or self._info(info)]
            parts += [forward.formula.encode() for forward in one.forward[key] if forward.from_functional]
        token = blake2b(b"|".join(parts), digest_size=TOKEN_SIZE).digest()
        self._rows[id(one)] = one, token
        return token

    def _atom(self, atom: Atom) -> bytes:
        token = self._atoms[atom] = digest(f"{type(atom).__name__} {atom!r}")
        return token

    def _group(self, group: NativeFunctionsGroup | ViewGroup) -> bytes:
        members = b"".join([self._functions.get(one) or self._function(one) for one in group.functions()])
        kind = type(group).__name__.encode()
        token = self._groups[group] = blake2b(kind + members, digest_size=TOKEN_SIZE).digest()
        return token

    def _function(self, function: NativeFunction) -> bytes:
        said = self.content(function)
        for group in (function.group, function.view_group):
            said += b"|" if group is None else self._members.get(group) or self._said_by_members(group)
        token = self._functions[function] = blake2b(said, digest_size=TOKEN_SIZE).digest()
        return token

    def _said_by_members(self, group: NativeFunctionsGroup | ViewGroup) -> bytes:
        """A digest of what the entries of a group say."""
        contents = b"".join([self.content(member) for member in group.functions()])
        said = self._members[group] = blake2b(contents, digest_size=TOKEN_SIZE).digest()
        return said

    def content(self, function: NativeFunction) -> bytes:
        """A digest of what a function's own entry says."""
        content = self._contents.get(function)
        if content is None:
            content = self._contents[function] = digest(_text(function))
        return content


def _text(one: NativeFunction) -> str:
    """All that a function's entry says: its own text, and which form of it was made, or else what was read from it."""
    entry = one.entry
    if entry.file.has_anchors:
        return _said(one)
    return f"{entry.text}|{one.schema}" if one.is_synthesized else entry.text


def _said(one: NativeFunction) -> str:
    """All that a function's entry says, as one text."""
    kernels = [(key.name, found.name, found.namespace, found.structured) for key, found in one.kernels.items()]
    loops = [(key.name, loop.name, loop.dtypes) for key, loop in one.ufunc.items()]
    return (
        f"{one.namespace}::{one.schema}|{kernels}|{loops}|{one.function:d}{one.method:d}{one.structured:d}"
        f"{one.device_guard:d}{one.manual_cpp_binding:d}{one.manual_kernel_registration:d}{one.is_synthesized:d}"
        f"{one.is_abstract:d}{one.needs_derivative:d}{one.is_view:d}{one.device_check.name}|{one.style:d}|"
        f"{one.structured_delegate}|{one.structured_inherits}|{one.python_module}|{one.category_override}|{sorted(one.cpp_no_default_args)}|"
        f"{sorted(one.tags)}|{[str(name) for name in one.autogen]}|{_precomputed(one.precomputed)}"
    )


def _derivatives_said(info: DifferentiabilityInfo) -> str:
    """All that an info says beside its function; what formulas save and read follows from them and the function."""
    backward = [(one.original_formula, one.formula, one.var_names) for one in info.derivatives]
    forward = [(one.formula, one.var_names) for one in info.forward_derivatives]
    return (
        f"{info.name}|{info.node_name}|{backward}|{forward}|{info.differentiable_arguments}|{info.non_differentiable}|"
        f"{info.available_gradients}|{info.output_differentiability}|{info.output_condition}"
    )


def _precomputed(precomputed: Precomputed | None) -> str:
    if precomputed is None:
        return ""
    replaced = [(name, [str(one) for one in arguments]) for name, arguments in precomputed.replace.items()]
    return f"{replaced}{[str(one) for one in precomputed.add]}"


def job_token(job: Job, families: Iterable[str]) -> bytes:
    """A digest of what a job is besides its entries: rules, options, keys, tags, and the template of registrations.

    Which keys have kernels at all is part of it, in the order in which entries name them: some wrappers are made
    wherever a key is in use.
    """
    catalog, options = job.catalog, job.options
    chosen = [
        (name, sorted(map(str, value)) if isinstance(value, frozenset) else value)
        for name, value in ((name, getattr(options, name)) for name in sorted(options._fields))
    ]
    used = dict.fromkeys([key.name for function in catalog.functions for key in function.kernels])
    keys = [key.name for key in catalog.keys]
    tags = sorted(catalog.tags.items())
    ahead = [(str(one.operator), str(one.key)) for one in job.native_aot]
    return digest(
        f"{sorted(families)}|{job.rules.version}|{chosen}|{job.selection!r}|{keys}|{list(used)}|{tags}|{ahead}"
        f"|{job.registration_text.text}"
    )
