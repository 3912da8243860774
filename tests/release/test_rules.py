from __future__ import annotations

import ast
import pickle
import re
from itertools import pairwise
from pathlib import Path

import pytest

import opwright
from opwright.cli.releases import holds
from opwright.emit.registry import FAMILIES
from opwright.model.dispatch_key import dispatch_keys
from opwright.release.behaviour import Behaviour, Change
from opwright.release.generator_files import GENERATOR
from opwright.release.rules import Rules
from opwright.release.version import NEWEST, OLDEST, RELEASES, Version, parse_version, version_of
from tests.release.rule_values import rule_values

#: The releases of the table, as rows name them.
SERIES = [release.version.series for release in RELEASES]


def rules(version: str) -> Rules:
    """The rules of a version."""
    return Rules(parse_version(version))


def changed(older: str, newer: str) -> set[str]:
    """The names of the behaviours whose value differs between two releases."""
    before, after = dict(rule_values(rules(older))), dict(rule_values(rules(newer)))
    return {name for name in before if before[name] != after[name]}


@pytest.mark.parametrize(
    ("older", "newer", "count"),
    [
        ("2.4.1", "2.5.0", 4),
        ("2.5.1", "2.6.0", 4),
        ("2.6.0", "2.7.0", 5),
        ("2.7.1", "2.8.0", 3),
        ("2.8.0", "2.9.0", 4),
        ("2.9.1", "2.10.0", 3),
        ("2.10.0", "2.11.0", 1),
        ("2.11.0", "2.12.0", 3),
        ("2.12.1", "2.13.0", 10),
        ("2.13.0", "2.14.0", 5),
        ("2.14.1", "2.15.0", 6),
    ],
)
def test_each_release_changes_what_it_changed(older: str, newer: str, count: int) -> None:
    """The number of behaviours that change from one release to the next."""
    assert len(changed(older, newer)) == count


def test_patch_releases_change_nothing() -> None:
    """Rules go by the release's series."""
    assert rules("2.13.0") == rules("2.13.9")
    assert hash(rules("2.13.0")) == hash(rules("2.13.9"))
    assert rules("2.13.0") != rules("2.14.0")
    assert changed("2.13.0", "2.13.9") == set()


def test_newer_releases_follow_the_newest() -> None:
    """A release after the newest known one has its rules."""
    assert changed(str(NEWEST), "3.1.0") == set()


def test_values_before_and_after() -> None:
    """A row that begins, one that ends, and a number."""
    assert (rules("2.12.1").nodes_are_intrusive, rules("2.13.0").nodes_are_intrusive) == (False, True)
    assert (rules("2.12.1").set_output_takes_names, rules("2.13.0").set_output_takes_names) == (True, False)
    assert (rules("2.12.1").trace_type_shards, rules("2.13.0").trace_type_shards) == (5, 10)


def test_a_behaviour_may_change_twice() -> None:
    """A row with two changes has the right value on each side of both, and says for which releases it holds."""
    row = Behaviour(
        "Shards.", Change("2.4", 1, ""), Change("2.11", 4, "Faster."), Change("2.13", 2, "Fewer files suffice.")
    )
    versions = [parse_version(text) for text in ("2.9.1", "2.10.3", "2.11.0", "2.12.1", "2.13.0", "2.16")]
    assert [row.value_in(version) for version in versions] == [1, 1, 4, 4, 2, 2]
    assert [holds(row, version) for version in versions[1::2]] == [
        "before 2.11",
        "from 2.11 before 2.13",
        "from 2.13 on",
    ]


def test_every_row_explains_itself() -> None:
    """Each row has its own name, and whole sentences for what and why."""
    rows = list(Rules.rows())
    assert len(rows) >= 21
    assert len({row.name for row in rows}) == len(rows)
    for row in rows:
        assert row.what.endswith("."), row.name
        changes: tuple[Change[bool] | Change[int], ...] = row.changes
        first, *later = changes
        assert first.since == OLDEST.series, row.name
        assert all(change.why.endswith(".") for change in later or [first]), row.name
        assert all(change.since in SERIES for change in changes), row.name
        assert all(before.series < after.series for before, after in pairwise(changes)), row.name
        assert all(before.value != after.value for before, after in pairwise(changes)), row.name


def test_shards_are_those_of_the_generator() -> None:
    """The numbers of shards in the installed release are those that its generator's calls have as numbers."""
    inputs = opwright.open_inputs()
    texts = [inputs.read_text(name).text for name in GENERATOR]
    version = version_of(inputs)
    compared = set()
    for row in Rules.rows():
        file = re.search(r"Shards of `(\w+)_N", row.what)
        for _, call in [text.split(f'"{file[1]}.cpp"', 1) for text in texts if file and f'"{file[1]}.cpp"' in text]:
            if number := re.search(r"\bnum_shards=(\d+)", call):
                assert row.value_in(version) == int(number[1]), row.name
                compared.add(row.name)
    assert len(compared) == 6


def test_values_are_those_of_the_rows() -> None:
    """An attribute of the rules is what its row says of the version."""
    version = Version(2, 12)
    held = Rules(version)
    for row in Rules.rows():
        assert row.value_in(version) == getattr(held, row.name)


def test_rules_are_frozen_and_travel() -> None:
    """Rules cannot be changed, and reach a worker process whole."""
    held = rules("2.14.0")
    with pytest.raises(AttributeError):
        held.native_aot_stubs = True
    with pytest.raises(AttributeError):
        del held.native_aot_stubs
    copy = pickle.loads(pickle.dumps(held))
    assert copy == held
    assert rule_values(copy) == rule_values(held)


@pytest.mark.thorough
def test_every_row_is_asked_for() -> None:
    """Each behaviour is read by its name outside the table, in code or in a row of the tables of keys and families."""
    package = Path(opwright.__file__).parent
    modules = [path for path in package.rglob("*.py") if path.parent != package / "release"]
    names = {
        node.attr
        for path in modules
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
    }
    for key in dispatch_keys():
        names |= {key.rule, key.flag_rule, key.class_export_rule, key.shards_rule}
    names |= {family.rule for family in FAMILIES.values()}
    assert [row.name for row in Rules.rows() if row.name not in names] == []
