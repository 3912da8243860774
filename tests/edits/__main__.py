"""The program behind `make edits`: thousands of random edits of PyTorch's inputs, each beside a fresh run."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from tests.edits.harness import RandomEdits

#: So many edits are made of the same inputs.
_ROUND = 50


def main() -> int:
    """Run the program; the exit status is 1 where a run after edits differs from a fresh one."""
    parser = argparse.ArgumentParser(prog="python -m tests.edits", description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="how many edits are made (default: 2000)")
    parser.add_argument("--seed", type=int, default=0, help="what they are drawn from (default: 0)")
    parser.add_argument("--operations", type=int, default=100, help="of so many operations; 0: of all (default: 100)")
    options = parser.parse_args()
    spec = find_spec("torchgen")
    assert spec is not None
    assert spec.origin is not None
    inputs = Path(spec.origin).parent / "packaged" / "ATen"
    differences: list[str] = []
    for number, first in enumerate(range(0, options.count, _ROUND)):
        started = time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            edits = RandomEdits(Path(folder).resolve(), inputs, options.seed + number, options.operations or None)
            wrong = edits.check(min(_ROUND, options.count - first))
        seconds = time.process_time() - started
        print(f"seed {options.seed + number}: {len(wrong)} differences, {seconds:.1f} s", *wrong, sep="\n", flush=True)
        differences += wrong
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
