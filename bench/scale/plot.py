"""Plots of curves with logarithmic axes, as SVG that is readable on light and on dark pages."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

__all__ = ["Curve", "Panel", "draw"]


class Curve(NamedTuple):
    """Values by numbers of operators, and what they are of."""

    name: str
    points: tuple[tuple[float, float], ...]


class Panel(NamedTuple):
    """Curves that share axes, under a title."""

    title: str
    curves: tuple[Curve, ...]


_WIDTH, _HEIGHT = 300, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 26, 30, 34
_IN_ROW = 3
_LEGEND = 34
_COLOURS = ("#0072b2", "#d55e00", "#009e73")
_STYLE = """\
text { font: 12px sans-serif; fill: #333; }
.title { font-weight: bold; }
.grid { stroke: #8884; }
.paper { fill: #fff; }
@media (prefers-color-scheme: dark) { text { fill: #ddd; } .paper { fill: #16181c; } }
"""


def draw(panels: Sequence[Panel]) -> str:
    """The plot of some panels, three in a row, with a legend above.

    >>> "<polyline" in draw([Panel("seconds", (Curve("a library", ((300, 0.5), (3000, 2.0))),))])
    True
    """
    rows = -(-len(panels) // _IN_ROW)
    width, height = _IN_ROW * _WIDTH, rows * _HEIGHT + _LEGEND
    body = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        f"<style>{_STYLE}</style>",
        f'<rect class="paper" width="{width}" height="{height}"/>',
        *_legend([curve.name for curve in panels[0].curves]),
    ]
    for number, panel in enumerate(panels):
        row, column = divmod(number, _IN_ROW)
        body += [f'<g transform="translate({column * _WIDTH} {row * _HEIGHT + _LEGEND})">', *_panel(panel), "</g>"]
    return "\n".join([*body, "</svg>", ""])


def _legend(names: Sequence[str]) -> Iterator[str]:
    for number, (name, colour) in enumerate(zip(names, _COLOURS, strict=False)):
        left = _LEFT + number * 190
        yield f'<line x1="{left}" x2="{left + 22}" y1="18" y2="18" stroke="{colour}" stroke-width="3"/>'
        yield f'<text x="{left + 28}" y="22">{escape(name)}</text>'


def _panel(panel: Panel) -> Iterator[str]:
    points = [point for curve in panel.curves for point in curve.points]
    columns, rows = _ticks([x for x, _ in points]), _ticks([y for _, y in points])
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            round(_LEFT + _share(x, columns) * (right - _LEFT), 1),
            round(bottom - _share(y, rows) * (bottom - _TOP), 1),
        )

    yield f'<text class="title" x="{_LEFT}" y="18">{escape(panel.title)}</text>'
    for tick in columns:
        x, _ = place(tick, rows[0])
        yield f'<line class="grid" x1="{x}" x2="{x}" y1="{_TOP}" y2="{bottom}"/>'
        yield f'<text x="{x}" y="{bottom + 16}" text-anchor="middle">{tick:,.6g}</text>'
    for tick in rows:
        _, y = place(columns[0], tick)
        yield f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{y}" y2="{y}"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{tick:g}</text>'
    for curve, colour in zip(panel.curves, _COLOURS, strict=False):
        places = [place(*point) for point in curve.points]
        line = " ".join([f"{x},{y}" for x, y in places])
        yield f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>'
        for x, y in places:
            yield f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>'


def _ticks(values: Sequence[float]) -> list[float]:
    """Numbers with one digit, 1 or 3, from the last one below some values to the first one above them.

    >>> _ticks([40, 700])
    [30.0, 100.0, 300.0, 1000.0]
    """
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    ticks = [float(f"{digit}e{power}") for power in range(low, high + 1) for digit in (1, 3)]
    first = max([tick for tick in ticks if tick <= min(values)])
    last = min([tick for tick in ticks if tick >= max(values)])
    return [tick for tick in ticks if first <= tick <= last]


def _share(value: float, ticks: Sequence[float]) -> float:
    """Where a value is between the ends of a logarithmic axis."""
    first, last = math.log10(ticks[0]), math.log10(ticks[-1])
    return (math.log10(value) - first) / ((last - first) or 1)
