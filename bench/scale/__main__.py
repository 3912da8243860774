"""The program behind `make bench-scale`: what runs cost with 300 to 30,000 operators, as a table and a plot."""

from __future__ import annotations

import argparse
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from bench.library.inputs import write_library
from bench.report import PAGE
from bench.scale.compilation import Cost, run
from bench.scale.inputs import write_backend, write_tree
from bench.scale.plot import Curve, Panel, draw
from tests.conformance.inputs import ROOT
from tests.conformance.report import table

_MARKED = re.compile(r"(?s)(<!-- begin scale -->\n).*(<!-- end scale -->)")
_IMAGE = ROOT / "docs" / "images" / "scale.svg"
_SIZES = "300,1000,3000,10000,30000"
#: An entry of a kernel, whose name an edit changes.
_KERNEL = re.compile(r"(?m)^(    CPU: [a-z]\w*)$")
#: The words that choose PyTorch's rules for trees that are no release.
_RELEASE = ("--release", "2.13")

#: A file that is edited, and the arguments of a check and of a generation.
Case = tuple[Path, tuple[str, ...], tuple[str, ...]]


def _library(folder: Path, count: int) -> Case:
    file = write_library(folder, count)
    own = ("--library", str(file), "--torch", "auto")
    return file, own, own


def _backend(folder: Path, count: int) -> Case:
    file, aten = write_backend(folder, count)
    own = ("--backend", str(file), "--source-path", str(aten), *_RELEASE)
    return file, own, own


def _pytorch(folder: Path, count: int) -> Case:
    aten = write_tree(folder, count)
    own = ("--source-path", str(aten), *_RELEASE)
    return aten / "native/native_functions.yaml", own, own


_KINDS: dict[str, Callable[[Path, int], Case]] = {
    "a library": _library,
    "a backend": _backend,
    "PyTorch's own file": _pytorch,
}
_RUNS = ("generate", "check", "one edit")


def _edit(file: Path, number: int) -> None:
    """Edit one entry: the name of a kernel; in a backend file, which has names alone, an entry goes."""
    text = file.read_text(encoding="utf-8")
    changed = _KERNEL.sub(rf"\1_edit{number}", text, count=1)
    if changed == text:
        head, _, rest = text.partition("supported:\n")
        changed = f"{head}supported:\n{rest.partition(chr(10))[2]}"
    file.write_text(changed, encoding="utf-8")


def _measure(case: Case, folder: Path, rounds: int) -> dict[str, list[Cost]]:
    """What each run costs, in rounds."""
    file, checked, generated = case
    program = [sys.executable, "-m", "opwright"]
    out = folder / "out"
    generate = [*program, "generate", *generated, "--out", str(out), "--jobs", "1"]
    costs: dict[str, list[Cost]] = {name: [] for name in _RUNS}
    for number in range(rounds):
        shutil.rmtree(out, ignore_errors=True)
        costs["check"].append(run([*program, "check", *checked, "--fail-on", "error"], quiet=True))
        costs["generate"].append(run(generate, quiet=True))
        _edit(file, number)
        costs["one edit"].append(run(generate, quiet=True))
    return costs


def _measure_all(sizes: Sequence[int], rounds: int, folder: Path) -> dict[tuple[str, str, int], Cost]:
    figures: dict[tuple[str, str, int], Cost] = {}
    for size in sizes:
        for kind, write in _KINDS.items():
            own = Path(tempfile.mkdtemp(dir=folder))
            for name, costs in _measure(write(own, size), own, rounds).items():
                cost = Cost(median([cost.seconds for cost in costs]), int(median([cost.peak_bytes for cost in costs])))
                figures[kind, name, size] = cost
                print(f"{kind}, {size} operators, {name}: {cost.seconds:.2f} s", file=sys.stderr)
            shutil.rmtree(own)
    return figures


def _print_table(figures: dict[tuple[str, str, int], Cost], sizes: Sequence[int]) -> str:
    """Seconds and megabytes of each run, and how many times the largest input costs of that with a tenth of it."""
    rows = []
    for kind in _KINDS:
        for name in _RUNS:
            costs = [figures[kind, name, size] for size in sizes]
            cells = [f"{cost.seconds:.2f} s, {cost.peak_bytes / 1e6:.0f} MB" for cost in costs]
            tenth = figures.get((kind, name, sizes[-1] // 10))
            ratio = "" if tenth is None else f"{costs[-1].seconds / tenth.seconds:.1f}"
            rows.append((f"{kind}: {name}", *cells, ratio))
    columns = ("operators", *[f"{size:,}" for size in sizes], f"{sizes[-1]:,} / {sizes[-1] // 10:,}")
    return "\n".join(table(columns, rows))


def _panels(figures: dict[tuple[str, str, int], Cost], sizes: Sequence[int]) -> list[Panel]:
    """A panel of seconds and one of megabytes for each run, with a curve for each kind of input."""
    seconds, megabytes = [], []
    for name in _RUNS:
        costs = {kind: [figures[kind, name, size] for size in sizes] for kind in _KINDS}
        seconds.append(Panel(f"{name}, s", _curves(sizes, costs, lambda cost: cost.seconds)))
        megabytes.append(Panel(f"{name}, MB", _curves(sizes, costs, lambda cost: cost.peak_bytes / 1e6)))
    return seconds + megabytes


def _curves(sizes: Sequence[int], costs: dict[str, list[Cost]], value: Callable[[Cost], float]) -> tuple[Curve, ...]:
    return tuple([Curve(kind, tuple(zip(sizes, map(value, own), strict=True))) for kind, own in costs.items()])


def main() -> None:
    """Measure, print the table, and write table and plot into the documentation if asked."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--sizes", default=_SIZES, help="how many operators (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each run is measured (default: 3)")
    parser.add_argument("--write", action="store_true", help="write the table and the plot into docs too")
    arguments = parser.parse_args()
    sizes = sorted(map(int, arguments.sizes.split(",")))
    with tempfile.TemporaryDirectory(prefix="opwright-bench-") as folder:
        figures = _measure_all(sizes, arguments.rounds, Path(folder))
    text = (
        f"Python {platform.python_version()}, one process, medians of {arguments.rounds} rounds of processor time.\n\n"
        + _print_table(figures, sizes)
    )
    print(text)
    if arguments.write:
        page = PAGE.read_text(encoding="utf-8")
        changed, count = _MARKED.subn(lambda match: f"{match[1]}\n{text}\n\n{match[2]}", page)
        assert count == 1, f"{PAGE} has no single pair of marks for the scale"
        PAGE.write_text(changed, encoding="utf-8")
        _IMAGE.write_text(draw(_panels(figures, sizes)), encoding="utf-8")


if __name__ == "__main__":
    main()
