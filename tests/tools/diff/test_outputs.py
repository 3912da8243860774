"""Comparisons of generated files: each difference belongs to an operator and to a class of file."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest

from opwright.cli.main import main
from opwright.tools.diff.generated import generated_sides
from opwright.tools.diff.outputs import FileLines, OutputSide, compare_outputs, render_json, render_text
from opwright.tools.diff.outputs import render_markdown as render

LIBRARY = """\
namespace: acme
operators:
- func: gamma(Tensor self, float exponent={default}) -> Tensor
  dispatch:
    CPU: gamma
- func: mix(Tensor self, Tensor other) -> Tensor
  dispatch:
    CPU: mix
"""
NATIVE = """\
- func: kept(Tensor self) -> Tensor
  dispatch:
    CPU: kept
- func: other(Tensor self{argument}) -> Tensor
  dispatch:
    CPU: other
"""
TAGS = "- tag: core\n  desc: d\n- tag: pt2_compliant_tag\n  desc: d\n- tag: generated\n  desc: d\n"


def side(label: str, files: dict[str, str], *ranges: tuple[int, int, str]) -> OutputSide:
    """A side whose files all have these ranges of lines."""
    contents = {path: text.encode() for path, text in files.items()}
    return OutputSide(label, contents, {path: FileLines("some_source", ranges) for path in files})


def test_lines_belong_to_their_operators() -> None:
    """A line that moves to another file of its class is no difference, and lines of nobody are told apart."""
    old = side("old", {"a.cpp": "// old\nadd\nmul", "b.cpp": "// x\nsub\ndiv"}, (2, 2, "first"), (3, 3, "second"))
    new = side("new", {"a.cpp": "// new\nadd\nmul2", "b.cpp": "// x\nsub\ndiv"}, (2, 2, "first"), (3, 3, "second"))
    comparison = compare_outputs(old, new)
    assert comparison.changed == ("a.cpp",)
    assert [(each.operator, each.file_class, each.counts()) for each in comparison.differences] == [
        ("", "some_source", (1, 1)),
        ("second", "some_source", (1, 1)),
    ]
    assert comparison.differences[1].unified_lines == ["@@ -1 +1 @@", "-mul", "+mul2"]
    moved = side("new", {"a.cpp": "// old\nadd", "b.cpp": "// x\nsub\ndiv\nmul"}, (2, 2, "first"), (3, 4, "second"))
    moved_old = side("old", {"a.cpp": "// old\nadd\nmul", "b.cpp": "// x\nsub"}, (2, 2, "first"), (3, 3, "second"))
    assert [each.operator for each in compare_outputs(moved_old, moved).differences] == ["second"]
    without = side("new", {"a.cpp": "// old"})
    for sides in ((old, without), (without, old)):
        assert {"first", "second"} <= {each.operator for each in compare_outputs(*sides).differences}


MARKDOWN = """\
### Generated files: old → new

Files: 1 differ, 0 are gone, 0 are new.

| class of files | operators | lines |
| --- | ---: | ---: |
| `some_source` | 2 | -2 +2 |

<details>
<summary>Operators with differences: 2</summary>

- <code>second</code>: `some_source`
- (text that no operator owns): `some_source`

</details>
"""
MARKDOWN_IN_FULL = """
<details>
<summary><code>second</code></summary>

`some_source`

````diff
@@ -1 +1 @@
-mul
+mul ```
````

</details>

<details>
<summary>(text that no operator owns)</summary>

`some_source`

```diff
@@ -1 +1 @@
-// old
+// new
```

</details>
"""


def test_markdown() -> None:
    """Markdown has a table of classes of files and folded lists, and no line of a file ends a block of code."""
    ranges = (2, 2, "first"), (3, 3, "second")
    old = side("old", {"a.cpp": "// old\nadd\nmul"}, *ranges)
    new = side("new", {"a.cpp": "// new\nadd\nmul ```"}, *ranges)
    comparison = compare_outputs(old, new)
    assert render(comparison, in_full=False) == MARKDOWN
    assert render(comparison, in_full=True) == MARKDOWN.partition("\n<details>")[0] + MARKDOWN_IN_FULL
    same = compare_outputs(old, old)
    assert render(same, in_full=True) == "### Generated files: old → old\n\nNo file differs.\n"


TEXT = """\
old -> new: files: 1 differ, 1 are gone, 1 are new

Operators with differences, by class of file
  a_source         1  lines -1 +2
  other_source     2  lines -2 +2

Differences by operator: 2
"""
TEXT_IN_FULL = """\
  second, a_source
    @@ -1 +1,2 @@
    -gone
    +new
    +newer
  second, other_source
    @@ -1 +1 @@
    -mul
    +mul2
  (text that no operator owns), other_source
    @@ -1,2 +1,2 @@
    -// old
    +// new
     end
"""


def test_text() -> None:
    """The text counts files, lists classes and operators, and shows the lines only in full."""
    lines = FileLines("other_source", [(2, 2, "first"), (3, 3, "second")])
    texts = [
        ("old", "// old\nadd\nmul\nend", "gone.h", "gone"),
        ("new", "// new\nadd\nmul2\nend", "new.h", "new\nnewer"),
    ]
    old, new = [
        OutputSide(
            label,
            {"a.cpp": text.encode(), other: more.encode(), "same.h": b"same"},
            {"a.cpp": lines, other: FileLines("a_source", [(-3, 9, "second")])},
        )
        for label, text, other, more in texts
    ]
    comparison = compare_outputs(old, new)
    operators = "  second: a_source, other_source\n  (text that no operator owns): other_source\n"
    assert render_text(comparison, in_full=False) == TEXT + operators
    assert render_text(comparison, in_full=True) == TEXT + TEXT_IN_FULL
    assert render_text(compare_outputs(old, old), in_full=False) == "old -> old: no file differs\n"
    rows = [("second", "a_source", 1, 2), ("", "other_source", 1, 1), ("second", "other_source", 1, 1)]
    names = ("operator", "class", "lines_gone", "lines_new")
    assert json.loads(render_json(comparison)) == {
        "format": 1,
        "old": "old",
        "new": "new",
        "changed": ["a.cpp"],
        "removed": ["gone.h"],
        "added": ["new.h"],
        "differences": [dict(zip(names, row, strict=True)) for row in rows],
    }


def test_markdown_of_many_operators() -> None:
    """A list is short enough for a comment, and says how many operators it leaves out."""
    texts = ["\n".join([f"{text}{number}" for number in range(1, 100)]) for text in ("old", "new")]
    ranges = [(number, number, f"operator_{number}") for number in range(1, 100)]
    old, new = [side("side", {"a.cpp": text}, *ranges) for text in texts]
    text = render(compare_outputs(old, new), in_full=False)
    assert "<summary>Operators with differences: 99</summary>" in text
    assert text.count("- <code>") == 40
    assert "\n- and 59 more\n" in text
    text = render_text(compare_outputs(old, new), in_full=False)
    assert "\nDifferences by operator: 99\n" in text
    assert text.count("\n  operator_") == 40
    assert text.endswith("\n  and 59 more; `--all` shows each line, and names choose operators\n")


def test_files_without_provenance_are_compared_as_a_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files of any generator can be compared; those of one folder and suffix are a class."""
    for name, text in (("old", "a\nb\n"), ("new", "a\nc\n")):
        folder = tmp_path / name / "ops"
        folder.mkdir(parents=True)
        (folder / "add.h").write_text(text, encoding="utf-8")
        (folder / f"{name}.h").write_text("x\n", encoding="utf-8")
    words = [str(tmp_path / "old"), str(tmp_path / "new")]
    assert main(["diff", "--output", *words, "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["changed"], document["removed"], document["added"]) == (
        ["ops/add.h"],
        ["ops/old.h"],
        ["ops/new.h"],
    )
    assert [row["class"] for row in document["differences"]] == ["ops/*.h"]
    assert main(["diff", "--output", *words, "--format", "markdown"]) == 1
    assert "Files: 1 differ, 1 are gone, 1 are new.\n\n| class of files " in capsys.readouterr().out
    assert main(["diff", "--output", words[0], words[0]]) == 0
    assert capsys.readouterr().out == f"{words[0]} -> {words[0]}: no file differs\n"


def test_runs_with_provenance_are_compared_by_operator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An edit of one operator of a library is shown for that operator alone, with the lines that it changes."""
    source = tmp_path / "acme.yaml"
    for name, default in (("old", "2.2"), ("new", "2.4")):
        source.write_text(LIBRARY.format(default=default), encoding="utf-8")
        out = tmp_path / name
        words = ["--library", str(source), "--out", str(out), "--provenance", str(out / "provenance.json")]
        assert main(["generate", *words]) == 0
    capsys.readouterr()
    sides = [str(tmp_path / "old"), str(tmp_path / "new")]
    assert main(["diff", "--output", *sides, "gamma", "--fail-on", "none"]) == 0
    text = capsys.readouterr().out
    assert "    -" in text
    assert "2.2" in text
    assert main(["diff", "--output", *sides, "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert {row["operator"] for row in document["differences"]} == {"gamma"}
    assert document["removed"] == document["added"] == []


def test_sides_are_generated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder of inputs is generated from, with the Opwright of each interpreter that `--python` names."""
    for name, argument in (("old", ""), ("new", ", int n=1")):
        native = tmp_path / name / "ATen" / "native"
        native.mkdir(parents=True)
        (native / "native_functions.yaml").write_text(NATIVE.format(argument=argument), encoding="utf-8")
        (native / "tags.yaml").write_text(TAGS, encoding="utf-8")
    sides = [str(tmp_path / name / "ATen") for name in ("old", "new")]
    words = [
        "--python",
        sys.executable,
        "--python",
        sys.executable,
        "--only",
        "declarations_yaml",
        "--release",
        "2.13.0",
    ]
    assert main(["diff", "--output", *sides, *words]) == 1
    text = capsys.readouterr().out
    assert "files: 1 differ, 0 are gone, 0 are new" in text
    assert "Differences by operator: 1\n  other: declarations_yaml\n" in text


@pytest.mark.thorough
def test_both_sides_are_generated_at_once(
    tmp_path: Path, reference_inputs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two folders with one generator need no other process: an entry, a template or nothing differs, as of two runs."""
    for name in ("old", "entry", "template", "equal"):
        aten = tmp_path / name / "ATen"
        shutil.copytree(reference_inputs / "templates", aten / "templates")
        (aten / "native").mkdir()
        argument = ", int n=1" if name == "entry" else ""
        (aten / "native" / "native_functions.yaml").write_text(NATIVE.format(argument=argument))
        (aten / "native" / "tags.yaml").write_text(TAGS)
        if name == "template":
            with open(aten / "templates" / "Function.h", "a", encoding="utf-8") as stream:
                stream.write("// a note\n")
    words = ["diff", "--output", "--release", "2.13.0", "--only", "headers", "--all", "--fail-on", "none"]
    operators = {"entry": {"other"}, "template": {"kept", "other"}, "equal": set()}
    for name, expected in operators.items():
        reports = []
        for more in (["--python", sys.executable], []):
            sides = [str(tmp_path / side / "ATen") for side in ("old", name)]
            with monkeypatch.context() as patched:
                if not more:
                    patched.setattr("subprocess.run", None)
                assert main([*words, *sides, *more]) == 0
                reports.append(capsys.readouterr().out)
                assert main([*words, *sides, *more, "--format", "json"]) == 0
            owners = {row["operator"] for row in json.loads(capsys.readouterr().out)["differences"]}
            assert expected <= owners
            assert bool(owners) == bool(expected)
        assert reports[0] == reports[1]


def test_lines_of_equal_units_are_left_out(tmp_path: Path, reference_inputs: Path) -> None:
    """What is compared of a file differs by the same lines as the file, but has no lines of the same operators."""
    for name, argument in (("old", ""), ("new", ", int n=1")):
        aten = tmp_path / name / "ATen"
        shutil.copytree(reference_inputs / "templates", aten / "templates")
        (aten / "native").mkdir()
        at_end = "- func: zzz_kept(Tensor self) -> Tensor\n  dispatch:\n    CPU: zzz_kept\n"
        (aten / "native" / "native_functions.yaml").write_text(NATIVE.format(argument=argument) + at_end)
        (aten / "native" / "tags.yaml").write_text(TAGS)
    sides = generated_sides(str(tmp_path / "old/ATen"), str(tmp_path / "new/ATen"), ["sources", "headers"], "2.13.0")
    assert sides is not None
    assert len(sides[0].contents) > 10
    left_out: set[str] = set()
    for path in sides[0].contents:
        whole = [Counter(side.contents[path].decode().split("\n")) for side in sides]
        compared = [Counter(side.origins[path].text) for side in sides]
        for first, second in ((0, 1), (1, 0)):
            differing = (whole[first] - whole[second]) - (compared[first] - compared[second])
            # Registrations end in a second semicolon, which belongs to the template, and goes with the last line.
            assert [line for line in differing if not line.endswith(";;")] == []
            assert compared[first] <= whole[first]
        left_out.update(whole[1] - compared[1])
    texts = ("".join([line for line in left_out if name in line]) for name in ("zzz_kept", " kept", "other"))
    assert [bool(text) for text in texts] == [True, True, False]
    (registrations,) = [origin.text for path, origin in sides[1].origins.items() if path.endswith("RegisterSchema.cpp")]
    assert [line for line in registrations or () if "m.def" in line and "kept" in line] == []


def test_failing_runs_are_faults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An interpreter that does not exist, and inputs with a mistake, are errors; the latter are at their places."""
    native = tmp_path / "ATen" / "native"
    native.mkdir(parents=True)
    (native / "native_functions.yaml").write_text("- func: f(Tensr self) -> Tensor\n", encoding="utf-8")
    (native / "tags.yaml").write_text(TAGS, encoding="utf-8")
    words = ["diff", "--output", str(tmp_path / "ATen"), str(tmp_path / "ATen"), "--only", "declarations_yaml"]
    words += ["--release", "2.13.0"]
    assert main([*words, "--python", str(tmp_path / "python")]) == 1
    assert "error[E2104]: cannot run" in capsys.readouterr().err
    assert main([*words, "--python", sys.executable]) == 1
    errors = capsys.readouterr().err
    assert "failed with status 1" in errors
    assert "Tensr" in errors
    assert main(words) == 1
    errors = capsys.readouterr().err
    assert "failed with status" not in errors
    assert "native_functions.yaml:1:11\n" in errors
