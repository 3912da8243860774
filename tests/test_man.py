"""The manual pages say of each command what its `--help` does, in the language of `man`."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from docs.man import write_pages
from docs.reference import argument_groups, parser_of
from opwright.cli.main import COMMANDS, main


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all pages."""
    folder = tmp_path_factory.mktemp("man")
    write_pages(folder)
    return folder / "man1"


@pytest.mark.parametrize("command", COMMANDS)
def test_pages_have_every_option(command: str, pages: Path) -> None:
    """Each option of a command is a tagged paragraph of its page."""
    text = (pages / f"opwright-{command}.1").read_text().replace("\\-", "-")
    tagged = {word for line in re.findall(r"(?m)^\.TP\n\.B (.*)$", text) for word in re.split(r"[ ,]+", line)}
    flags = {
        flag
        for _, actions in argument_groups(parser_of(main, [command]))
        for action in actions
        for flag in action.option_strings
    }
    assert flags <= tagged


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff")
def test_pages_are_typeset_without_warnings(pages: Path) -> None:
    """No page has a request that groff does not know, and each shows its sections and its commands."""
    for path in sorted(pages.iterdir()):
        command = ["groff", "-man", "-ww", "-Tascii", "-P-bcou", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert [line for line in done.stderr.splitlines() if "adjust line" not in line] == []
        assert re.findall(r"(?m)^(NAME|SYNOPSIS|DESCRIPTION|OPTIONS|SEE ALSO)$", done.stdout)[:3] == [
            "NAME",
            "SYNOPSIS",
            "DESCRIPTION",
        ]
