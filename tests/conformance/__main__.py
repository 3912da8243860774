"""The program behind `make conformance`: compares every job, prints tables, and fails on any difference."""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor

from opwright.source.diagnostic import Fault
from tests.conformance.inputs import NoReference, NotAvailable
from tests.conformance.jobs import Job, Side, chosen_jobs, full_jobs, usual_jobs
from tests.conformance.oracle import ReferenceFailed
from tests.conformance.report import print_result, print_summary
from tests.conformance.runner import Result, run_job
from tests.conformance.shipped import run_shipped


def arguments() -> argparse.ArgumentParser:
    """The command line of this program."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--full", action="store_true", help="every combination of flags, and mutated inputs too")
    parser.add_argument("--only", default="", help="only jobs whose names start with one of these words")
    parser.add_argument("--part", default="1/1", help="`2/3`: every third of the jobs, from the second on")
    parser.add_argument("--list", action="store_true", help="print the names of the jobs and end")
    parser.add_argument("--workers", type=int, default=1, help="how many jobs run at once (default: 1)")
    parser.add_argument(
        "--ours",
        choices=("opwright", "reference"),
        default="opwright",
        help="what stands on our side; the reference against itself tests the comparison",
    )
    return parser


def main() -> int:
    """Run the program; the exit status is 1 where any job failed or differs."""
    options = arguments().parse_args()
    jobs = chosen_jobs(full_jobs if options.full else usual_jobs, options.only, options.part)
    if options.list:
        print("\n".join(job.name for job in jobs))
        return 0
    if not jobs:
        print(f"no job's name starts with `{options.only}`; --list names them", file=sys.stderr)
        return 2
    results, missing = [], []
    try:
        with ThreadPoolExecutor(options.workers) as pool:
            for result in pool.map(lambda job: _run(job, options.ours), jobs):
                if isinstance(result, str):
                    missing.append(result)
                    continue
                print(print_result(result), flush=True)
                results.append(result)
    except (NoReference, ReferenceFailed) as fault:
        print(f"error: {fault}", file=sys.stderr)
        return 1
    except Fault as fault:
        print(f"error: {fault.diagnostic.message}", file=sys.stderr)
        return 1
    print(print_summary(results))
    for reason in missing:
        print(f"not run: {reason}")
    return 0 if all(result.is_clean for result in results) else 1


def _run(job: Job, side: Side) -> Result | str:
    """The result of a job; why it was not run, if the package index does not give what it needs."""
    try:
        return run_job(job, side) if job.reference else run_shipped(job)
    except NotAvailable as fault:
        return f"{job.name}: {fault}"


if __name__ == "__main__":
    sys.exit(main())
