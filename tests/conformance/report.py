"""What a run of the comparison prints: a table per job with a row per family, then the first difference."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.conformance.compare import Tally
from tests.conformance.runner import Result

COLUMNS = ("family", "files", "identical", "different", "missing", "extra")
LISTED_PATHS = 5


def print_result(result: Result) -> str:
    """The outcome of one job as text that a person reads."""
    verdict = "identical" if result.is_clean else "failed" if result.failure else "DIFFERENT"
    times = f"reference {result.reference_seconds:.1f} s, opwright {result.seconds:.1f} s"
    lines = [f"== {result.job.name}: {verdict} ({times})"]
    if result.failure:
        return "\n".join([*lines, result.failure, ""])
    comparison = result.comparison
    rows = [tally_row(name, tally) for name, tally in sorted(comparison.tallies.items())]
    rows.append(tally_row("all", comparison.total()))
    lines.extend(table(COLUMNS, rows))
    for kind, paths in (
        ("different", comparison.different),
        ("missing", comparison.missing),
        ("extra", comparison.extra),
    ):
        if paths:
            lines.append(f"{kind}: {listing(paths)}")
    if comparison.first_difference:
        lines.extend(("", comparison.first_difference))
    return "\n".join([*lines, ""])


def tally_row(name: str, tally: Tally) -> tuple[str, ...]:
    """One row of the table."""
    numbers = (tally.files, tally.identical, tally.different, tally.missing, tally.extra)
    return (name, *(str(number) if number else "-" for number in numbers))


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> Iterable[str]:
    """The rows as a Markdown table whose columns line up: the first ones to the left, the others to the right."""
    widths = [max(len(row[position]) for row in (columns, *rows)) for position in range(len(columns))]
    rule = ["-" * width for width in widths]
    for row in (columns, rule, *rows):
        pairs = list(zip(row, widths, strict=True))
        cells = [cell.ljust(width) for cell, width in pairs[:left]] + [
            cell.rjust(width) for cell, width in pairs[left:]
        ]
        yield "| " + " | ".join(cells) + " |"


def listing(paths: Sequence[str]) -> str:
    """The first few of many paths."""
    rest = len(paths) - LISTED_PATHS
    return ", ".join(paths[:LISTED_PATHS]) + (f" and {rest} more" if rest > 0 else "")


def print_summary(results: Sequence[Result]) -> str:
    """One row for each job, and what to do about those that failed."""
    rows = []
    for result in results:
        total = result.comparison.total()
        verdict = "identical" if result.is_clean else "FAILED" if result.failure else "DIFFERENT"
        rows.append((result.job.name, str(total.files), str(total.identical), verdict))
    lines = list(table(("job", "files", "identical", "verdict"), rows))
    files = sum(result.comparison.total().files for result in results)
    identical = sum(result.comparison.total().identical for result in results)
    bad = sum(not result.is_clean for result in results)
    lines.append(f"{len(results)} jobs, {files} files, {identical} identical; {bad} jobs failed or differ")
    return "\n".join(lines)
