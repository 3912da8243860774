"""A long session: edits in bursts, the server's memory, and whether diagnostics settle to those of a fresh check."""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
from pathlib import Path

from lsprotocol import types as lsp

from opwright.source.text import SourceFile
from opwright.tools.check.findings import CheckedFiles, find
from opwright.tools.check.suppressions import CodeFilter
from tests.tools.lsp.session import NATIVE, Editor, editor, write_tree

__all__ = ["Soak", "soak"]

#: What an edit puts in place of what, or takes back; half of the edits leave a mistake.
_EDITS = [
    ("- func: atan2(Tensor self, Tensor other", "- func: atan2(Tensor self, Tensor others"),
    ("- func: addmm(Tensor self", "- func: addmm(Tensro self"),
    ("  structured_delegate: add.out", "  structured_delegate: add.outt"),
    ("- func: relu(Tensor self) -> Tensor\n", "- func: relu(Tensor self) -> Tensor\n  tags: croe\n"),
    ("- func: abs(Tensor self) -> Tensor\n", "# A remark: \U0001f600.\n- func: abs(Tensor self) -> Tensor\n"),
    ("- func: sin(Tensor self) -> Tensor\n", "- func: sin(Tensor self -> Tensor\n"),
]
_BURST = 20
_MEGABYTE = 2**20


class Soak:
    """What a session showed: the server's resident memory in bytes by the number of edits, and what did not settle."""

    def __init__(self) -> None:
        self.memory: dict[int, int] = {}
        self.unsettled: list[str] = []


def _memory_of(process: int) -> int:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("the system says how much memory a process has")


def _shown(rows: list[lsp.Diagnostic]) -> set[tuple[str, int, int]]:
    return {(str(row.code), row.range.start.line, row.range.end.line) for row in rows}


def _fresh(path: Path, text: str) -> set[tuple[str, int, int]]:
    """The diagnostics of a check of the text by itself."""

    def no_release() -> None:
        raise AssertionError("the file is in a tree")

    file = SourceFile(str(path), text)
    found = find(CheckedFiles((file.path,), texts=(file,)), CodeFilter(), no_release)  # type: ignore[arg-type]
    shown = set()
    for diagnostic in found.diagnostics:
        span = diagnostic.span
        if span is not None and span.file.path == file.path:
            end = span.file.line_and_column(span.end)[0]
            shown.add((diagnostic.code, span.line - 1, end - 1))
    return shown


async def _settles(own: Editor, uri: str, expected: set[tuple[str, int, int]]) -> bool:
    """Whether the diagnostics of a file become the expected ones, and stay so."""
    for _ in range(4):
        if _shown(list(own.client.diagnostics[uri])) == expected:
            return True
        try:
            await asyncio.wait_for(own.published(uri), 30)
        except TimeoutError:
            break
    return _shown(list(own.client.diagnostics[uri])) == expected


async def soak(folder: Path, count: int, seed: int, *, every: int) -> Soak:
    """Edit PyTorch's operators `count` times, point at some, and compare the diagnostics after each `every` edits."""
    result, chance = Soak(), random.Random(seed)
    path = write_tree(folder) / NATIVE
    async with editor(folder) as own:
        uri = await own.open(path)
        for number in range(1, count + 1):
            old, new = chance.choice(_EDITS)
            if new in own.texts[uri]:
                old, new = new, old
            await own.replace(uri, old, new)
            if number % _BURST == 0:
                place = own.at(uri, "- func: addmm.out(", "addmm.out")
                await own.client.text_document_hover_async(lsp.HoverParams(*place))
                result.memory[number] = _memory_of(own.process)
            if number % every == 0:
                expected = await asyncio.to_thread(_fresh, path, own.texts[uri])
                if not await _settles(own, uri, expected):
                    found = _shown(list(own.client.diagnostics[uri]))
                    result.unsettled.append(f"edit {number}: {sorted(found ^ expected)}")
    return result


def main() -> None:
    """Print the server's memory by the number of edits; the exit status is 1 if diagnostics did not settle."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = asyncio.run(soak(Path(folder), arguments.count, arguments.seed, every=100))
    step = max(1, len(result.memory) // 10)
    for number, size in list(result.memory.items())[step - 1 :: step]:
        print(f"{number:>6,} edits: {size / _MEGABYTE:.0f} MB")
    print(f"{len(result.unsettled)} of {arguments.count // 100} bursts did not settle to a fresh check")
    print("\n".join(result.unsettled), end="\n" if result.unsettled else "")
    sys.exit(bool(result.unsettled))


if __name__ == "__main__":
    main()
