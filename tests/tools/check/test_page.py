"""The page about checks shows what the command prints, and the files beside it work."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from opwright.tools.check.lints import LINTS
from opwright.tools.check.settings import load_settings
from tests.tools.check.cases import RELEASE, check

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "check.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"(?ms)^```(\w*)\n(.*?)^```$", PAGE)
LIBRARY = next(text for language, text in BLOCKS if language == "yaml")
RUNS = [text for _, text in BLOCKS if text.startswith("$ opwright check")]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.splitlines()[0])
def test_output_is_real(run: str, tmp_path: Path) -> None:
    """Each command of the page prints what the page shows."""
    command, _, output = run.partition("\n")
    (tmp_path / "acme.yaml").write_text(LIBRARY)
    arguments = command.split()[3:]
    assert check(["--source-path", str(RELEASE), "--release", "2.13.0", *arguments], tmp_path) == output


def test_every_lint_is_in_the_table() -> None:
    """The table of the page has a row for each lint, which says where it is part of the default selection."""
    for code, lint in LINTS.items():
        (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| {code} |")]
        others, pytorch = (cell.strip() for cell in row.split("|")[3:5])
        assert (others == "yes") == lint.for_others
        assert (pytorch == "yes") == lint.for_pytorch


def test_settings_of_the_page_are_right() -> None:
    """The settings that the page shows have no mistake."""
    (text,) = [text for language, text in BLOCKS if language == "toml"]
    sink = Diagnostics()
    settings = load_settings(SourceFile("pyproject.toml", text), sink)
    assert not len(sink)
    assert (settings.torch, settings.fail_on) == ("2.13.0", "error")


def test_hooks_run_the_command() -> None:
    """The hooks for pre-commit have the fields that it needs, and start the command with options that exist."""
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert [hook["id"] for hook in hooks] == ["opwright-check", "opwright-check-fix"]
    for hook in hooks:
        assert hook.keys() >= {"id", "name", "entry", "language", "files"}
        assert re.search(hook["files"], "aten/src/ATen/native/native_functions.yaml")
        program, *arguments = hook["entry"].split()
        done = subprocess.run(
            [Path(sys.executable).with_name(program), *arguments, "--help"], capture_output=True, check=False
        )
        assert done.returncode == 0
