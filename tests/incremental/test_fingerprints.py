"""Fingerprints of units follow everything that a fragment can read from them."""

from __future__ import annotations

import inspect

import pytest

from opwright.incremental import fingerprints
from opwright.incremental.fingerprints import NOT_FINGERPRINTED, UnitFingerprints
from opwright.model import native_function
from opwright.model.library import Library
from tests.emit.emitting import job_of
from tests.emit.libraries import library_catalog


def test_fingerprints_cover_all_that_a_function_holds() -> None:
    """Every attribute of a function is either in its fingerprint or named among those that need not be."""
    source = inspect.getsource(fingerprints)
    names = set(native_function.UnlinkedFunction.__slots__) - NOT_FINGERPRINTED
    assert not [name for name in names if f"function.{name}" not in source]


def test_fingerprints_follow_groups() -> None:
    """An edit of one member of a group changes the fingerprints of all, and no other; moving an entry changes none."""
    entries = (
        "- func: f(Tensor self) -> Tensor\n  dispatch:\n    CPU: f_cpu\n"
        "- func: f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n  dispatch:\n    CPU: f_out\n"
        "- func: g(Tensor self) -> Tensor\n"
    )
    assert changed(entries, entries.replace("f_out", "f_out_cpu")) == {"f", "f.out"}
    assert fingerprint_table("# a comment\n\n" + entries) == fingerprint_table(entries)


def test_fingerprints_of_entries_with_anchors_follow_what_they_stand_for() -> None:
    """What an alias or a merge brings into an entry is not in the entry's own text."""
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


def test_units_of_unknown_kinds_are_refused() -> None:
    """An object whose contents are not known has no fingerprint, and neither has what holds it."""
    table = UnitFingerprints()
    for unit in (object(), ("a", [object()])):
        with pytest.raises(TypeError, match="`object`"):
            table.of(unit)


def test_equal_rows_have_equal_fingerprints() -> None:
    """Rows of the same items are the same, and other nesting is another row."""
    table = UnitFingerprints()
    assert table.of(("a", ("b", None, 1))) == table.of(["a", ["b", None, 1]])
    assert table.of(("ab", "c")) != table.of(("a", "bc"))
    assert table.of((("a",), "b")) != table.of((("a", "b"),))
