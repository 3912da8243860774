"""Reports that commands write with `--out`: whole, or not at all."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

REPORTS = {
    "coverage": ["coverage", "--backend", "acme.yaml"],
    "diff": ["diff", "one.yaml", "two.yaml"],
    "dump": ["dump", "--library", "one.yaml", "--force"],
}
LIBRARY = "namespace: acme\noperators:\n- func: scale(Tensor self) -> Tensor\n  dispatch: {CPU: scale}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two library files, and an earlier report."""
    (tmp_path / "one.yaml").write_text(LIBRARY)
    (tmp_path / "two.yaml").write_text(LIBRARY.replace("scale", "skale"))
    (tmp_path / "acme.yaml").write_text("backend: PrivateUse1\ncpp_namespace: acme\nsupported: [add.Tensor]\n")
    (tmp_path / "report").write_text("earlier\n")
    return tmp_path


def run(folder: Path, *words: str, largest: int | None = None) -> subprocess.CompletedProcess[str]:
    """A command in a folder, which may write files of so many bytes."""

    def limit() -> None:
        if largest is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

    command = [sys.executable, "-B", "-m", "opwright", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, preexec_fn=limit)


@pytest.mark.thorough
@pytest.mark.parametrize("command", REPORTS)
def test_a_report_that_cannot_be_written_leaves_the_earlier_one(folder: Path, command: str) -> None:
    """Without room for the report, the file stays as it was, and a diagnostic says so."""
    words = [*REPORTS[command], "--out", "report"]
    done = run(folder, *words, largest=40)
    assert "error[E0606]: cannot write `" in done.stderr, done.stderr
    assert (folder / "report").read_text() == "earlier\n"
    assert {path.name for path in folder.iterdir()} == {"one.yaml", "two.yaml", "acme.yaml", "report"}
    assert "error[" not in run(folder, *words).stderr
    assert len((folder / "report").read_text()) > 40


def test_reports_go_where_links_and_pipes_lead(folder: Path) -> None:
    """A link stays a link, and a device gets the text."""
    (folder / "link").symlink_to("report")
    words = REPORTS["dump"]
    text = run(folder, *words).stdout
    run(folder, *words, "--out", "link")
    assert (folder / "link").is_symlink()
    assert (folder / "report").read_text() == text
    assert run(folder, *words, "--out", "/dev/stdout").stdout == text
