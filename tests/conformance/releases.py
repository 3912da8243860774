"""The program behind `make conformance-releases`: compares every release that has rules of its own.

Each release's reference and inputs come out of its wheel at the package index; what they write is kept, so that later
runs only run our side.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from opwright.source.diagnostic import Fault
from tests.conformance.inputs import ROOT
from tests.conformance.jobs import Job, chosen_jobs
from tests.conformance.oracle import ReferenceFailed, load_oracle
from tests.conformance.release_inputs import RELEASES, rules
from tests.conformance.release_jobs import all_release_jobs, flag_release_jobs
from tests.conformance.report import print_result, table
from tests.conformance.runner import Result, run_job
from tests.conformance.shipped import run_shipped, shipped_job, shipped_lazy_job

PAGE = ROOT / "docs" / "conformance.md"
MARKED = re.compile(r"(?s)(<!-- begin releases -->\n).*(<!-- end releases -->)")


def arguments() -> argparse.ArgumentParser:
    """The command line of this program."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.releases", description=__doc__)
    parser.add_argument("--only", default="", help="only jobs whose names start with one of these words, as `2.9.1`")
    parser.add_argument("--full", action="store_true", help="every combination of flags too; takes an hour and more")
    parser.add_argument("--part", default="1/1", help="`2/3`: every third of the jobs, from the second on")
    parser.add_argument("--list", action="store_true", help="print the names of the jobs and end")
    parser.add_argument("--write", action="store_true", help="write the table into docs/conformance.md too")
    parser.add_argument("--reference", action="store_true", help="only run the references, and keep what they write")
    return parser


def every_job() -> list[Job]:
    """All usual jobs, and for each release that of the headers that its wheel ships."""
    own = [release for release in RELEASES if rules(release).pytorch_files]
    return [*all_release_jobs(), *map(shipped_job, own), *map(shipped_lazy_job, own)]


def full_jobs() -> list[Job]:
    """All jobs, with every combination of flags."""
    return [*every_job(), *(job for release in RELEASES for job in flag_release_jobs(release))]


def results(jobs: Iterable[Job]) -> Iterator[Result]:
    """Runs jobs one after the other."""
    for job in jobs:
        yield run_job(job) if job.reference else run_shipped(job)


def print_releases(outcomes: Iterable[Result]) -> str:
    """A table with a row per job and a column per release: how many files are identical, or how many are not."""
    cells: dict[str, dict[str, str]] = {}
    totals = dict.fromkeys(RELEASES, 0)
    faults = dict.fromkeys(RELEASES, 0)
    for result in outcomes:
        release, _, name = result.job.name.partition("-")
        total = result.comparison.total()
        bad = total.files - total.identical
        cells.setdefault(name, {})[release] = (
            "failed" if result.failure else f"{bad} differ" if bad else f"{total.files}"
        )
        totals[release] += total.files
        faults[release] += bad + bool(result.failure)
    shown = [release for release in RELEASES if any(release in row for row in cells.values())]
    rows = [(name, *(row.get(release, "-") for release in shown)) for name, row in cells.items()]
    rows.append(("files compared", *(str(totals[release]) for release in shown)))
    rows.append(("files that differ", *(str(faults[release]) for release in shown)))
    return "\n".join(table(("job", *shown), rows))


def write_table(figures: str, page: Path = PAGE) -> None:
    """Put the table between the two marks on the page, in place of the older one."""
    text = page.read_text(encoding="utf-8")
    changed, count = MARKED.subn(lambda match: f"{match.group(1)}\n{figures}\n\n{match.group(2)}", text)
    if count != 1:
        raise ValueError(f"{page} has no single pair of marks for the table")
    page.write_text(changed, encoding="utf-8")


def main() -> int:
    """Run the program; the exit status is 1 where any job failed or differs."""
    options = arguments().parse_args()
    jobs = chosen_jobs(full_jobs if options.full else every_job, options.only, options.part)
    if options.list:
        print("\n".join(job.name for job in jobs))
        return 0
    if not jobs:
        print(f"no job's name starts with `{options.only}`; --list names them", file=sys.stderr)
        return 2
    outcomes = []
    try:
        if options.reference:
            for job in jobs:
                if job.reference:
                    print(job.name, f"{load_oracle(job).seconds:.1f} s", flush=True)
            return 0
        for result in results(jobs):
            print(print_result(result), flush=True)
            outcomes.append(result)
    except ReferenceFailed as fault:
        print(f"error: {fault}", file=sys.stderr)
        return 1
    except Fault as fault:
        print(f"error: {fault.diagnostic.message}", file=sys.stderr)
        return 1
    figures = print_releases(outcomes)
    print(figures)
    if options.write:
        write_table(figures)
    return 0 if all(result.is_clean for result in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
