"""`check --watch`: the report again after each change of a YAML file, and nothing else."""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from opwright.cli.main import main

ENTRY = """\
namespace: acme
operators:
- func: twice({type} self) -> Tensor
  outputs: like(self)
  dispatch: {{CPU: twice}}
"""


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A library file that is edited while it is watched: mended, broken, taken away, and another file changes."""
    path = tmp_path / "acme.yaml"
    path.write_text(ENTRY.format(type="Tensr"))

    def changes_of(*folders: str, **_: object) -> Iterator[set[tuple[int, str]]]:
        assert folders == (str(tmp_path),)
        path.write_text(ENTRY.format(type="Tensor"))
        yield {(1, str(path))}
        path.write_text("operators: [")
        yield {(1, str(path))}
        path.unlink()
        yield {(3, str(path))}
        yield {(1, str(tmp_path / "notes.txt"))}

    watchfiles = types.ModuleType("watchfiles")
    monkeypatch.setattr(watchfiles, "watch", changes_of, raising=False)
    monkeypatch.setitem(sys.modules, "watchfiles", watchfiles)
    yield path
    gc.enable()


@pytest.mark.thorough
def test_a_file_is_checked_after_each_change(watched: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The program goes on after mistakes, broken files and files that are gone; other files change nothing."""
    assert main(["check", "--watch", "--isolated", "--torch", "auto", str(watched)]) == 0
    out, err = capfd.readouterr()
    assert [line.split(":")[0] for line in (out + err).splitlines() if line.startswith("error")] == [
        "error[E0202]",
        "error[E0113]",
        "error[E0001]",
    ]
    assert err.count("no findings in 1 file") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [(["--stdin-filename", "a.yaml"], "--watch needs a file"), (["--torch", "auto"], "there is nothing to watch")],
)
def test_without_a_file_nothing_is_watched(
    words: list[str], message: str, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release does not change, and standard input is read once."""
    monkeypatch.chdir(tmp_path)
    assert main(["check", "--watch", "--isolated", *words]) == 2
    assert message in capfd.readouterr().err
