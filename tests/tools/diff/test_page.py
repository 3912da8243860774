"""The hook and the job that docs/diff.md shows, in a repository whose operators change."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "diff.md").read_text(encoding="utf-8")
OLD = """\
namespace: acme
operators:
- func: scale(Tensor x, float by=1.0) -> Tensor
  dispatch: {CPU: scale}
"""


def block(title: str) -> str:
    """The text of a file that the page shows."""
    (text,) = re.findall(rf'(?s)^```yaml title="{re.escape(title)}"\n(.*?)^```$', PAGE, re.MULTILINE)
    return str(text)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A clone of a repository with a library file."""
    git(tmp_path, "init", "-b", "main", "origin")
    (tmp_path / "origin" / "ops").mkdir()
    (tmp_path / "origin" / "ops" / "acme.yaml").write_text(OLD)
    git(tmp_path / "origin", "add", "-A")
    git(tmp_path / "origin", "commit", "-m", "Add an operator")
    git(tmp_path, "clone", "origin", "mine")
    return tmp_path / "mine"


def git(folder: Path, *words: str) -> None:
    """Run git."""
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True)


def run(script: str, folder: Path, summary: Path | None = None) -> tuple[int, str]:
    """The status of a script of a shell that ends with the first failure, and what it prints."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "GITHUB_STEP_SUMMARY": str(summary)}
    done = subprocess.run(["bash", "-e", "-c", script], cwd=folder, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("change", "level"),
    [(("float by=1.0", "float factor=1.0"), "major"), (("by=1.0", "by=1.0, *, bool inplace=False"), "minor")],
)
def test_the_hook_and_the_job_refuse_major_changes(
    repository: Path, tmp_path: Path, change: tuple[str, str], level: str
) -> None:
    """A pull request that breaks callers fails, with the report where its reviewers see it; others pass."""
    library = repository / "ops" / "acme.yaml"
    library.write_text(OLD.replace(*change))
    (hook,) = yaml.safe_load(block(".pre-commit-config.yaml"))["repos"][0]["hooks"]
    assert re.search(hook["files"], "ops/acme.yaml")
    assert not hook["pass_filenames"]
    status, printed = run(hook["entry"], repository)
    assert status == (level == "major")
    assert f"Verdict: {level} (1 {level})" in printed
    job = yaml.safe_load(block(".github/workflows/version.yml"))["jobs"]["version"]
    assert job["steps"][0]["with"]["fetch-depth"] == 0, "a commit of the base has to be there"
    (script,) = [step["run"] for step in job["steps"] if "opwright diff" in step.get("run", "")]
    summary = tmp_path / "summary.md"
    status, _ = run(script.replace("${{ github.base_ref }}", "main"), repository, summary)
    assert status == (level == "major")
    assert f"**Verdict: {level} (1 {level}).**" in summary.read_text(encoding="utf-8")
