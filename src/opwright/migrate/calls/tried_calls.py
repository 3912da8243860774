"""What calls of an original show of its operators: what is written, shared and recorded, and wrong fakes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from opwright.migrate.calls.compared_calls import differing_shape
from opwright.migrate.calls.outcomes import CallOutcome
from opwright.migrate.calls.stored_calls import StoredRecord


def tried_facts(records: Sequence[StoredRecord], outcomes: Mapping[int, CallOutcome]) -> dict[str, Any]:
    """How many calls of each operator gave results, and what how many of them show, by the operator.

    A fact is a word and the name of an argument: `writes` one that the schema does not say, `declared` one that the
    schema says, `leaves` one that has bytes as it is, gets one whose elements share memory, which is written in some
    call (`overlaps`), `returns` one, `shares` memory with one, `records` gradients of a result, or of a written
    argument, through the kernel of a device or `loses` all of them, or has a `fake` that is wrong.
    """
    calls: Counter[str] = Counter()
    facts: dict[str, Counter[tuple[str, str]]] = {}
    for number, record in enumerate(records):
        outcome = outcomes.get(number, {})
        eager = outcome.get("eager")
        if eager is None or "error" in eager:
            continue
        calls[record.operator] += 1
        facts.setdefault(record.operator, Counter()).update(set(_facts(eager, outcome)))
    shown = {
        operator: [
            [*fact, count]
            for fact, count in counted.items()
            if fact[0] != "overlaps" or counted["writes", fact[1]] or counted["declared", fact[1]]
        ]
        for operator, counted in facts.items()
    }
    return {"calls": dict(calls), "facts": shown}


def _facts(eager: CallOutcome, outcome: CallOutcome) -> Iterator[tuple[str, str]]:
    for name, counts, is_changed, is_declared, _, size, is_shared in eager["written"]:
        if is_shared:
            yield "overlaps", name
        if is_changed:
            yield "declared" if is_declared else "writes", name
        elif size and not counts:
            yield "leaves", name
    for _, name, is_same in eager["aliases"]:
        if isinstance(name, str):
            yield "returns" if is_same else "shares", name
    gradients = outcome.get("gradients", {})
    first = gradients.get("first", {}) if gradients.get("through") else {}
    if any(part != ["plain", None] for part in first.get("results", ["list", []])[1]):
        yield "records", ""
    if gradients and "error" not in gradients and not gradients["through"]:
        yield "loses", ""
    fake = outcome.get("fake", {})
    if "results" in fake and (text := differing_shape(eager["results"], fake["results"])):
        yield "fake", text
