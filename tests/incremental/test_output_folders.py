"""Which files of earlier runs a run removes."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.incremental.identity import InputStamps, RunIdentity
from opwright.incremental.output_folders import stale_outputs
from opwright.incremental.state import Manifest


def make_run(home: Path, families: str = "headers", folder: str = "out", shard: int = 0) -> RunIdentity:
    """A run of some families, separated by spaces, whose kind has the shard besides."""
    return RunIdentity(str(home), {"files": str(home / folder)}, families.split(), {"shard": shard}, {})


def manifest_of(run: RunIdentity, *paths: str, source_outputs: tuple[str, ...] = ()) -> Manifest:
    """What such a run left, if it made these files."""
    outputs = dict.fromkeys(paths, (0, 0, 0))
    return Manifest(run.kind, run.request, "", InputStamps({}, {}), outputs, {}, {}, frozenset(source_outputs))


@pytest.mark.parametrize(
    ("families", "folder", "shard", "is_removed"),
    [
        ("headers", "out", 0, True),
        ("headers sources", "out", 0, True),
        ("headers python", "out", 0, False),
        ("python", "out", 0, False),
        ("headers", "other", 0, False),
        ("headers", "out", 1, False),
    ],
)
def test_a_file_of_two_kinds_of_runs_goes_with_the_larger(
    tmp_path: Path, families: str, folder: str, shard: int, is_removed: bool
) -> None:
    """A file that another kind of run made too is removed if this run makes all that such runs make, and else stays."""
    run = make_run(tmp_path, "headers sources")
    gone = str(tmp_path.resolve() / "out" / "gone.h")
    other = manifest_of(make_run(tmp_path, families, folder, shard), gone)
    assert stale_outputs(run, manifest_of(run, gone), [other], ()) == ({gone} if is_removed else set())


def test_only_outputs_of_its_own_are_removed(tmp_path: Path) -> None:
    """A run removes what it made before and makes no longer, below its folders alone, and nothing that is a source."""
    run = make_run(tmp_path)
    gone, made, kept, beside = (str(tmp_path.resolve() / path) for path in ("out/a", "out/b", "out/c", "outer/d"))
    previous = manifest_of(run, gone, made, kept, beside, source_outputs=(kept,))
    assert stale_outputs(run, previous, [], [made]) == {gone}
