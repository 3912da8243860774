"""After random edits of PyTorch's inputs, runs write and report what fresh runs do; `make edits` makes thousands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.edits import harness
from tests.edits.harness import RandomEdits
from tests.engine.project import WholeProject


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_random_edits_give_what_a_fresh_run_gives(seed: int, tmp_path: Path, reference_inputs: Path) -> None:
    """The files of all families, and the messages, are those of a run into an empty folder."""
    assert RandomEdits(tmp_path.resolve(), reference_inputs, seed).check(20) == []


def test_differences_are_seen(tmp_path: Path, reference_inputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that a run does not write is a difference, and so is a message that it does not give."""
    edits = RandomEdits(tmp_path.resolve(), reference_inputs, 0, operations=10)
    assert edits.check(0) == []
    declarations = next(path for path in (tmp_path / "local").rglob("Declarations.yaml"))
    monkeypatch.setattr(edits, "_run_again", lambda *_: harness.Result(True, "none of a fresh run"))
    declarations.write_text("")
    messages, [difference] = (edits.check(1)[:1], [text for text in edits.check(0) if "Declarations" in text][:1])
    assert "messages" in messages[0]
    assert "differs" in difference


def test_all_families_are_made() -> None:
    """Each family that needs no file of a user is in one of the two runs."""
    assert sorted(harness.LOCAL + harness.OTHERS) == sorted(WholeProject.families)
