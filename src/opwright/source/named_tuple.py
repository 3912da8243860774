"""Named tuples whose classes are quick to make.

A run imports some ninety such classes, all of them before it does any work. `collections.namedtuple` compiles a
constructor for each class, and `typing.NamedTuple` also the annotations. Here, all classes with the same number of
fields share the code of their constructors, and all classes share the other methods. Type checkers see `typing`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from collections import namedtuple
    from functools import cache
    from types import FunctionType

    #: The descriptor of a field, which is written in C.
    _Field = type(namedtuple("_Field", "field").field)

    _Values = tuple[object, ...]

    @cache
    def _field(index: int) -> _Field:
        return _Field(index, f"Alias for field number {index}")

    @cache
    def _constructor(count: int) -> FunctionType:
        """A constructor with so many parameters; that of a class has the names of its fields instead of theirs."""
        names = [f"field{number}" for number in range(count)]
        parameters = "".join([f", {name}" for name in names])
        fields = "".join([f"{name}, " for name in names])
        namespace = {"_new": tuple.__new__}
        exec(f"def __new__(_cls{parameters}): return _new(_cls, ({fields}))", namespace)
        return namespace["__new__"]

    def _repr(self: _Values) -> str:
        fields = [f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True)]
        return f"{type(self).__name__}({', '.join(fields)})"

    def _asdict(self: _Values) -> dict[str, object]:
        """The values by the names of their fields."""
        return dict(zip(self._fields, self, strict=True))

    def _replace(self: _Values, /, **fields: object) -> _Values:
        """The same named tuple with other values for some fields."""
        values = [*map(fields.pop, self._fields, self)]
        if fields:
            raise ValueError(f"Got unexpected field names: {list(fields)}")
        return tuple.__new__(type(self), values)

    def _values(self: _Values) -> _Values:
        return tuple(self)

    @classmethod
    def _make(cls: type[_Values], values: _Values) -> _Values:
        """The named tuple of these values."""
        return cls(*values)

    _METHODS = {
        "__getnewargs__": _values,
        "__repr__": _repr,
        "__slots__": (),
        "_asdict": _asdict,
        "_make": _make,
        "_replace": _replace,
    }

    class _Maker(type):
        """Makes a named tuple of each class below `NamedTuple`, with what the body of the class defines."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, object]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = tuple(body["__annotations__"])
            defaults = {field: body.pop(field) for field in fields if field in body}
            constructor = _constructor(len(fields))
            code = constructor.__code__.replace(co_varnames=("_cls", *fields))
            members = {
                "__doc__": f"{name}({', '.join(fields)})",
                "__match_args__": fields,
                "__new__": FunctionType(code, constructor.__globals__, "__new__", tuple(defaults.values())),
                "_field_defaults": defaults,
                "_fields": fields,
            }
            members.update(_METHODS)
            for index, field in enumerate(fields):
                members[field] = _field(index)
            members.update(body)
            return type(name, (tuple,), members)

    class NamedTuple(metaclass=_Maker):
        """The base of named tuples. Their fields are the annotations of the class, all of which may have defaults."""


__all__ = ["NamedTuple"]
