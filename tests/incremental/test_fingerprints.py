"""Fingerprints follow everything that a fragment can read from values."""

from __future__ import annotations

import enum
import functools
import importlib
import operator
import pkgutil
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

import opwright
from opwright.incremental.fingerprints import UnitFingerprints, held_by
from opwright.model.library import Library
from opwright.model.native_function import Kernel, NativeFunction
from opwright.source.records import left_out, not_fingerprinted, record_fields
from opwright.source.span import Span
from opwright.source.text import SourceFile
from tests.emit.emitting import job_of
from tests.emit.libraries import library_catalog

#: The packages whose records units can hold, and modules of others. Guests make units of their own records.
RECORD_PACKAGES = (
    *("model", "schema", "cpp", "convention", "emit", "release.rules", "source.span", "source.nodes"),
    *("libraries", "backends", "mobile"),
)


def record_classes() -> list[type]:
    """The classes of records in these packages: named tuples, and classes with slots."""
    classes: dict[str, type] = {}
    for package in RECORD_PACKAGES:
        module = importlib.import_module(f"opwright.{package}")
        names = [found.name for found in pkgutil.walk_packages(getattr(module, "__path__", ()), f"{module.__name__}.")]
        for name in (module.__name__, *names):
            for value in vars(importlib.import_module(name)).values():
                if isinstance(value, type) and value.__module__ == name and all_fields(value):
                    classes[f"{name}.{value.__qualname__}"] = value
    return [cls for cls in classes.values() if not issubclass(cls, (enum.Enum, BaseException))]


def all_fields(cls: type) -> set[str]:
    """The fields of a record, those included that no fingerprint covers."""
    return {*record_fields(cls), *left_out(cls)}


def record(cls: type, **values: object) -> object:
    """A record with some values in its fields, of whatever types."""
    if issubclass(cls, tuple):
        return tuple.__new__(cls, [values[name] for name in cls._fields])  # type: ignore[attr-defined]
    made = object.__new__(cls)
    for name, value in values.items():
        object.__setattr__(made, name, value)
    return made


CLASSES = record_classes()


@pytest.mark.parametrize("cls", CLASSES, ids=[f"{cls.__module__}.{cls.__name__}" for cls in CLASSES])
def test_each_field_of_each_record_is_covered(cls: type) -> None:
    """Another value of any field is another fingerprint, unless its class says why it need not be."""
    # Functions are followed to their groups, which these have none of.
    values: dict[str, object] = {name: None if name in ("group", "view_group") else "value" for name in all_fields(cls)}
    before = UnitFingerprints().of(record(cls, **values))
    assert UnitFingerprints().of(record(cls, **values)) == before
    for name in all_fields(cls) - {"group", "view_group"}:
        after = UnitFingerprints().of(record(cls, **{**values, name: "other"}))
        assert (after != before) is (name in record_fields(cls)), name
    assert all(left_out(cls).values())


def test_the_records_are_found() -> None:
    """The test above looks at the records that decide most texts, and at all that units of a run hold."""
    assert {NativeFunction, Kernel, Library} <= set(CLASSES)
    assert len(CLASSES) > 150
    seen: set[type] = set()
    for unit in job_of("- func: f(Tensor self, int by=1) -> Tensor\n  dispatch:\n    CPU: f\n").catalog.functions:
        seen.update(map(type, everything_in(unit)))
    records = {cls for cls in seen if cls.__module__.startswith("opwright.") and not issubclass(cls, enum.Enum)}
    assert {NativeFunction, Kernel} <= records <= set(CLASSES)


def everything_in(value: object) -> Iterator[object]:
    """A value, and all that its fingerprint covers."""
    yield value
    for part in held_by(value):
        yield from everything_in(part)


def test_a_class_cannot_leave_out_what_it_does_not_have() -> None:
    """A field that is renamed is covered again, and its declaration is an error."""

    class Note:
        __slots__ = ("text",)

    with pytest.raises(TypeError, match="Note has no field line"):
        not_fingerprinted(line="it is in no output")(Note)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True), (1, 1.0), (0, False), (0.0, -0.0), ("1", 1), (None, "None"), ((1,), [1]), ((), ""), ({}, ()),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}), (("ab", "c"), ("a", "bc")), ((("a",), "b"), (("a", "b"),)),
        (frozenset(), ()), (frozenset("a"), {"a": ...}), (b"a", "a"), ({"w": 1}, {"w": True}),
    ],
)  # fmt: skip
def test_values_of_other_types_have_other_fingerprints(one: object, other: object) -> None:
    """Values that print differently are told apart, also where Python takes them for equal, alone and in others."""
    table = UnitFingerprints()
    for hold in (lambda value: value, lambda value: (value,), lambda value: ["x", value], lambda value: {"a": value}):
        assert table.of(hold(one)) != table.of(hold(other))
        assert table.of(hold(one)) == UnitFingerprints().of(hold(one))


def test_sets_have_one_fingerprint_in_every_order() -> None:
    """The order of a set depends on the hash seed of the process, which fingerprints outlive."""
    names = [f"name{number}" for number in range(30)]
    expected = UnitFingerprints().of(frozenset(names))
    assert expected == UnitFingerprints().of(frozenset(reversed(names)))
    assert expected != UnitFingerprints().of(frozenset(names[1:]))


def test_fingerprints_follow_groups() -> None:
    """An edit of one member of a group changes the fingerprints of all, and no other; moving an entry changes none."""
    entries = (
        "- func: f(Tensor self) -> Tensor\n  dispatch:\n    CPU: f_cpu\n"
        "- func: f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n  dispatch:\n    CPU: f_out\n"
        "- func: g(Tensor self) -> Tensor\n"
    )
    assert changed(entries, entries.replace("f_out", "f_out_cpu")) == {"f", "f.out"}
    assert fingerprint_table("# a comment\n\n" + entries) == fingerprint_table(entries)


def test_fingerprints_follow_all_linked_functions() -> None:
    """A fragment can go from a view to its copying form, and from there to the out overload of that."""
    entries = (
        "- func: f(Tensor(a) self) -> Tensor(a)\n  dispatch:\n    CPU: f_cpu\n"
        "- func: f_copy(Tensor self) -> Tensor\n  dispatch:\n    CompositeExplicitAutograd: f_copy\n  tags: view_copy\n"
        "- func: f_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n  dispatch:\n    CPU: f_out\n"
        "- func: g(Tensor self) -> Tensor\n"
    )
    assert changed(entries, entries.replace("f_out", "f_out_cpu")) == {"f", "f_copy", "f_copy.out"}


def test_fingerprints_of_entries_with_anchors_follow_what_they_stand_for() -> None:
    """What an alias or a merge brings into an entry is not in the entry's text."""
    entries = (
        "- func: f(Tensor self) -> Tensor\n  dispatch: &kernels\n    CPU: one\n"
        "- func: g(Tensor self) -> Tensor\n  dispatch: *kernels\n"
        "- func: h(Tensor self) -> Tensor\n"
    )
    assert changed(entries, entries.replace("one", "two")) == {"f", "g"}


def test_forms_made_of_one_entry_have_fingerprints_of_their_own() -> None:
    """They stand where the entry stands, and change with it."""
    entries = "- func: f(Tensor self) -> Tensor\n  dispatch:\n    CompositeExplicitAutograd: f\n  autogen: f.out\n"
    before, after = (
        fingerprint_table(entries),
        fingerprint_table(entries.replace("ExplicitAutograd: f", "ExplicitAutograd: ff")),
    )
    assert len({*before.values(), *after.values()}) == 4


def test_fingerprints_follow_the_names_around_a_library() -> None:
    """The same entries in another C++ namespace, and those with anchors, have other fingerprints."""
    for entries in ("- func: f(Tensor self) -> Tensor\n", "- &f\n  func: f(Tensor self) -> Tensor\n"):
        libraries = [Library("acme", api, "acme", "ACME_API") for api in ("acme", "acme::ops")]
        catalogs = [library_catalog(entries, library) for library in (*libraries, libraries[0])]
        first, other, again = [UnitFingerprints().of(function) for catalog in catalogs for function in catalog]
        assert first != other
        assert first == again


def changed(before: str, after: str) -> set[str]:
    """The overloads whose fingerprints an edit changes."""
    old, new = fingerprint_table(before), fingerprint_table(after)
    return {name for name in old if old[name] != new[name]}


def fingerprint_table(entries: str) -> dict[str, bytes]:
    """The fingerprint of each overload."""
    table = UnitFingerprints()
    return {function.name.text: table.of(function) for function in job_of(entries).catalog.functions}


class _Listed(list):  # type: ignore[type-arg]
    pass


@pytest.mark.parametrize("value", [object(), iter(()), _Listed(), operator.itemgetter(1)], ids=type)
def test_units_of_unknown_kinds_are_refused(value: object) -> None:
    """An object whose contents Python cannot be asked for has no fingerprint, and neither has what holds it."""
    table = UnitFingerprints()
    for unit in (value, ("a", [value])):
        with pytest.raises(TypeError, match=f"`{type(value).__name__}`"):
            table.of(unit)


def test_a_value_that_holds_itself_is_refused() -> None:
    """The fingerprint of such a value would not end; afterwards, others are found out as ever."""
    table = UnitFingerprints()
    circle: list[object] = []
    circle.append(circle)
    with pytest.raises(TypeError, match="a `list` holds itself"):
        table.of(circle)
    with pytest.raises(TypeError, match="a `list` holds itself"):
        table.of(circle)
    assert table.of(("a",))


class _Printer:
    """What a plug-in may hold its options in."""

    def __init__(self, options: object) -> None:
        self.options = options

    def text(self, unit: object) -> str:
        """The text of a unit."""
        return f"{unit} {self.options}"


def _text(options: object, unit: object) -> str:
    return f"{unit} {options}"


def _carriers(options: object) -> dict[str, Callable[[object], str]]:
    """Functions that carry data, in each of the ways that Python has."""
    by_default: Callable[[object], str] = lambda unit, options=options: _text(options, unit)  # type: ignore[misc] # noqa: E731

    def by_name(unit: object, *, own: object = options) -> str:
        return _text(own, unit)

    return {
        "partial": functools.partial(_text, options),
        "closure": lambda unit: _text(options, unit),
        "default": by_default,
        "keyword": by_name,
        "method": _Printer(options).text,
        "nested": functools.partial(lambda text, unit: text(unit), lambda unit: _text(options, unit)),
    }


@pytest.mark.parametrize("way", _carriers(0))
def test_functions_count_with_what_they_carry(way: str) -> None:
    """The fragments of an emitter show what its function carries."""
    one, same, other = [UnitFingerprints().of(_carriers(options)[way]) for options in ((1, "a"), (1, "a"), (True, "a"))]
    assert one == same
    assert one != other


def test_functions_of_one_name_are_told_apart() -> None:
    """All functions without a name have the same one."""
    functions = [lambda unit: "a", lambda unit: "b", lambda unit: unit, re.escape]
    assert len({UnitFingerprints().of(function) for function in functions}) == 4


def test_places_are_not_covered() -> None:
    """Where something stands changes with every edit above it."""
    one, other = [SourceFile("a.yaml", "text" * count).span(count) for count in (1, 2)]
    assert UnitFingerprints().of(one) == UnitFingerprints().of(other)
    assert all_fields(Span) == {"file", "start", "end"}


class _Pair(NamedTuple):
    first: object
    second: object


def test_records_with_equal_fields_are_told_apart() -> None:
    """A record is not the tuple of its fields, nor a record of another class."""
    table = UnitFingerprints()
    assert len({table.of(("a", 1)), table.of(_Pair("a", 1)), table.of(_Printer("a")), table.of(["a", 1])}) == 4


def test_all_of_pytorch_has_fingerprints() -> None:
    """Each overload of PyTorch has one of its own."""
    functions = opwright.load().functions
    assert len(set(UnitFingerprints().of_all(functions))) == len(functions) > 3000
