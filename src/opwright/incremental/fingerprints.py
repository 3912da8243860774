"""Fingerprints of values: 8 bytes of everything that a fragment can read from them.

One rule serves all values: the fingerprint of a record covers each of its fields, of its own class and of those that
it derives from, and every value counts with its type. A class declares the fields that it leaves out, with the reason
(`not_fingerprinted`). So a new field is covered from the moment that it exists.

Functions are linked with their groups in both directions. What a fragment can reach of a function are the functions
that are linked with it, so the fingerprint of a function covers all of these.
"""

from __future__ import annotations

import enum
import marshal
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from hashlib import blake2b
from operator import attrgetter
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, Final, TypeAlias, cast

from opwright.emit.emitter import AnyEmitter, FragmentContext, Job
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup, ViewGroup
from opwright.source.records import attributes, record_fields

FINGERPRINT_SIZE: Final = 8

#: Types whose values are written as they are; `marshal` tells `1`, `True` and `1.0` apart, and also `0.0` and `-0.0`.
_PLAIN: Final = frozenset((str, int, float, bool, type(None)))

#: Types whose values are written as they are, if those are that they hold.
_INLINE: Final = frozenset((tuple, dict, frozenset))

#: The form of `marshal` that does not depend on which equal values are the same object.
_VERSION: Final = 2

_Contents: TypeAlias = "Sequence[object]"
_Reader: TypeAlias = "Callable[[Any], _Contents]"
"""Gives the contents of a value: texts that tell what it is, and the values that it holds."""


def fingerprint(contents: object) -> bytes:
    """Fingerprint of what `marshal` takes, such as a text, which may hold surrogates."""
    return blake2b(marshal.dumps(cast("Any", contents), _VERSION), digest_size=FINGERPRINT_SIZE).digest()


def split_fingerprints(joined: bytes) -> list[bytes]:
    """Fingerprints that were stored one after the other."""
    size = FINGERPRINT_SIZE
    return [joined[start : start + size] for start in range(0, len(joined), size)]


class UnitFingerprints:
    """Fingerprints of a run's values, each computed once for each object: equal values may have different ones."""

    __slots__ = ("_cached", "_entries", "_links", "_values")

    def __init__(self) -> None:
        #: The fingerprints of objects by their identities, empty while one is computed.
        self._cached: dict[int, bytes] = {}
        #: These objects, which have to stay as long as their identities are used.
        self._values: list[object] = []
        #: The fingerprints of functions without those that are linked with them.
        self._entries: dict[int, bytes] = {}
        #: Those of all functions that two groups link.
        self._links: dict[tuple[int, int], bytes] = {}

    def of_all(self, values: Iterable[object]) -> list[bytes]:
        """Fingerprints of values. Raises TypeError as `of` does."""
        # Nearly all units are functions that other emitters have as well.
        cached = self._cached.get
        return [cached(id(value)) or self.of(value) for value in values]

    def of(self, value: object) -> bytes:
        """Fingerprint of a value.

        Raises TypeError if it holds an object whose contents cannot be found out, or that holds itself.
        """
        if type(value) in _PLAIN:
            return fingerprint(value)
        key, cached = id(value), self._cached
        result = cached.get(key)
        if result is None:
            cached[key] = b""
            self._values.append(value)
            try:
                result = cached[key] = self._compute(value)
            except BaseException:
                del cached[key]
                raise
        elif not result:
            raise TypeError(f"a `{type(value).__name__}` holds itself")
        return result

    def _compute(self, value: object) -> bytes:
        kind = type(value)
        if kind is NativeFunction:
            return self._function(cast("NativeFunction", value))
        if kind in _INLINE:
            return fingerprint(self._inline(value))
        return self._of_record(value)

    def _of_record(self, value: object) -> bytes:
        return fingerprint(self._encoded(_READERS[type(value)](value)))

    def _encoded(self, values: Iterable[object]) -> list[object]:
        """Values as `marshal` takes them: plain ones, tuples, dictionaries and sets, and the fingerprints of others."""
        cached, plain, inline = self._cached.get, _PLAIN, self._inline
        return [
            value
            if type(value) in plain
            else inline(value)
            if type(value) in _INLINE
            else cached(id(value)) or self.of(value)
            for value in values
        ]

    def _inline(self, value: object) -> object:
        if type(value) is tuple:
            return tuple(self._encoded(value)) if value else value
        if type(value) is dict:
            return dict(zip(self._encoded(value), self._encoded(value.values()), strict=True))
        assert type(value) is frozenset
        # In an order that is the same in every process. No other dictionary has these values.
        return dict.fromkeys(sorted(map(self.of, value)), ...)

    def _function(self, function: NativeFunction) -> bytes:
        """Fingerprint of a function: of its own fields, and of the functions that are linked with it."""
        entry = self.entry(function)
        group, view_group = function.group, function.view_group
        if group is None and view_group is None:
            return entry
        key = id(group), id(view_group)
        linked = self._links.get(key)
        if linked is None:
            linked = self._links[key] = self._linked(group, view_group)
        return fingerprint((entry, linked))

    def _linked(self, *groups: NativeFunctionsGroup | ViewGroup | None) -> bytes:
        """Fingerprint of the functions that groups link: their own fields, and which group has which of them."""
        functions: list[NativeFunction] = []
        numbers: dict[NativeFunction | None, int | None] = {None: None}
        links: list[object] = []
        waiting = [*groups]
        seen: set[object] = {None}
        for group in waiting:
            if group in seen:
                continue
            seen.add(group)
            links.append(type(group).__name__)
            for member in _fields_reader(type(group))(group):  # type: ignore[arg-type]
                if member not in numbers:
                    numbers[member] = len(functions)
                    functions.append(member)
                    waiting += (member.group, member.view_group)
                links.append(numbers[member])
        return fingerprint((*links, *map(self.entry, functions)))

    def entry(self, function: NativeFunction) -> bytes:
        """Fingerprint of a function's fields, without the functions that are linked with it."""
        result = self._entries.get(id(function))
        if result is None:
            self._values.append(function)
            result = self._entries[id(function)] = self._of_record(function)
        return result

    def of_context(self, job: FragmentContext) -> bytes:
        """Fingerprint of what every fragment can read besides its unit: options, rules and selection."""
        return fingerprint(self._encoded((job.rules, job.options, job.selection)))

    def of_emitter(self, emitter: AnyEmitter, job: Job) -> bytes:
        """Fingerprint of what the fragments of an emitter can read besides: declared reads, and what it carries.

        The function that makes fragments may carry data: in a closure, as arguments of a `partial`, or as the object
        of a method. Raises TypeError as `of` does.
        """
        facts = [read.fingerprint_key(read.get(job)) for read in emitter.reads]
        return fingerprint(self._encoded((*facts, emitter.fragment)))


def held_by(value: object) -> _Contents:
    """What a record or a collection holds; nothing for plain values and members of enumerations.

    >>> from opwright.model.derivatives import ConstantResult
    >>> held_by(ConstantResult("mean", 0, True, "")), held_by([1, "a"])
    (('mean', 0, True, ''), (1, 'a'))
    """
    return () if type(value) in _PLAIN or isinstance(value, enum.Enum) else _READERS[type(value)](value)[1:]


def _reader_of(cls: type[Any]) -> _Reader:
    tag = f"{cls.__module__}.{cls.__qualname__}"
    fields = _fields_reader(cls)  # type: ignore[arg-type]
    if issubclass(cls, enum.Enum):
        return lambda member: (tag, member.value if member.name is None else member.name)
    if issubclass(cls, type):
        return lambda held: ("class", held.__module__, held.__qualname__)
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return lambda record: (tag, *fields(record))
    if cls is object or any(map(_is_built_in, cls.__mro__[:-1])):
        raise TypeError(f"a unit holds a `{cls.__name__}`, which has no fingerprint")
    if not cls.__dictoffset__:
        return lambda record: (tag, *fields(record))

    def read(record: object) -> _Contents:
        slot_readers = attributes(record)
        return (tag, *fields(record), *slot_readers, *slot_readers.values())

    return read


def _is_built_in(cls: type[object]) -> bool:
    """Whether a class is written in C: what its objects hold cannot be found out."""
    if cls.__module__ == "typing":
        return False
    return any(getattr(member, "__objclass__", None) is cls for member in vars(cls).values() if type(member) in _OF_C)


@cache
def _fields_reader(cls: type[Any]) -> Callable[[Any], tuple[Any, ...]]:
    names = record_fields(cls)  # type: ignore[arg-type]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda record: tuple([getattr(record, name) for name in names])


def _function_contents(function: FunctionType) -> _Contents:
    """A function with what it carries: defaults, and the variables of the functions around it."""
    try:
        carried = [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError:
        raise TypeError(f"`{function.__qualname__}` uses a variable that has no value") from None
    defaults = function.__defaults__, function.__kwdefaults__
    return ("function", function.__module__, function.__qualname__, function.__code__, *defaults, *carried)


#: The types of methods that are written in C. A class in Python may have those of others.
_OF_C: Final = (WrapperDescriptorType, MethodDescriptorType)


#: What gives the contents of values of types that are no records.
_BUILT_IN: Final[dict[type[Any], _Reader]] = {
    bytes: lambda data: ("bytes", data.hex()),
    type(...): lambda _: ("...",),
    tuple: lambda items: ("tuple", *items),
    list: lambda items: ("list", *items),
    frozenset: lambda items: ("frozenset", *items),
    set: lambda items: ("set", frozenset(items)),
    **dict.fromkeys((dict, MappingProxyType), lambda table: ("dict", *table, *table.values())),
    FunctionType: _function_contents,
    CodeType: lambda code: ("code", code.co_name, code.co_code.hex(), *code.co_names, code.co_consts),
    BuiltinFunctionType: lambda function: ("built-in", function.__qualname__, function.__self__),
    MethodType: lambda method: ("method", method.__func__, method.__self__),
    partial: lambda call: ("partial", call.func, call.args, call.keywords),
    ModuleType: lambda module: ("module", module.__name__),
    re.Pattern: lambda pattern: ("pattern", pattern.pattern, pattern.flags),
}


class _Readers(dict[type[Any], _Reader]):
    """What gives the contents of values by their class; that of a further class is found once."""

    def __missing__(self, cls: type[Any]) -> _Reader:
        reader = self[cls] = _reader_of(cls)
        return reader


_READERS: Final = _Readers(_BUILT_IN)
