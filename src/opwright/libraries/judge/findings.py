"""Findings: what is wrong with a candidate, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from opwright.libraries.judge.drawing import Case
from opwright.libraries.judge.verdict import Finding
from opwright.libraries.judge.worker.protocol import JsonMessage

_VARIABLES_OF_PYTORCH: Final = ("TORCH", "PYTORCH", "TRITON", "KINETO")
#: The name of PyTorch's random numbers among what a process has set.
RANDOM_NUMBERS: Final = "PyTorch's random numbers"


class Found(Exception):
    """Raised with a finding that ends the judgement."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.text)
        self.finding: Final = finding


class Unjudged(Exception):
    """Raised with the reason why nothing can be said of a candidate."""


def finding_about(check: str, case: Case, text: str, script: str = "", outcome: JsonMessage | None = None) -> Finding:
    """A finding about a call. `outcome` is what the oracle says of its results."""
    details = outcome or {}
    number, right = str(details.get("found", "")), str(details.get("expected", ""))
    return Finding(check, text, f"{case.text} ({case.recipe})", number, right, details.get("allowed"), script)


def state_faults(before: JsonMessage, after: JsonMessage, when: str, *, with_environment: bool) -> Iterator[str]:
    """What a process has set otherwise than before."""
    for name, value in before.items():
        other = after.get(name)
        if name == "functions":
            changed = [key for key in _changed_keys(value, other) if key in value]
            if changed:
                yield f"the candidate replaces {', '.join([f'`{key}`' for key in changed[:5]])} {when}"
        elif name == "environment":
            # What PyTorch imports when it is needed sets variables of its own.
            changed = [key for key in _changed_keys(value, other) if not key.startswith(_VARIABLES_OF_PYTORCH)]
            if with_environment and changed:
                yield f"the candidate changes the variables {', '.join(changed[:5])} {when}"
        elif value != other:
            yield f"the candidate changes {name} {when}: {value} becomes {other}"[:300]


def _changed_keys(before: JsonMessage, after: object) -> list[str]:
    current = after if isinstance(after, dict) else {}
    return [key for key in {**before, **current} if before.get(key) != current.get(key)]


def trace_fault(facts: list[JsonMessage], traced: list[JsonMessage]) -> str:
    """Where results have other dtypes, sizes and strides than in a trace."""
    if len(facts) != len(traced):
        return f"there are {len(facts)} results, and {len(traced)} in traces"
    for place, (fact, expected) in enumerate(zip(facts, traced, strict=True)):
        for name in ("dtype", "shape", "stride"):
            is_known = not isinstance(expected[name], list) or None not in expected[name]
            if is_known and fact[name] != expected[name] and 0 not in fact["shape"]:
                return f"the {name} of result {place} is {fact[name]}, and {expected[name]} in traces"
    return ""
