"""The program behind `make generator-edits`: edits each place of PyTorch's generator in a tree, one at a time.

An edit is told (W0507 as an error), or both generators write the same files. It fails if an edit is silent.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

from opwright.source.codes import UNKNOWN_GENERATOR
from tests.generator_edits.judge import EditedTree, Outcome


def main() -> int:
    """Run the program; the exit status is 1 if an edit is silent."""
    parser = argparse.ArgumentParser(prog="python -m tests.generator_edits", description=__doc__)
    parser.add_argument("--count", type=int, default=0, help="how many edits are drawn (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="what they are drawn from (default: 0)")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        tree = EditedTree(Path(folder).resolve() / "tree")
        edits = list(tree.edits(options.seed))
        if options.count:
            edits = random.Random(options.seed).sample(edits, min(options.count, len(edits)))
        for edit in edits:
            outcome, said = tree.judge(edit)
            is_told = outcome is Outcome.told and said == UNKNOWN_GENERATOR
            counts["told as an edit" if is_told else outcome.name] += 1
            if not is_told and outcome is not Outcome.unread:
                print(f"{edit.path}: {edit.place}: {outcome.value} {said}", flush=True)
    print(f"{len(edits)} edits: {', '.join([f'{count} {outcome}' for outcome, count in counts.items()])}")
    return 1 if counts[Outcome.silent.name] else 0


if __name__ == "__main__":
    sys.exit(main())
