"""The pictures of the README show what the program prints, and the figures of the benchmarks."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from rich.text import Text

from docs.pictures import TERMINALS, Terminal

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
#: What is another in each run: numbers of files and seconds, the folder of Python; and blanks, which pictures lack.
VARYING = re.compile(r"[\d.,]+ (?=s\b|written|unchanged)|python3\.\d+|\s")


def shown(name: str) -> list[str]:
    """The lines of a terminal in a picture."""
    lines: dict[float, str] = {}
    for top, text in re.findall(r'<text [^>]*y="([\d.]+)" [^>]*clip-path[^>]*>([^<]*)<', (IMAGES / name).read_text()):
        lines[float(top)] = lines.get(float(top), "") + unescape(text).replace("\xa0", " ")
    return [line for _, line in sorted(lines.items())]


@pytest.mark.thorough
@pytest.mark.parametrize("terminal", TERMINALS, ids=lambda terminal: terminal.name)
def test_terminals_are_current(terminal: Terminal, tmp_path: Path) -> None:
    """The program prints what the picture shows; `python -m docs.pictures` draws it anew. Releases are left out."""
    commands = tuple([command for command in terminal.commands if " diff " not in command])
    printed = Text.from_ansi(terminal._replace(commands=commands).text(tmp_path / "work")).plain
    picture = shown(f"{terminal.name}.svg")
    wanted = [VARYING.sub("", line) for line in printed.splitlines()]
    assert [VARYING.sub("", line) for line in picture][: len(wanted)] == wanted
    assert [line[2:].rstrip() for line in picture if line.startswith("$ ")] == list(terminal.commands)


def test_bars_are_those_of_the_table() -> None:
    """Each bar is as long as its figure, and shows it."""
    picture = (IMAGES / "benchmarks.svg").read_text()
    bars = re.findall(r'width="([\d.]+)" height="12"/>\n<text [^>]*>(\d[\d.]*)[ <]', picture)
    assert len(bars) == 12
    scale = max([float(width) for width, _ in bars]) / max([float(figure) for _, figure in bars])
    assert [figure for width, figure in bars if abs(float(width) - max(float(figure) * scale, 1)) > 0.1] == []
    table = (ROOT / "docs" / "benchmarks.md").read_text()
    assert all(f" {figure} |" in table for _, figure in bars)
