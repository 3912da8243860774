"""The report about replayed wheels, as text or as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tests.conformance.report import table
from tests.vendor_replay.compare import Difference, FileComparison, Verdict
from tests.vendor_replay.replay import Replayed

COLUMNS = ("files of", "files", *[verdict.value for verdict in Verdict], "declarations", "equal", "share")
UNEXPLAINED = "no reason is known"
LISTED = 10


def print_replayed(replayed: Replayed, *, markdown: bool) -> str:
    """The report about one wheel: a table, the differences by reason, and what is not compared."""
    title = f"{replayed.vendor.name} {replayed.version}"
    lines = [f"## {title}" if markdown else f"== {title}", ""]
    lines += [*_table(replayed), ""]
    lines += [*_section("Differences", _difference_lines(replayed))]
    lines += [*_section("Not compared", [f"{name}: {reason}" for name, reason in replayed.left_out.items()])]
    lines += [*_section("Entries that are not taken", replayed.notes)]
    codes = [f"{code}: {count}" for code, count in sorted(replayed.diagnostics.items())]
    return "\n".join([*lines, *_section("Diagnostics", codes)])


def print_summary(replays: Sequence[Replayed]) -> str:
    """A row for each wheel."""
    rows = []
    for replayed in replays:
        rows.append((f"{replayed.vendor.name} {replayed.version}", *_numbers(replayed.comparisons)))
    return "\n".join(table(("wheel", *COLUMNS[1:]), rows))


def reason_of(replayed: Replayed, path: str, difference: Difference) -> str:
    """Why a file has a difference; empty if no reason is known."""
    reasons = (reason.text for reason in replayed.vendor.reasons if reason.explains(path, difference))
    return next(reasons, "")


def unexplained(replayed: Replayed) -> list[tuple[str, Difference]]:
    """The differences without a reason, each with its file."""
    return [
        (comparison.path, difference)
        for comparison in replayed.comparisons
        for difference in comparison.differences
        if not reason_of(replayed, comparison.path, difference)
    ]


def _table(replayed: Replayed) -> Iterable[str]:
    rows = [(group.title, *_numbers(comparisons)) for group, comparisons in replayed.groups.items()]
    return table(COLUMNS, [*rows, ("all", *_numbers(replayed.comparisons))])


def _numbers(comparisons: Sequence[FileComparison]) -> Iterator[str]:
    """The cells of a row: files by verdict, declarations, and the share of those that are equal."""
    yield str(len(comparisons))
    for verdict in Verdict:
        count = sum(comparison.verdict is verdict for comparison in comparisons)
        yield str(count) if count else "-"
    functions = sum(comparison.functions for comparison in comparisons)
    equal = sum(comparison.equal for comparison in comparisons)
    yield str(functions)
    yield str(equal)
    yield f"{100 * equal / functions:.2f}%" if functions else "-"


def _difference_lines(replayed: Replayed) -> list[str]:
    """A line for each kind of difference and name, with the reason and the files."""
    places: dict[str, list[str]] = {}
    for comparison in replayed.comparisons:
        for difference in comparison.differences:
            reason = reason_of(replayed, comparison.path, difference)
            if reason:
                text = f"{difference.kind.value}: {reason}: `{difference.name}`"
            else:
                sides = [item.text for item in (difference.theirs, difference.ours) if item is not None]
                text = f"{difference.kind.value}: {UNEXPLAINED}: `{' | '.join(sides)}`"
            places.setdefault(text, []).append(comparison.path)
    return [f"{text} in {_listing(paths)}" for text, paths in places.items()]


def _listing(paths: Sequence[str]) -> str:
    rest = len(paths) - LISTED
    return ", ".join(paths[:LISTED]) + (f" and {rest} more" if rest > 0 else "")


def _section(title: str, lines: Sequence[str]) -> list[str]:
    """A list under a title; nothing without lines."""
    return [f"{title}:", "", *[f"- {line}" for line in lines], ""] if lines else []
