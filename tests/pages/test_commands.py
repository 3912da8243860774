"""Commands in the pages are commands of the program, with options that it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.reference import parser_of
from opwright.cli.main import main
from tests.pages.commands import WrittenCommand, written_commands

COMMANDS = written_commands()


@pytest.mark.parametrize("page", sorted({command.page for command in COMMANDS}), ids=lambda page: page.name)
def test_commands_of_a_page_are_accepted(page: Path) -> None:
    """The parser of each command takes the words that the page shows."""
    refused = []
    for command in COMMANDS:
        if command.page == page:
            parser = parser_of(main, [command.words[0]])
            try:
                parser.parse_args(command.words[1:])
            except SystemExit:
                refused.append(f"{page.name}:{command.line}: opwright {' '.join(command.words)}")
    assert refused == []


def test_commands_are_found(tmp_path: Path) -> None:
    """Prompts, comments, pipes and continued lines are no words of a command."""
    page = tmp_path / "page.md"
    page.write_text("```\n$ opwright check a.yaml \\\n    --fix   # fixes it\nopwright dump --out x.json | head\n```\n")
    assert written_commands([page]) == [
        WrittenCommand(page, 2, ("check", "a.yaml", "--fix")),
        WrittenCommand(page, 4, ("dump", "--out", "x.json")),
    ]
    assert len(COMMANDS) > 100
