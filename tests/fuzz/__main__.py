"""The program behind `make fuzz`: loads thousands of damaged inputs and fails on any traceback or hang."""

from __future__ import annotations

import argparse
import sys

from tests.fuzz.run import fuzz
from tests.fuzz.targets import targets

WORST = 5


def main() -> int:
    """Run the program; the exit status is 1 where any text brought a loader down."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=20_000, help="how many texts are loaded (default: 20,000)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--only", default="", help="only the input whose name starts so")
    options = parser.parse_args()
    chosen = [target for target in targets() if target.name.startswith(options.only)]
    findings = []
    for number in range(options.count):
        # The targets take turns, so that a short run meets them all.
        seed = options.first + number // len(chosen)
        finding = fuzz(chosen[number % len(chosen)], seed)
        if finding is not None:
            findings.append(finding)
        if (number + 1) % 2000 == 0:
            print(f"{number + 1} texts, {len(findings)} findings", flush=True)
    for finding in findings[:WORST]:
        print(f"\n{finding.target}, seed {finding.seed}:\n{finding.text}\n{finding.report}")
    print(f"{options.count} texts loaded, {len(findings)} tracebacks or hangs")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
