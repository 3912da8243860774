"""The program behind `make edits`: thousands of random edits of what runs read, and of flags, beside fresh runs."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from random import Random

from tests.edits.fields import DOCUMENTS, FieldRuns
from tests.edits.flag_runs import FlagRuns, all_pairs, random_pairs
from tests.edits.harness import RandomEdits

#: So many edits are made of the same inputs.
_ROUND = 50


def main() -> int:
    """Run the program; the exit status is 1 where a run after edits differs from a fresh one."""
    parser = argparse.ArgumentParser(prog="python -m tests.edits", description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="edits of PyTorch's inputs (default: 2000)")
    parser.add_argument("--files", type=int, default=5000, help="edits of files of users (default: 5000)")
    parser.add_argument("--flags", type=int, default=500, help="sets of flags besides all pairs (default: 500)")
    parser.add_argument("--seed", type=int, default=0, help="what they are drawn from (default: 0)")
    parser.add_argument("--operations", type=int, default=100, help="of so many operations; 0: of all (default: 100)")
    options = parser.parse_args()
    spec = find_spec("torchgen")
    assert spec is not None
    assert spec.origin is not None
    inputs = Path(spec.origin).parent / "packaged" / "ATen"
    differences = 0
    for name, check in _checks(options, inputs):
        started = time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            wrong = check(Path(folder).resolve())
        seconds = time.process_time() - started
        print(f"{name}: {len(wrong)} differences, {seconds:.1f} s", *wrong, sep="\n", flush=True)
        differences += len(wrong)
    return 1 if differences else 0


def _checks(options: argparse.Namespace, inputs: Path) -> Iterator[tuple[str, Callable[[Path], list[str]]]]:
    """What to run in a folder of its own, with its name."""
    seed, operations = options.seed, options.operations or None
    for number, first in enumerate(range(0, options.count, _ROUND)):
        count = min(_ROUND, options.count - first)
        yield f"PyTorch, seed {seed + number}", partial(_edit_pytorch, inputs, seed + number, operations, count)
    for number, kind in enumerate(DOCUMENTS):
        count = options.files * (number + 1) // len(DOCUMENTS) - options.files * number // len(DOCUMENTS)
        yield f"{kind}, {count} edits", partial(_edit_files, inputs, seed, kind, count)
    if options.flags:
        sets = [*all_pairs(), *random_pairs(options.flags, seed)]
        yield f"{len(sets)} sets of flags", lambda folder: list(FlagRuns(folder, inputs).check(sets))


def _edit_pytorch(inputs: Path, seed: int, operations: int | None, count: int, folder: Path) -> list[str]:
    return RandomEdits(folder, inputs, seed, operations).check(count)


def _edit_files(inputs: Path, seed: int, kind: str, count: int, folder: Path) -> list[str]:
    return list(FieldRuns(folder, inputs, kind).random_edits(Random(seed), count))


if __name__ == "__main__":
    sys.exit(main())
