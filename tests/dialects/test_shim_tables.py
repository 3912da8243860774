"""The tables of operators with a C shim: what is read of them, and the place of each mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.dialects.shim_tables import load_shim_tables
from opwright.release.inputs import from_source_path, from_wheel
from opwright.release.tables import ShimOperator, ShimTables, ShimVersion
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from tests.dialects.loading import found_faults
from tests.release.fake_torch import INPUT_NAMES, package_files, wheel_bytes, write_files, write_source_tree

NAME = "aoti/fallback_ops.py"

TABLES = """\
import os

raise SystemExit("run")
more = {"aten.more.default": {}}
inductor_fallback_ops: dict[str, dict[str, object]] = {
    "aten.sin.default": {},
    "aten.sum.default": {
        "since": "TORCH_VERSION_2_14_0",
        "v2": {"new_args": ["dtype"], "since": "TORCH_VERSION_2_15_1"},
    },
    **more,
}
aten_shimified_ops = {"aten.pad.default": {}}
"""

SUM = ShimOperator("TORCH_VERSION_2_14_0", (ShimVersion("v2", ("dtype",), "TORCH_VERSION_2_15_1"),))
PLAIN = ShimOperator(None, ())


def loaded(text: str, *, guarded: bool = True) -> tuple[ShimTables, Diagnostics]:
    """The tables in a text, and the sink."""
    sink = Diagnostics()
    return load_shim_tables(SourceFile(NAME, text), sink, guarded=guarded), sink


def test_tables_are_read() -> None:
    """Names, guards and further versions of both tables, with the place of each name; nothing is run."""
    tables, sink = loaded(TABLES)
    assert not len(sink)
    assert tables.device == {"aten.sin.default": PLAIN, "aten.sum.default": SUM, "aten.more.default": PLAIN}
    assert tables.aten == {"aten.pad.default": PLAIN}
    assert (tables.spans["aten.sum.default"].line, tables.spans["aten.more.default"].line) == (7, 4)


@pytest.mark.parametrize(
    "change",
    [
        'inductor_fallback_ops.update({"aten.cos.default": {}})',
        'inductor_fallback_ops |= {"aten.cos.default": {}}',
        'inductor_fallback_ops = inductor_fallback_ops | {"aten.cos.default": {}}',
        'inductor_fallback_ops = {**inductor_fallback_ops, "aten.cos.default": {}}',
        'inductor_fallback_ops["aten.cos.default"] = {}',
        'alias = inductor_fallback_ops; alias["aten.cos.default"] = {}',
    ],
)
def test_tables_grow(change: str) -> None:
    """Each way of adding to a dictionary adds the rows; a name given again has the later row."""
    again = change.replace("{}", '{"since": "TORCH_VERSION_2_16_0"}').replace("cos", "sin")
    tables, sink = loaded(f"{TABLES}{change}\n{again}\n")
    assert not len(sink)
    assert tables.device["aten.cos.default"] == PLAIN
    assert tables.device["aten.sin.default"] == ShimOperator("TORCH_VERSION_2_16_0", ())
    assert len(tables.device) == 4


def test_older_releases_list_the_arguments_of_a_version() -> None:
    """Before guards, a further version of a shim is the list of its new arguments."""
    text = 'inductor_fallback_ops = {"aten.sum.default": {"v2": ["dtype"]}}\naten_shimified_ops = {}\n'
    tables, sink = loaded(text, guarded=False)
    assert not len(sink)
    assert tables.device["aten.sum.default"] == ShimOperator(None, (ShimVersion("v2", ("dtype",), None),))


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("import os", "import (", (1, 1, 8)),
        ("import os", "(" * 100_000, (1, 1, 100_000)),
        ('"aten.sin.default"', '"sin"', (6, 5, 5)),
        ('"aten.sin.default"', "SIN", (6, 5, 3)),
        ("default: {},".replace("default", 'default"'), 'default": [],', (6, 25, 2)),
        ('"since": "TORCH_VERSION_2_14_0"', '"since": "2.14"', (8, 18, 6)),
        ('"since": "TORCH_VERSION_2_15_1"', '"since": 2', (9, 48, 1)),
        ('"v2"', '"v1"', (9, 9, 4)),
        ('"v2"', '"2"', (9, 9, 3)),
        ('"v2"', '"v3": {}, "v03"', (9, 19, 5)),
        ('{"new_args": ["dtype"]', '["dtype"], 3: {"new_args": ["dtype"]', (9, 15, 9)),
        ('["dtype"]', '"dtype"', (9, 28, 7)),
        ('"new_args"', '"args"', (9, 16, 6)),
        ("**more", "**dict(more)", (5, 55, 1)),
        ("**more", "**more}\nmore = dict(more)\ninductor_fallback_ops = {**more", (13, 25, 8)),
        ('"aten.sin.default": {}', "[]: {}", (6, 5, 2)),
        ("aten_shimified_ops =", "shimified_ops =", (1, 1, 9)),
        ("aten_shimified_ops =", 'inductor_fallback_ops["aten.x.default"] = []\naten_shimified_ops =', (13, 43, 2)),
        ("aten_shimified_ops =", "inductor_fallback_ops[X] = {}\naten_shimified_ops =", (13, 23, 1)),
        ("aten_shimified_ops =", 'inductor_fallback_ops["aten.x.default"] += {}\naten_shimified_ops =', (13, 1, 45)),
        ("aten_shimified_ops =", "for x in y: inductor_fallback_ops.update(x)\naten_shimified_ops =", (13, 1, 43)),
    ],
)
def test_each_mistake_is_found_at_its_place(old: str, new: str, fault: tuple[int, int, int]) -> None:
    """One mistake, one diagnostic, at the value that is wrong."""
    assert old in TABLES
    _, sink = loaded(TABLES.replace(old, new, 1))
    assert found_faults(sink) == ((*fault, "E0804"),)


@pytest.mark.parametrize("terms", [900, 5_000, 50_000])
def test_long_chains_of_dictionaries_end(terms: int) -> None:
    """However many dictionaries are joined, the tables are read, or refused; rows that meet again do not multiply."""
    chain = " | ".join(["more"] * terms)
    doubled = "\n".join(["more = {**more, **more}"] * 200)
    _, sink = loaded(TABLES.replace('{"aten.pad.default": {}}', chain).replace("os\n", f"os\nmore = {{}}\n{doubled}\n"))
    assert {diagnostic.code for diagnostic in sink} <= {"E0804"}


def test_releases_without_guards_refuse_them() -> None:
    """What the generator of the release would refuse is a fault, whichever way round."""
    _, sink = loaded(TABLES, guarded=False)
    assert {code for _, _, _, code in found_faults(sink)} == {"E0804"}
    _, sink = loaded('inductor_fallback_ops = {"a.b.c": {"v2": ["x"]}}\naten_shimified_ops = {}\n')
    assert found_faults(sink) == ((1, 42, 5, "E0804"),)


def test_the_tables_are_an_input(tmp_path: Path) -> None:
    """A tree, an installed package and a wheel have them in `torchgen`, a folder that stands alone in `aoti`."""
    names = tuple(sorted([*INPUT_NAMES, NAME]))
    tree = write_source_tree(tmp_path / "tree")
    paths = from_source_path(tree).paths()
    assert paths is not None
    assert str(tree / "torchgen" / NAME) in paths.files
    write_files(tree / "torchgen", {NAME: TABLES})
    package = {**package_files("2.13.0"), f"torchgen/{NAME}": TABLES}
    site = write_files(tmp_path / "site", package)
    wheel = tmp_path / "torch-2.13.0-cp311-cp311-linux_x86_64.whl"
    wheel.write_bytes(wheel_bytes("2.13.0", package))
    for inputs in (from_source_path(tree), from_source_path(site / "torchgen/packaged/ATen"), from_wheel(wheel)):
        assert inputs.names() == names
        assert inputs.read_text(NAME).text == TABLES
    alone = write_files(tmp_path / "yaml", {"native/native_functions.yaml": "", NAME: TABLES})
    assert from_source_path(alone).names() == (NAME, "native/native_functions.yaml")
