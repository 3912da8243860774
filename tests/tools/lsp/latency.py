"""How long an editor waits for the server: at its start, for the first diagnostics, for a hover, after a keystroke."""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from pathlib import Path

from lsprotocol import types as lsp

from tests.tools.lsp.session import NATIVE, editor, write_tree

#: What is typed in turn, letter by letter, in place of the last letters before it.
_TYPED = "Tensor other_tensor"
_POINTED = ("add.out", "addmm", "relu", "sum.dim_IntList", "conv2d", "index.Tensor", "_foreach_add.Scalar")


class _Times:
    """Seconds by what was waited for."""

    def __init__(self) -> None:
        self.rows: dict[str, list[float]] = {}

    def add(self, name: str, start: float) -> None:
        """Add the time since a start."""
        self.rows.setdefault(name, []).append(time.perf_counter() - start)


def _processor_time(process: int) -> float:
    """The user time of a process, which Linux counts in ticks."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) / os.sysconf("SC_CLK_TCK")


async def _start(folder: Path, times: _Times) -> None:
    """Start a server, and open the file."""
    start = time.perf_counter()
    async with editor(folder) as own:
        times.add("initialize", start)
        times.rows.setdefault("initialize, processor time", []).append(_processor_time(own.process))
        start = time.perf_counter()
        await own.open(folder / NATIVE)
        times.add("first diagnostics after opening", start)


async def _work(folder: Path, times: _Times, count: int) -> None:
    """Point at operators, and type."""
    async with editor(folder) as own:
        uri = await own.open(folder / NATIVE)
        # The second check has nothing to say.
        await asyncio.sleep(1)
        for name in _POINTED:
            place = own.at(uri, f"- func: {name}(", name)
            for kind in ("hover", "hover again"):
                start = time.perf_counter()
                await own.client.text_document_hover_async(lsp.HoverParams(*place))
                times.add(kind, start)
        before = "- func: atan2(Tensor self, Tensor other"
        for number in range(count):
            after = before + _TYPED[number % len(_TYPED)]
            start = time.perf_counter()
            await own.replace(uri, before, after)
            times.add("diagnostics after a keystroke", start)
            before = after


def main() -> None:
    """Print the medians and the longest times."""
    times = _Times()
    with tempfile.TemporaryDirectory() as folder:
        tree = write_tree(Path(folder))
        print(f"{(tree / NATIVE).stat().st_size:,} bytes")
        for _ in range(5):
            asyncio.run(_start(tree, times))
        asyncio.run(_work(tree, times, 40))
    for name, seconds in times.rows.items():
        print(f"{name}: median {statistics.median(seconds) * 1000:.0f} ms, longest {max(seconds) * 1000:.0f} ms")


if __name__ == "__main__":
    main()
