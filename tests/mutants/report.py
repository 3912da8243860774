"""The report of a mutation run: survivors with their changes, and the score of each room."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tests.mutants.mutations import Mutant
from tests.test_layering import WINGS

_KILLED = ("killed", "timeout")


@dataclass(frozen=True)
class Result:
    """What became of a mutant: `killed`, `timeout`, `survived`, `unreached` by any test, or `equivalent`."""

    room: str
    mutant: Mutant
    outcome: str

    def entry(self) -> dict[str, object]:
        """The result as a file keeps it."""
        mutant = self.mutant
        entry: dict[str, object] = {"room": self.room, "outcome": self.outcome, "operator": mutant.operator}
        return entry | {"module": mutant.module, "line": mutant.line, "before": mutant.before, "after": mutant.after}

    @property
    def is_killed(self) -> bool:
        """Whether a test saw the mutant, by failing or by not coming to an end."""
        return self.outcome in _KILLED


def print_results(results: list[Result]) -> float:
    """Print the survivors and the table of scores. Returns the percentage of mutants in code that were killed."""
    for result in results:
        if result.outcome in ("survived", "unreached"):
            mutant = result.mutant
            print(f"\n{mutant.module}:{mutant.line}: {mutant.operator}, {result.outcome}")
            print(*(f"- {line}" for line in mutant.before.splitlines()), sep="\n")
            print(*(f"+ {line}" for line in mutant.after.splitlines()), sep="\n")
    print("\n| room | mutants | killed | score | equivalent | messages killed |\n| --- | --- | --- | --- | --- | --- |")
    rooms = sorted({_whole(result.room) for result in results})
    for room in rooms:
        print(_row(room, [result for result in results if _whole(result.room) == room]))
    print(_row("all", results))
    return _score([result for result in results if result.mutant.operator != "message"])


def _whole(room: str) -> str:
    """The room to which a part of a room counts.

    >>> [_whole(room) for room in ("emit/library", "tools/diff", "tools/diff/shims")]
    ['emit', 'tools/diff', 'tools/diff']
    """
    return "/".join(room.split("/")[: 2 if room.split("/")[0] in WINGS else 1])


def _row(name: str, results: list[Result]) -> str:
    code = [result for result in results if result.mutant.operator != "message"]
    messages = [result for result in results if result.mutant.operator == "message"]
    counted = [result for result in code if result.outcome != "equivalent"]
    killed = sum(result.is_killed for result in counted)
    of_messages = f"{sum(result.is_killed for result in messages)} of {len(messages)}" if messages else ""
    score = f"{_score(code):.0f}%" if counted else ""
    outcomes = Counter(result.outcome for result in code)
    return f"| {name} | {len(counted)} | {killed} | {score} | {outcomes['equivalent'] or ''} | {of_messages} |"


def _score(results: list[Result]) -> float:
    counted = [result for result in results if result.outcome != "equivalent"]
    return 100 * sum(result.is_killed for result in counted) / len(counted) if counted else 100.0
