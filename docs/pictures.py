"""The pictures of the README: bars of the figures in benchmarks.md, and terminals in which the program really ran.

    python -m docs.pictures            run the programs again, and write their terminals to `images`

`make docs` draws the bars.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console
from rich.text import Text

__all__ = ["TERMINALS", "Terminal", "bars"]

DOCS: Final = Path(__file__).resolve().parent
ROOT: Final = DOCS.parent

#: The jobs of the table that are drawn, and what a reader calls them.
_JOBS: Final = {
    "everything cold": "all files of PyTorch",
    "full cold": "ATen",
    "full one edit": "ATen, after one edit",
    "full unchanged": "ATen, nothing to do",
    "autograd one edit": "autograd, after one edit",
    "backend cold": "a backend of 1,811 operators",
}
_WIDTH: Final = 760
_LEFT: Final = 210
_SCALE: Final = 22.0
_ROW: Final = 40
_TOP: Final = 34
_STYLE: Final = """\
text { font: 13px sans-serif; fill: #333; }
.name { text-anchor: end; }
.times { font-weight: bold; }
.paper { fill: #fff; }
.reference { fill: #9aa0a6; }
.opwright { fill: #0072b2; }
@media (prefers-color-scheme: dark) { text { fill: #ddd; } .paper { fill: #16181c; } .opwright { fill: #56b4e9; } }
"""


class _Figures(NamedTuple):
    """What a row of the table says: seconds, and how many times faster."""

    reference: float
    opwright: float
    times: str


def _figures() -> dict[str, _Figures]:
    rows = re.findall(
        r"(?m)^\| ([a-z][a-z -]+?) +\| +([\d.]+) \| +([\d.]+) \| +([\d.]+) \|",
        (DOCS / "benchmarks.md").read_text(encoding="utf-8").split("<!-- begin figures -->")[1].split("<!-- end")[0],
    )
    return {name: _Figures(float(reference), float(own), times) for name, reference, own, times in rows}


def bars() -> str:
    """Seconds of both programs for some jobs of the table in benchmarks.md, as SVG for light and dark pages."""
    figures = _figures()
    height = _TOP + _ROW * len(_JOBS)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
            "<title>Seconds that PyTorch's generator and Opwright take</title>",
            f"<style>{_STYLE}</style>",
            f'<rect class="paper" width="{_WIDTH}" height="{height}"/>',
            *_bar("reference", _LEFT, 12, 14, "PyTorch's generator, seconds"),
            *_bar("opwright", _LEFT + 220, 12, 14, "Opwright, and how many times faster"),
            *[line for number, job in enumerate(_JOBS) for line in _job(_TOP + number * _ROW, job, figures[job])],
            "</svg>",
            "",
        ]
    )


def _job(top: int, job: str, figures: _Figures) -> Iterator[str]:
    yield f'<text class="name" x="{_LEFT - 8}" y="{top + 20}">{escape(_JOBS[job])}</text>'
    yield from _bar("reference", _LEFT, top + 3, figures.reference * _SCALE, f"{figures.reference:.2f}")
    words = f'{figures.opwright:.2f} <tspan class="times" dx="6">{float(figures.times):.0f}×</tspan>'
    yield from _bar("opwright", _LEFT, top + 17, figures.opwright * _SCALE, words)


def _bar(program: str, left: int, top: int, width: float, words: str) -> Iterator[str]:
    yield f'<rect class="{program}" x="{left}" y="{top}" width="{max(width, 1.0):.1f}" height="12"/>'
    yield f'<text x="{left + max(width, 1.0) + 6:.1f}" y="{top + 11}">{words}</text>'


class Terminal(NamedTuple):
    """A picture of a terminal: its title, the files that are there, and the commands that run."""

    name: str
    title: str
    files: dict[str, str]
    commands: tuple[str, ...]

    def text(self, folder: Path) -> str:
        """The commands, and what they print, with the codes that colour it.

        `folder` is made, and has the files. The commands run there.
        """
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in self.files.items():
            (folder / name).write_text(text, encoding="utf-8")
        return "\n".join([f"\033[1;32m$\033[0m {command}\n{_printed(command, folder)}" for command in self.commands])


#: A library with two mistakes, in which each of the two has a fix.
_LIBRARY: Final = """\
namespace: acme
operators:
- func: soft_clip(Tensor self, double limit=1.0) -> Tensor
  outputs: like(self)
  dispatch:
    CPUU: soft_clip
"""

#: The pictures, by the names of their files.
TERMINALS: Final = (
    Terminal(
        "demo",
        "all files of a release",
        {},
        (
            "opwright generate --out build/pytorch",
            "opwright generate --out build/pytorch",
            "opwright diff 2.12.1 2.13.0 | head -15",
        ),
    ),
    Terminal("mistake", "a mistake, at its place", {"acme.yaml": _LIBRARY}, ("opwright check acme.yaml",)),
)


def _printed(command: str, folder: Path) -> str:
    """What a command prints, without the place of the environment in which it runs."""
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "FORCE_COLOR": "1"}
    pipe, same = subprocess.PIPE, subprocess.STDOUT
    done = subprocess.run(
        command, cwd=folder, env=environment, shell=True, stdout=pipe, stderr=same, text=True, check=False
    )
    return done.stdout.replace(f"{sys.prefix}/", "").rstrip("\n")


def picture(terminal: Terminal, folder: Path) -> str:
    """The terminal after its commands, as SVG."""
    with open(folder / "drawn", "w", encoding="utf-8") as unread:
        console = Console(record=True, width=110, file=unread, force_terminal=True)
        console.print(Text.from_ansi(terminal.text(folder / "work")))
    # Pages load nothing from elsewhere: the reader's font with one width does.
    return re.sub(r"(?s)@font-face \{.*?\}\s*", "", console.export_svg(title=terminal.title, unique_id=terminal.name))


def main() -> None:
    """Write the pictures of all terminals."""
    for terminal in TERMINALS:
        with tempfile.TemporaryDirectory() as folder:
            text = picture(terminal, Path(folder))
        (DOCS / "images" / f"{terminal.name}.svg").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
