"""The program behind `make fuzz-index`: reads thousands of hostile package indexes and fails on any traceback."""

from __future__ import annotations

import argparse
import sys
import tempfile

from tests.fuzz.index_answers import fuzz_index, hostile_index


def main() -> int:
    """Run the program; the exit status is 1 if any index brought the client down."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.index_program", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="how many indexes are read (default: 10,000)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: 0)")
    options = parser.parse_args()
    findings = []
    with tempfile.TemporaryDirectory() as folder, hostile_index(folder) as index:
        for seed in range(options.first, options.first + options.count):
            finding = fuzz_index(index, seed)
            if finding is not None:
                findings.append(finding)
            if (seed + 1) % 1000 == 0:
                print(f"{seed + 1 - options.first} indexes, {len(findings)} findings", flush=True)
    for finding in findings[:5]:
        print(f"\nseed {finding.seed}:\n{finding.text[:2000]}\n{finding.report}")
    print(f"{options.count} indexes read, {len(findings)} tracebacks, hangs or texts that control a terminal")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
