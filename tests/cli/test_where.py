"""`opwright where` prints the whole origin of a line, and says what it does not know."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from opwright.cli.main import main
from opwright.cli.where import folder_origins
from opwright.source.diagnostic import Fault
from opwright.workspace import provenance
from opwright.workspace.provenance import FileOrigin, LineOrigin

TEXT = "".join(f"line {number}\n" for number in range(1, 10))
ENTRIES = {number: ("in/ops.yaml", 10 * number, f"acme::op{number}") for number in range(1, 7)}
#: The first and the last line of each range, with the entry.
RANGES = [
    [2, 4, 1],
    [4, 4, 2],
    *[[6, 7, number] for number in range(2, 7)],
    *[[8, 8, number] for number in range(3, 7)],
]


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """A generated file, with a file beside it that tells where its lines come from."""
    path = tmp_path / "ops.h"
    path.write_text(TEXT, encoding="utf-8")
    entries = [ENTRIES.get(number, ("in/ops.yaml", 1, "acme::unused")) for number in range(7)]
    written = {"entries": entries, "files": {str(path.resolve()): ["functions", RANGES]}}
    (tmp_path / "lines.json").write_text(json.dumps(written), encoding="utf-8")
    return path


def where(path: Path, place: str) -> int:
    """The exit status of the command for a place in the file."""
    return main(["where", f"{path}{place}", "--provenance", str(path.parent / "lines.json")])


def origin(line: int, *numbers: int) -> list[str]:
    """What is printed for a line that entries make."""
    shown = [f"{{path}}:{line} comes from the emitter `functions`"]
    for number in numbers:
        first, last = next(row[:2] for row in RANGES if row[0] <= line <= row[1] and row[2] == number)
        shown += [f"  from `acme::op{number}`, lines {first} to {last}", f"  --> in/ops.yaml:{10 * number}"]
    return shown


SHARED = "  from its template, or from text that all entries share"


@pytest.mark.parametrize(
    ("place", "printed"),
    [
        (":1", [*origin(1), SHARED]),
        (":2", origin(2, 1)),
        (":3:17", origin(3, 1)),
        (":4", origin(4, 1, 2)),
        (":5", [*origin(5), SHARED]),
        (":6", [*origin(6, 2, 3, 4, 5), "  and from 1 more entry"]),
        (":8", origin(8, 3, 4, 5, 6)),
        (":9", [*origin(9), SHARED]),
    ],
)
def test_all_entries_of_a_line(
    output: Path, capsys: pytest.CaptureFixture[str], place: str, printed: list[str]
) -> None:
    """A line has the entries in whose ranges it is, of which four are printed, or none; a column does not matter."""
    assert where(output, place) == 0
    assert capsys.readouterr().out.splitlines() == [line.format(path=output) for line in printed]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (TEXT, 0, "has 9 lines, and no line 0"),
        (TEXT, 10, "has 9 lines, and no line 10"),
        ("one", 2, "has 1 line, and no line 2"),
        ("one\n", 2, "has 1 line, and no line 2"),
        ("one\ntwo", 3, "has 2 lines, and no line 3"),
        ("", 1, "has 0 lines, and no line 1"),
    ],
)
def test_a_line_that_the_file_has_not(
    output: Path, capsys: pytest.CaptureFixture[str], text: str, line: int, message: str
) -> None:
    """Lines are counted from one, and the last one needs no end."""
    output.write_text(text, encoding="utf-8")
    assert where(output, f":{line}") == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"`{output}` {message}\n" in printed.err
    if text and line > 1:
        assert where(output, f":{line - 1}") == 0


@pytest.mark.parametrize(
    ("entries", "ranges"),
    [
        ([["in/ops.yaml", "1", "acme::f"]], [[1, 2, 0]]),
        ([[1, 1, "acme::f"]], [[1, 2, 0]]),
        ([["in/ops.yaml", 1, None]], [[1, 2, 0]]),
        ([["in/ops.yaml", 1]], [[1, 2, 0]]),
        ([["in/ops.yaml", 1, "acme::f"]], [["1", 2, 0]]),
        ([["in/ops.yaml", 1, "acme::f"]], [[1, None, 0]]),
        ([["in/ops.yaml", 1, "acme::f"]], [[1, 2, 1]]),
        ([["in/ops.yaml", 1, "acme::f"]], [[1, 2]]),
    ],
)
def test_values_of_other_types_are_no_origin(
    output: Path, capsys: pytest.CaptureFixture[str], entries: list[object], ranges: list[object]
) -> None:
    """A file whose values have other types covers nothing."""
    written = {"entries": entries, "files": {str(output.resolve()): ["functions", ranges]}}
    (output.parent / "lines.json").write_text(json.dumps(written), encoding="utf-8")
    assert where(output, ":1") == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"no provenance file covers `{output}`" in printed.err
    assert "generate with `--provenance FILE`" in printed.err


def test_a_path_without_a_line(output: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A path needs a line, also one with other colons in it."""
    assert where(output, "") == 1
    assert "write `FILE:LINE`" in capsys.readouterr().err
    odd = output.rename(output.with_name("a:b:ops.h"))
    assert where(odd, ":3") == 1
    assert f"no provenance file covers `{odd}`" in capsys.readouterr().err


def test_names_of_operators(capsys: pytest.CaptureFixture[str]) -> None:
    """A name gives the places of its overloads' entries; a name that means none fails, and others are still found."""
    assert main(["where", "aten::relu_", "no_such_operator", "--torch", "auto"]) == 1
    printed = capsys.readouterr()
    path, line, _ = printed.out.split(":", 2)
    assert printed.out == f"{path}:{line}: aten::relu_\n"
    entry = Path(path).read_text(encoding="utf-8").splitlines()[int(line) - 1]
    assert entry == "- func: relu_(Tensor(a!) self) -> Tensor(a!)"
    assert printed.err.startswith("opwright where: ")
    assert "no_such_operator" in printed.err


def test_origins_of_a_folder(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of a folder have the lines that wanted entries made; damaged provenance adds nothing."""
    top = output.parent
    (top / "damaged.json").write_text("{", encoding="utf-8")
    facts: dict[str, dict[str, object]] = {
        "1": {"provenance": "damaged.json"}, "2": {"provenance": "lines.json"}, "3": {"provenance": 1}, "4": {}
    }  # fmt: skip
    monkeypatch.setattr(provenance, "manifest_paths", lambda folder: [f"{folder}/{name}" for name in facts])
    monkeypatch.setattr(provenance, "read_manifest", lambda path: ({"facts": facts[path.rpartition("/")[2]]}, b""))
    origins = folder_origins(str(top), lambda path, line: path == "in/ops.yaml" and line in (10, 60))
    lines = (LineOrigin(2, 4, *ENTRIES[1]), LineOrigin(6, 7, *ENTRIES[6]), LineOrigin(8, 8, *ENTRIES[6]))
    assert origins == {str(output.resolve()): FileOrigin("functions", lines)}
    assert folder_origins(str(top), lambda path, line: line == 20 and path == "in/other.yaml") == {}
    monkeypatch.setattr(provenance, "manifest_paths", lambda folder: [] if folder == f"{top}/.opwright" else [""])
    with pytest.raises(Fault) as raised:
        folder_origins(str(top), lambda path, line: True)
    assert raised.value.diagnostic.message == f"`{top}` has no provenance"


@pytest.mark.thorough
@pytest.mark.parametrize(
    "text",
    [
        '[]', '1', '{"entries": [[]], "files": {}}', '{"entries": [], "files": []}', '{"entries": {}, "files": "x"}',
        '{"entries": [["in/ops.yaml", 10, "add"]], "files": {"/dev/zero": [[], [[1, 2, 0]]]}}',
        '{"entries": [["in/ops.yaml", 10, "add"]], "files": {"a": ["functions", {"abc": 1}]}}',
        '{"entries": ' + "[" * 5000,
    ],
)  # fmt: skip
def test_forged_provenance(output: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Provenance of another shape says nothing, and is no reason for a traceback."""
    (output.parent / "lines.json").write_text(text, encoding="utf-8")
    monkeypatch.setattr(provenance, "manifest_paths", lambda folder: [""])
    monkeypatch.setattr(provenance, "read_manifest", lambda path: ({"facts": {"provenance": "lines.json"}}, b""))
    assert folder_origins(str(output.parent), lambda path, line: True) == {}
    assert where(output, ":2") == 1
