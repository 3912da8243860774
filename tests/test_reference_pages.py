"""The pages that are made from the program are those that it would make now."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import opwright
from opwright.cli.main import COMMANDS

ROOT = Path(__file__).resolve().parents[1]


def page(name: str) -> str:
    """A page of the documentation."""
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_pages_are_current() -> None:
    """`make docs` would change none of them; if this fails, run it and commit what it writes."""
    done = subprocess.run(
        [sys.executable, "-m", "docs.reference", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_diagnostics_have_all_codes(capsys: pytest.CaptureFixture[str]) -> None:
    """Every code that `explain` lists has its heading, in order."""
    done = subprocess.run([sys.executable, "-m", "opwright", "explain"], capture_output=True, text=True, check=True)
    listed = [line.split()[0] for line in done.stdout.splitlines()]
    shown = re.findall(r"(?m)^### ([EW]\d{4}): ", page("diagnostics.md"))
    assert sorted(shown) == listed
    # Errors before warnings, within each range.
    assert shown == sorted(shown, key=lambda code: (code[1:3], code))


@pytest.mark.parametrize("command", COMMANDS)
def test_command_line_has_all_options(command: str) -> None:
    """Every option in the help of a command is in the table of the command."""
    done = subprocess.run(
        [sys.executable, "-m", "opwright", command, "--help-all" if command == "generate" else "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    section = page("command-line.md").split(f"## opwright {command}\n")[1].split("\n## ")[0]
    options = set(re.findall(r"(?m)^  (--?[a-z][\w-]*)", done.stdout))
    assert options >= {"-h", "--color"}
    assert [option for option in options if f"`{option}" not in section] == []


def test_library_has_all_public_names() -> None:
    """Every public name has its heading and says what it is."""
    text = page("api.md")
    for name in set(vars(opwright)["__all__"]) - {"convention", "cpp"}:
        assert f"\n## {name}\n\n```python\n" in text, name
    for name in (*opwright.convention.__all__, *opwright.cpp.__all__):
        assert re.search(rf"\n## opwright\.(convention|cpp)\.{name}\n\n[A-Z]", text), name
    assert "def signature(function: NativeFunction) -> Signature" in text


def test_a_stale_page_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A page that differs is named with the command that writes it; writing it makes the check pass."""
    from docs import reference

    monkeypatch.setattr(reference, "DOCS", tmp_path)
    monkeypatch.setattr(reference, "PAGES", {"command-line.md": reference.command_line_page})
    assert reference.run(["--check"]) == 1
    assert "run `make docs`" in capsys.readouterr().err
    assert reference.run([]) == 0
    assert reference.run(["--check"]) == 0
    (tmp_path / "command-line.md").write_text("old")
    assert reference.run(["--check"]) == 1
