"""Edits random sources, and looks for bytes that are lost: `python -m tests.cuts`.

A source is made of pieces, of which some only register operators. After `opwright import --edit` all other pieces are
there, in their order and with all but their blanks. Some runs are killed while they write: then the next one finds the
sources as they were.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from opwright.cli.main import main as run_opwright
from opwright.workspace.user_files import finish_killed_runs
from tests.cuts.sources import Piece, Sources

BATCH: Final = 100
KILLED: Final = """
import os, sys
from opwright.cli.main import main
from opwright.workspace import user_outputs
count, replace = int(sys.argv[1]), user_outputs.UserFiles.replace
def replaced(self, *arguments):
    global count
    count -= 1
    if count < 0:
        os.kill(os.getpid(), 9)
    return replace(self, *arguments)
user_outputs.UserFiles.replace = replaced
main(["import", "src", "--out", "o.yaml", "--edit", "--force"])
"""


class Outcome(NamedTuple):
    """How many sources were edited and how many pieces cut of those that may be, how many runs were killed, and what
    was lost.
    """

    sources: int
    edited: int
    pieces: int
    cut: int
    killed: int
    losses: Sequence[str]


def is_kept(pieces: Sequence[Piece], after: str) -> tuple[bool, int]:
    """Whether a text has all pieces that have to stay, and how many of the others it lacks."""
    text = "".join(after.split())
    # Where the text goes on after each piece, whether the block around it goes, and how many pieces are gone.
    states = {(0, False): 0}
    for piece in pieces:
        plain = "".join(piece.text.split())
        following: dict[tuple[int, bool], int] = {}

        def add(at: int, goes: bool, gone: int, options: dict[tuple[int, bool], int]) -> None:
            options[at, goes] = max(options.get((at, goes), -1), gone)

        for (at, goes), gone in states.items():
            if text.startswith(plain, at) and not (goes and piece.kind in ("cut", "tail")):
                add(at + len(plain), False if piece.kind == "head" else goes, gone, following)
            if piece.kind in ("cut", "divider") or piece.kind == "head":
                add(at, goes or piece.kind == "head", gone + (piece.kind == "cut"), following)
            if piece.kind == "tail" and goes:
                add(at, False, gone, following)
            if piece.kind == "cut" and text.startswith("pass", at):
                add(at + 4, goes, gone + 1, following)
        states = following
    ends = [gone for (at, _), gone in states.items() if at == len(text)]
    return bool(ends), max(ends, default=0)


def edit(count: int, seed: int) -> Outcome:
    """Edit so many sources, a hundred in a run. The working folder is one for these."""
    chance = random.Random(seed)
    outcome = Outcome(0, 0, 0, 0, 0, [])
    while outcome.sources < count:
        made = Sources(chance)
        number = min(BATCH, count - outcome.sources)
        sources = {
            f"src/s{index}.{'py' if index % 3 == 2 else 'cpp'}": made.python() if index % 3 == 2 else made.cpp()
            for index in range(number)
        }
        with tempfile.TemporaryDirectory() as folder, _inside(folder):
            outcome = _edit_batch(sources, chance, outcome)
        print(
            f"{outcome.sources} sources: {outcome.cut} of {outcome.pieces} pieces cut, {len(outcome.losses)} losses",
            flush=True,
        )
    return outcome


@contextlib.contextmanager
def _inside(folder: str) -> Iterator[None]:
    """A context in a folder. `contextlib.chdir` is not in Python 3.10."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _edit_batch(sources: dict[str, list[Piece]], chance: random.Random, outcome: Outcome) -> Outcome:
    before: dict[str, bytes] = {}
    for path, pieces in sources.items():
        text = "".join([piece.text for piece in pieces])
        newline, mark = chance.choice(("\n", "\n", "\r\n")), chance.choice((b"", b"", b"\xef\xbb\xbf"))
        before[path] = mark + text.replace("\n", newline).encode()
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).write_bytes(before[path])
        os.chmod(path, 0o640)
    losses = [*outcome.losses]
    killed = not outcome.sources or chance.random() < 0.5
    if killed:
        command = [sys.executable, "-c", KILLED, str(chance.randrange(len(sources) // 2))]
        subprocess.run(command, check=False, capture_output=True)
        finish_killed_runs()
        losses += [f"{path} after a killed run" for path in before if Path(path).read_bytes() != before[path]]
    with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(io.StringIO()) as errors:
        status = run_opwright(["import", "src", "--out", "o.yaml", "--edit", "--force"])
    if "deleted: " not in printed.getvalue():
        losses.append(f"status {status}, and nothing is deleted: {errors.getvalue()[-1500:]}")
    cut = pieces_to_cut = edited = 0
    for path, pieces in sources.items():
        after = Path(path).read_bytes()
        is_whole, gone = is_kept(pieces, after.decode("utf-8-sig"))
        has_mark = after.startswith(b"\xef\xbb\xbf") == before[path].startswith(b"\xef\xbb\xbf")
        has_lines = before[path].count(b"\r\n") == 0 or b"\n" not in after.replace(b"\r\n", b"")
        if not (is_whole and has_mark and has_lines and os.stat(path).st_mode & 0o777 == 0o640):
            losses.append(f"{path}:\n{before[path].decode()}\n=====\n{after.decode()}")
        cut += gone
        edited += after != before[path]
        pieces_to_cut += sum(piece.kind == "cut" for piece in pieces)
    return Outcome(
        outcome.sources + len(sources),
        outcome.edited + edited,
        outcome.pieces + pieces_to_cut,
        outcome.cut + cut,
        outcome.killed + killed,
        losses,
    )


def main() -> int:
    """Edit as many sources as the command line says, and print what was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    outcome = edit(arguments.count, arguments.seed)
    for loss in outcome.losses[:5]:
        print(loss)
    print(f"{outcome.sources} sources, {outcome.edited} of them changed, {outcome.killed} runs killed: ", end="")
    print(f"{outcome.cut} of {outcome.pieces} statements cut, {len(outcome.losses)} losses")
    return 1 if outcome.losses or not outcome.cut else 0


if __name__ == "__main__":
    sys.exit(main())
