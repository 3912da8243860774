"""The program behind `make bench`: measures both generators in pairs and prints a table."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from bench.measure import RunFailed, measure
from bench.report import print_figures, write_figures
from bench.scenarios import scenarios
from tests.conformance.inputs import ROOT, NoReference, reference_version

MEMORY = Path("/dev/shm")
ENOUGH_BYTES = 2**30


def arguments() -> argparse.ArgumentParser:
    """The command line of this program."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "--only", default="", help="only scenarios whose names start with one of these, comma-separated"
    )
    parser.add_argument("--rounds", type=int, default=5, help="how many pairs are measured (default: 5)")
    parser.add_argument("--folder", type=Path, help="where the programs write (default: a memory file system)")
    parser.add_argument("--release", default="", help="another release than the installed one, such as 2.15.0")
    parser.add_argument("--write", action="store_true", help="write the table into docs/benchmarks.md too")
    parser.add_argument("--list", action="store_true", help="print the names of the scenarios and end")
    return parser


def quiet_folder() -> Path:
    """A folder in which files cost the same in every run: in memory if possible, else below `build`.

    On a disk, creating 7,000 files takes between 0.3 and 4 seconds, which would hide the differences.
    """
    if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ENOUGH_BYTES:
        return MEMORY
    folder = ROOT / "build"
    folder.mkdir(exist_ok=True)
    return folder


def main() -> int:
    """Run the program; the exit status is 1 if a measured program fails."""
    options = arguments().parse_args()
    words = tuple(word.strip() for word in options.only.split(",") if word.strip())
    inputs = options.release or "pytorch"
    chosen = [scenario for scenario in scenarios(inputs) if not words or scenario.name.startswith(words)]
    if options.list:
        print("\n".join(scenario.name for scenario in chosen))
        return 0
    if not chosen:
        print(f"no scenario's name starts with `{options.only}`; --list names them", file=sys.stderr)
        return 2
    folder = Path(tempfile.mkdtemp(prefix="opwright-bench-", dir=options.folder or quiet_folder()))
    try:
        results = [
            measure(scenario, options.rounds, folder, lambda line: print(line, file=sys.stderr)) for scenario in chosen
        ]
    except (NoReference, RunFailed) as fault:
        print(f"error: {fault}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    figures = print_figures(results, options.rounds, reference_version(inputs), in_memory=MEMORY in folder.parents)
    print(figures)
    if options.write:
        write_figures(figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
