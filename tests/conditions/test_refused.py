"""Conditions and patterns that are refused, the order of checks, and checks that are not needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.cli.main import main
from opwright.libraries.dialect.requirements import RequirementsLoader
from opwright.libraries.requirements import Requirements
from opwright.schema import parse_schema
from opwright.source.diagnostic import Diagnostics
from opwright.source.nodes import MappingNode
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml

MANY = ", ".join([f"Tensor? t{place}" for place in range(40)])
ALL_D = ", ".join([f"t{place}: d" for place in range(40)])
BROADCAST = ", ".join([f"Tensor t{place}" for place in range(40)])
ALL_B = ", ".join([f't{place}: "*#b"' for place in range(40)])
NUMBERS = ", ".join([f"int? n{place}" for place in range(60)])

ENTRIES = {
    "infinity": ("Tensor x, float inf, float a", "requires: a < 1e999", "E1154: `1e999` is greater than every"),
    "its negation": ("Tensor x, float a", "requires: a > -1e999", "E1154: `1e999` is greater than every"),
    "an integer": ("Tensor x, int n", "requires: n < 9223372036854775808", "has more than 64 bits"),
    "many digits": ("Tensor x, int n", f"requires: n < {'9' * 900}", "has more than 64 bits"),
    "items": ("Tensor x, Tensor? t", f'dims: {{t: "{"d " * 4500}"}}', "E1143: a pattern has at most 64 items"),
    "optional tensors": (f"Tensor x, {MANY}", f"dims: {{{ALL_D}}}", "E1143: more than 32 tensors share `d`"),
    "broadcast": (f"Tensor x, {BROADCAST}", f"dims: {{{ALL_B}}}", "E1143: more than 32 tensors share `b`"),
    "factors": (
        "Tensor x",
        f'dims: {{x: h, return: "{"*".join("h" * 400)}"}}',
        "E1150: the expression nests too deeply",
    ),
    "a long pattern": (
        "Tensor x",
        f'dims: {{x: h, return: "{"*".join("h" * 9000)}"}}',
        "E1150: the expression has more",
    ),
    "values": (
        f"Tensor x, {NUMBERS}",
        f"requires: ({' or '.join([f'n{place}' for place in range(60)])} or 1) > 0",
        "E1150: the expression nests too deeply",
    ),
    "brackets": ("Tensor x, int n", f"requires: {'(' * 400}n{')' * 400} > 0", "E1150"),
    "signs": ("Tensor x, int n", f"requires: {'-' * 400}n > 0", "E1150"),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_entries_are_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each ends in a diagnostic, also of the formatter, which leaves such texts alone."""
    arguments, field, message = ENTRIES[name]
    path, outputs = tmp_path / "refused.yaml", "" if "return" in field else "  outputs: like(x)\n"
    text = (
        f'namespace: acme\noperators:\n- func: "f({arguments}) -> Tensor"\n  dispatch: {{CPU: f}}\n{outputs}  {field}\n'
    )
    path.write_text(text)
    assert main(["check", "--format", "short", str(path)]) == 1
    assert message.replace("E1154: ", "").replace("E1143: ", "").replace("E1150: ", "") in capsys.readouterr().out
    assert main(["format", str(path)]) in (0, 1)


def requirements(schema: str, fields: str) -> Requirements:
    """What the fields of an entry require."""
    entry, sink = load_yaml(SourceFile("ops.yaml", fields)), Diagnostics()
    assert isinstance(entry, MappingNode)
    function = parse_schema(schema)
    loaded = RequirementsLoader(function, function, ("result",), sink).load(entry)
    assert not len(sink)
    return loaded


@pytest.mark.parametrize(
    ("size", "is_checked"),
    [
        ("h", False),
        ("{max(n, 0)}", False),
        ("{max(n, h)}".replace("h", "x.dim()"), False),
        ("{min(n, 4)}", True),
        ("h//2", False),
        ("h%3", False),
        ("h//w", True),
        ("h*w", True),
        ("h-1", True),
        ("{n}", True),
        ("{max(n, n * 2, 0)}", True),
        ("{x.size(2)}", True),
        ("{len(l)}", False),
    ],
)
def test_sizes_of_results_are_checked_where_they_may_be_wrong(size: str, is_checked: bool) -> None:
    """A size that can be computed of all arguments and is never negative needs no check."""
    loaded = requirements("f(Tensor x, int n, int[] l) -> Tensor", f'dims: {{x: "h w", return: "{size}"}}')
    assert any("result" in check.subject for check in loaded.checks) is is_checked


def test_conditions_come_before_sizes_that_need_them() -> None:
    """After the ranks, before what is computed; sizes to which tensors broadcast are known after their check."""
    fields = 'dims: {x: "m k", s: "{x.size(1)//group} n"}\nrequires: [group > 0, x.size(1) % group == 0]'
    loaded = requirements("f(Tensor x, int group, Tensor s) -> Tensor", fields)
    assert [check.subject for check in loaded.checks] == [
        *("`x`", "`s`", "`group > 0`", "`x.size(1) % group == 0`", "dimension 0 of `s`", "the device of `s`"),
    ]
    fields = 'dims: {p: "*#b", q: "*#b"}\nrequires: [len(b) > 1, n > 0]'
    loaded = requirements("f(Tensor p, Tensor q, int n) -> Tensor", fields)
    subjects = [check.subject for check in loaded.checks]
    assert subjects.index("`n > 0`") < subjects.index("the sizes `*b` of `q`") < subjects.index("`len(b) > 1`")
