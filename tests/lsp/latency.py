"""How long an editor waits for diagnostics after a keystroke in `native_functions.yaml`."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from tests.lsp.session import NATIVE, editor, write_tree

#: What is typed in turn, letter by letter, in place of the last letters before it.
_TYPED = "Tensor other_tensor"


async def _measure(folder: Path, count: int) -> list[float]:
    times = []
    async with editor(folder) as own:
        uri = await own.open(folder / NATIVE)
        before = "- func: atan2(Tensor self, Tensor other"
        for number in range(count):
            after = before + _TYPED[number % len(_TYPED)]
            start = time.perf_counter()
            await own.replace(uri, before, after)
            times.append(time.perf_counter() - start)
            before = after
    return times


def main() -> None:
    """Print the median and the longest time of 40 keystrokes."""
    with tempfile.TemporaryDirectory() as folder:
        tree = write_tree(Path(folder))
        size = (tree / NATIVE).stat().st_size
        times = asyncio.run(_measure(tree, 40))
    median, longest = statistics.median(times), max(times)
    print(f"{size:,} bytes: median {median * 1000:.0f} ms, longest {longest * 1000:.0f} ms")


if __name__ == "__main__":
    main()
