"""The fragments of the changelog can be collected into a release."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "changelog.d"
FORM = re.compile(r"\+[a-z0-9][a-z0-9-]*\.(added|changed|deprecated|removed|fixed|security)\.md")


def fragments() -> list[Path]:
    """All fragments of the next release."""
    return sorted(path for path in FOLDER.iterdir() if path.name != "README.md")


def test_names_tell_the_kind() -> None:
    """Every file in the folder is named `+TOPIC.KIND.md`, so that none is left out of a release."""
    assert [path.name for path in fragments() if not FORM.fullmatch(path.name)] == []


def test_fragments_are_plain_sentences() -> None:
    """A fragment is a short paragraph that ends with a full stop, without a heading or a bullet of its own."""
    for path in fragments():
        text = path.read_text(encoding="utf-8").strip()
        assert text, path.name
        assert not text.startswith(("#", "-", "*")), path.name
        assert text.endswith("."), path.name
        assert "\n\n" not in text, path.name


def test_a_release_collects_all_fragments() -> None:
    """`towncrier` shows every fragment, below the heading of its kind."""
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.9", "--date", "2030-01-01"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "## 9.9 (2030-01-01)" in done.stdout
    shown = "".join(done.stdout.split())
    for path in fragments():
        assert "".join(path.read_text(encoding="utf-8").split()) in shown, path.name
        assert f"### {path.name.split('.')[-2].capitalize()}" in done.stdout
