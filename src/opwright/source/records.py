"""Records: named tuples, classes with slots and objects that cannot be changed, and the fields that fingerprints cover.

Neither `typing` nor `dataclasses` is imported for them.
"""

from __future__ import annotations

from functools import cache, cached_property
from types import FunctionType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping
    from typing import NamedTuple, TypeVar

    from typing_extensions import Self, dataclass_transform

    _Class = TypeVar("_Class", bound="type[object]")
    _Record = TypeVar("_Record")
else:
    from collections import namedtuple

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
        """Values by the names of their fields."""
        return dict(zip(self._fields, self, strict=True))

    def _replace(self: _Values, /, **fields: object) -> _Values:
        """A copy with other values for some fields."""
        values = [*map(fields.pop, self._fields, self)]
        if fields:
            raise ValueError(f"Got unexpected field names: {list(fields)}")
        return tuple.__new__(type(self), values)

    def _values(self: _Values) -> _Values:
        return tuple(self)

    @classmethod
    def _make(cls: type[_Values], values: _Values) -> _Values:
        """Named tuple of these values."""
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
        """Base of named tuples. Their fields are the annotations of the class, all of which may have defaults."""

    def dataclass_transform(**_: object) -> Callable[[object], object]:
        """Tells type checkers that a decorator makes data classes."""
        return lambda decorator: decorator


# Type checkers take the name of `typing`, which this module passes on.
__all__ = ["NamedTuple"]


@cache
def _setter(count: int) -> FunctionType:
    """A constructor that sets so many attributes; that of a class has the names of its fields instead of theirs."""
    names = [f"field{number}" for number in range(count)]
    namespace: dict[str, FunctionType] = {}
    assignments = "; ".join([f"self.{name} = {name}" for name in names])
    exec(f"def __init__({', '.join(['self', *names])}): {assignments}", namespace)
    return namespace["__init__"]


def _initializer(positional: list[str], keyword: list[str], defaults: dict[str, object]) -> FunctionType:
    """A constructor that sets these attributes, the last ones by keyword alone."""
    names = (*positional, *keyword)
    setter = _setter(len(names))
    code = setter.__code__.replace(
        co_varnames=("self", *names),
        co_names=names,
        co_argcount=1 + len(positional),
        co_kwonlyargcount=len(keyword),
    )
    values = tuple([defaults.pop(name) for name in positional if name in defaults])
    constructor = FunctionType(code, setter.__globals__, "__init__", values)
    constructor.__kwdefaults__ = defaults
    return constructor


@dataclass_transform(frozen_default=True)
def frozen_fields(cls: _Class) -> _Class:
    """A decorator that gives a class a slot for each annotation of its body, and a constructor that takes their values.

    Type checkers refuse to assign them. It does what a data class with slots does, without the time for the import.
    Fields behind `_: KW_ONLY` are passed by keyword. Those of a base class that has some come first.

    >>> @frozen_fields
    ... class Point:
    ...     x: int = 0
    ...     y: int = 0
    >>> Point(1).x, Point(y=2).y, Point.__slots__
    (1, 2, ('x', 'y'))
    >>> @frozen_fields
    ... class NamedPoint(Point):
    ...     name: str = ""
    >>> NamedPoint(1, name="a").x, NamedPoint().y
    (1, 0)
    """
    annotations = dict(cls.__annotations__)
    names = [*annotations]
    first = names.index("_") if annotations.pop("_", "") else len(names)
    body = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    positional, keyword = names[:first], names[first + 1 :]
    defaults = {name: body.pop(name) for name in names if name in body}
    inherited = getattr(cls, "__init__")  # noqa: B009
    if isinstance(inherited, FunctionType):
        code, count = inherited.__code__, inherited.__code__.co_argcount
        positional = [*code.co_varnames[1:count], *positional]
        keyword = [*code.co_varnames[count : count + code.co_kwonlyargcount], *keyword]
        given = inherited.__defaults__ or ()
        defaults |= dict(zip(code.co_varnames[count - len(given) : count], given, strict=True))
        defaults |= inherited.__kwdefaults__ or {}
    constructor = _initializer(positional, keyword, defaults)
    constructor.__annotations__ = {**annotations, "return": "None"}
    body["__init__"] = constructor
    slotted: _Class = type(cls)(cls.__name__, cls.__bases__, {**body, "__slots__": tuple(annotations)})  # type: ignore[misc]
    return slotted


@dataclass_transform()
def mutable_fields(cls: _Class) -> _Class:
    """A decorator like `frozen_fields`, for a class whose fields change."""
    return frozen_fields(cls)


def record_of(kind: type[_Record], records: Iterable[object]) -> _Record:
    """The record of a class among records of several; what the class makes without arguments if there is none.

    >>> record_of(int, ("a", 5)), record_of(str, (1.5,))
    (5, '')
    """
    for record in records:
        if isinstance(record, kind):
            return record
    return kind()


def fields_copier(names: Iterable[str]) -> Callable[[object, object], None]:
    """Compile a function that sets some attributes of an object to those of another one.

    Reading and setting them by name takes longer than all else that the constructor of a function does.

    >>> from types import SimpleNamespace
    >>> point = SimpleNamespace()
    >>> fields_copier(("x", "y"))(point, SimpleNamespace(x=1, y=2, z=3))
    >>> point
    namespace(x=1, y=2)
    """
    namespace: dict[str, Callable[[object, object], None]] = {}
    assignments = "; ".join([f"self.{name} = other.{name}" for name in names])
    exec(f"def copy_fields(self, other): {assignments}", namespace)
    return namespace["copy_fields"]


class Copyable:
    """A base class of objects that keep what their constructor takes, each argument as the attribute of its name.

    An argument that a property gives out has the name of the property with an underscore before it.

    >>> class Point(Copyable):
    ...     def __init__(self, x: int, y: int = 0) -> None:
    ...         self.x, self.y = x, y
    >>> Point(1, y=2).replace(x=5).y
    2
    """

    __slots__ = ()

    def replace(self, **changes: object) -> Self:
        """A copy with other values for some fields, made by the constructor."""
        fields = _fields(type(self))  # type: ignore[arg-type]
        same = {name: getattr(self, field) for name, field in fields if name not in changes}
        return type(self)(**same, **changes)


@cache
def _fields(cls: Hashable) -> list[tuple[str, str]]:
    """What the constructor of a class takes, and the attributes that keep it."""
    code = getattr(cls, "__init__").__code__  # noqa: B009
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    return [(name, f"_{name}" if hasattr(cls, f"_{name}") else name) for name in names]


class Frozen(Copyable):
    """A base class whose attributes are set once, by the constructor. Lazy assignments are refused.

    >>> class Point(Frozen):
    ...     def __init__(self) -> None:
    ...         self.x = 1
    >>> Point().x = 2
    Traceback (most recent call last):
    AttributeError: `x` of a Point cannot be changed
    """

    __slots__ = ()

    # If type checkers saw these methods, they would allow any assignment.
    if not TYPE_CHECKING:

        def __setattr__(self, name: str, value: object) -> None:
            if hasattr(self, name):
                raise AttributeError(f"`{name}` of a {type(self).__name__} cannot be changed")
            object.__setattr__(self, name, value)

        def __delattr__(self, name: str) -> None:
            raise AttributeError(f"`{name}` of a {type(self).__name__} cannot be deleted")


def not_fingerprinted(**reasons: str) -> Callable[[_Class], _Class]:
    """Declare that no fingerprint covers some fields of a class, each with the reason why no output needs it.

    >>> @not_fingerprinted(line="no text depends on it")
    ... class Note:
    ...     __slots__ = ("line", "text")
    >>> record_fields(Note), left_out(Note)
    (('text',), {'line': 'no text depends on it'})
    """

    def declare(cls: _Class) -> _Class:
        slot_names = {*vars(cls).get("_fields", ()), *_slots(vars(cls))}
        # The attributes of an object with a `__dict__` are not known here.
        unknown = reasons.keys() - slot_names if slot_names else ()
        if unknown:
            raise TypeError(f"{cls.__name__} has no field {', '.join(sorted(unknown))}")
        _REASONS[cls] = {**_REASONS.get(cls, {}), **reasons}
        return cls

    return declare


_REASONS: dict[type[object], dict[str, str]] = {}


def left_out(cls: type[object]) -> Mapping[str, str]:
    """Fields of a class and of its bases that no fingerprint covers, with the reasons."""
    return {name: reason for base in cls.__mro__ for name, reason in _REASONS.get(base, {}).items()}


@cache
def record_fields(cls: type[object]) -> tuple[str, ...]:
    """Fields of a named tuple or of a class with slots that fingerprints cover.

    Objects with a `__dict__` have the rest of their fields there (see `attributes`).
    """
    names = getattr(cls, "_fields", None) or [name for base in reversed(cls.__mro__) for name in _slots(vars(base))]
    omitted = left_out(cls)
    return tuple([name for name in names if name not in omitted])


def _slots(members: Mapping[str, object]) -> list[str]:
    slots = members.get("__slots__", ())
    names = [slots] if isinstance(slots, str) else list(slots)  # type: ignore[call-overload]
    return [name for name in names if name not in ("__dict__", "__weakref__")]


def attributes(value: object) -> dict[str, object]:
    """What the `__dict__` of an object has that fingerprints cover; cached properties follow from the rest.

    >>> class Circle:
    ...     def __init__(self, radius: int) -> None:
    ...         self.radius = radius
    ...     @cached_property
    ...     def area(self) -> int:
    ...         return 3 * self.radius**2
    >>> circle = Circle(2)
    >>> circle.area, attributes(circle)
    (12, {'radius': 2})
    """
    cls = type(value)
    omitted = left_out(cls)
    return {
        name: attribute
        for name, attribute in sorted(vars(value).items())
        if name not in omitted and not isinstance(getattr(cls, name, None), cached_property)
    }
