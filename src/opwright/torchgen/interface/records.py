"""Records: the immutable values of the interface, which behave as the dataclasses of PyTorch's generator do.

A record is a frozen dataclass. One that is made from Opwright's model keeps what it was made from, and computes
each field when it is first read: few callers read more than a few fields of a few operators. A field that no function
computes is the attribute of the same name.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

if TYPE_CHECKING:
    from typing_extensions import Self, dataclass_transform
else:

    def dataclass_transform(**_: object) -> Callable[[object], object]:
        """Tell type checkers that a decorator makes dataclasses."""
        return lambda decorator: decorator


RecordType = TypeVar("RecordType", bound=type)
Origin = TypeVar("Origin")

#: Field -> the function that computes it from the object that a record was made from.
Computed = dict[str, Callable[[Any], object]]

#: Where a record keeps the object of Opwright's model from which it was made, and its hash.
_ORIGIN = "_origin"
_HASH = "_hash"


@dataclass_transform(frozen_default=True)
def record(fields: str = "", more: Mapping[str, object] | None = None) -> Callable[[RecordType], RecordType]:
    """A decorator that makes a record of a class; `fields` lists its fields as its constructor takes them.

    Without a list, the constructor takes the fields as the class declares them. `more` has defaults of fields; those
    that the class does not declare come last.

    >>> @record("name size")
    ... class Box(Record):
    ...     size: int
    ...     name: str
    >>> Box("b", size=2)
    Box(name='b', size=2)
    """

    def make(cls: RecordType) -> RecordType:
        declared: dict[str, object] = inspect.get_annotations(cls)
        names = fields.split() or list(declared)
        added = {name: default for name, default in (more or {}).items() if name not in declared}
        cls.__annotations__ = {**{name: declared[name] for name in names}, **dict.fromkeys(added, object)}
        for name, default in added.items():
            # A default that is an attribute of the class would hide what is computed.
            setattr(cls, name, dataclasses.field(default_factory=partial(copy, default)))
        if "__hash__" not in cls.__dict__:
            setattr(cls, "__hash__", Record.__hash__)  # noqa: B010
        dataclasses.dataclass(frozen=True)(cls)
        return cls

    return make


class Record:
    """A base class for records, which computes missing fields from the object that a record was made from."""

    _computed: ClassVar[Computed] = {}

    @classmethod
    def _of(cls, origin: object, **fields: object) -> Self:
        """Record made from an object, with some fields that are known already."""
        made_record = object.__new__(cls)
        state = made_record.__dict__
        state[_ORIGIN] = origin
        if fields:
            state.update(fields)
        return made_record

    # If type checkers saw this method, they would believe that records have every attribute.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            if _ORIGIN not in self.__dict__ or name not in self.__dataclass_fields__:
                raise AttributeError(f"`{type(self).__name__}` has no attribute `{name}`")
            origin, compute = self.__dict__[_ORIGIN], self._computed.get(name)
            value = self.__dict__[name] = getattr(origin, name) if compute is None else compute(origin)
            return value

    def _made_from(self, build: Callable[[], Origin]) -> Origin:
        """Object that the record was made from; else one that is built from the fields now, and kept."""
        state = self.__dict__
        if _ORIGIN not in state:
            state[_ORIGIN] = build()
        origin: Origin = state[_ORIGIN]
        return origin

    def __hash__(self) -> int:
        hashed: int | None = self.__dict__.get(_HASH)
        if hashed is None:
            fields = dataclasses.fields(self)  # type: ignore[arg-type]
            hashed = self.__dict__[_HASH] = hash(
                (type(self).__name__, *[getattr(self, field.name) for field in fields])
            )
        return hashed

    def __getstate__(self) -> dict[str, object]:
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return {field.name: getattr(self, field.name) for field in fields}
