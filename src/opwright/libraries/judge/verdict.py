"""What a judge says of a candidate, as a value, as text, and as JSON."""

from __future__ import annotations

import json
from typing import Any, Final

from opwright.dialects.field import (
    FLAG,
    TEXT,
    Field,
    JsonSchema,
    choice,
    dialect_schema,
    list_of_schema,
    mapping_schema,
)
from opwright.source.records import NamedTuple

ACCEPTED: Final = "accepted"
REFUSED: Final = "refused"
UNDECIDED: Final = "undecided"

#: The exit status of the program for each verdict.
STATUSES: Final = {ACCEPTED: 0, REFUSED: 1, UNDECIDED: 3}
#: The version of the JSON document.
VERSION: Final = 1


class Finding(NamedTuple):
    """What a judge found: by which check, on which sample, and a script that shows it without Opwright.

    If a number is wrong, `found`, `expected` and `allowed` are that number, the right one, and how far it may be off.
    """

    check: str
    text: str
    sample: str = ""
    found: str = ""
    expected: str = ""
    allowed: float | None = None
    script: str = ""


class Timing(NamedTuple):
    """How long calls take on one sample, in seconds: the candidate's, and what it is compared with."""

    sample: str
    candidate: float
    other: float

    @property
    def ratio(self) -> float:
        """How many times as fast the candidate is."""
        return self.other / self.candidate if self.candidate else float("inf")


class Verdict(NamedTuple):
    """The verdict about a candidate: `accepted`, `refused` with a finding, or `undecided` with the reason.

    `compared` counts the calls of each check, `not_compared` says which checks were left out and why, and `isolated`
    what the worker was kept away from. The same seed gives the same verdict.

    >>> verdict = Verdict("undecided", "acme::f", "f.py", 0, why="the entry has no reference")
    >>> verdict.status, print(verdict)
    undecided: f.py as acme::f (seed 0)
      the entry has no reference
    (3, None)
    """

    verdict: str
    operator: str
    candidate: str
    seed: int
    form: str = ""
    finding: Finding | None = None
    why: str = ""
    compared: tuple[tuple[str, int], ...] = ()
    not_compared: tuple[tuple[str, str], ...] = ()
    isolated: tuple[tuple[str, bool], ...] = ()
    timings: tuple[Timing, ...] = ()

    @property
    def status(self) -> int:
        """The exit status of the program: 0 accepted, 1 refused, 3 undecided."""
        return STATUSES[self.verdict]

    def __bool__(self) -> bool:
        return self.verdict == ACCEPTED

    def __str__(self) -> str:
        lines = [f"{self.verdict}: {self.candidate} as {self.operator} (seed {self.seed})"]
        finding = self.finding
        if finding is not None:
            lines += [f"  {finding.check}: {finding.text}"]
            lines += [f"  sample: {finding.sample}"] if finding.sample else []
            lines += ["  replay:", *[f"    {line}" for line in finding.script.splitlines()]] if finding.script else []
        if self.why:
            lines += [f"  {self.why}"]
        if self.compared:
            counts = ", ".join([f"{check} {count}" for check, count in self.compared])
            lines += [f"  compared: {counts}"]
        lines += [f"  not compared: {check}: {reason}" for check, reason in self.not_compared]
        open_doors = [name for name, is_closed in self.isolated if not is_closed]
        if open_doors:
            lines += [f"  the worker was not kept away from: {', '.join(open_doors)}"]
        for timing in self.timings:
            times = f"{timing.candidate * 1e6:.1f} us, beside {timing.other * 1e6:.1f} us"
            lines += [f"  {timing.ratio:.2f} times as fast: {times} ({timing.sample})"]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The verdict as the JSON document has it, see `opwright schema accept`."""
        document: dict[str, Any] = {
            "version": VERSION,
            "verdict": self.verdict,
            "operator": self.operator,
            "candidate": self.candidate,
            "seed": self.seed,
            "form": self.form,
            "why": self.why,
            "finding": None if self.finding is None else self.finding._asdict(),
            "compared": dict(self.compared),
            "not_compared": dict(self.not_compared),
            "isolated": dict(self.isolated),
        }
        if self.timings:
            document["timings"] = [{**timing._asdict(), "ratio": timing.ratio} for timing in self.timings]
        return document

    def as_json(self) -> str:
        """The JSON document."""
        return json.dumps(self.as_dict(), indent=2)


def _field(name: str, schema: JsonSchema, help: str) -> Field:
    return Field(name, "", schema, help, is_required=True)


_NUMBER: Final[JsonSchema] = {"type": "number"}
_FINDING: Final = (
    _field("check", TEXT, "Which check found it."),
    _field("text", TEXT, "What was found, in a sentence."),
    _field("sample", TEXT, "The arguments of the call: dtypes, sizes, strides, numbers."),
    _field("found", TEXT, "The first wrong number; empty if none is."),
    _field("expected", TEXT, "What is right there."),
    _field("allowed", {"type": ["number", "null"]}, "How far the number may be off."),
    _field("script", TEXT, "Five lines of Python that replay the call without Opwright."),
)
_TIMING: Final = (
    _field("sample", TEXT, "The arguments of the call."),
    _field("candidate", _NUMBER, "Seconds of a call of the candidate."),
    _field("other", _NUMBER, "Seconds of a call of what it is compared with."),
    _field("ratio", _NUMBER, "How many times as fast the candidate is."),
)
_FINDING_OR_NONE: Final = {"anyOf": [{"$ref": "#/$defs/finding"}, {"type": "null"}]}
_COUNTS: Final = {"type": "object", "additionalProperties": {"type": "integer"}}
_REASONS: Final = {"type": "object", "additionalProperties": TEXT}
_FLAGS: Final = {"type": "object", "additionalProperties": FLAG}
_VERDICT: Final = (
    _field("version", {"enum": [VERSION]}, "The version of the form of the document."),
    _field("verdict", choice(*STATUSES), "The verdict."),
    _field("operator", TEXT, "The operator of the entry."),
    _field("candidate", TEXT, "What was judged."),
    _field("seed", {"type": "integer"}, "What calls were drawn from."),
    _field("form", TEXT, "`function` or `operator`; empty if the candidate was not loaded."),
    _field("why", TEXT, "Why nothing is decided."),
    _field("finding", _FINDING_OR_NONE, "Why the candidate is refused."),
    _field("compared", _COUNTS, "How many calls each check compared."),
    _field("not_compared", _REASONS, "The checks that were left out, with reasons."),
    _field("isolated", _FLAGS, "What the worker was kept away from."),
    Field("timings", "", list_of_schema({"$ref": "#/$defs/timing"}), "Times of calls, with `--speed`."),
)


def json_schema() -> dict[str, object]:
    """Schema of what `opwright accept --format json` prints."""
    return dialect_schema(
        f"Verdict of Opwright's judge of kernels, version {VERSION}",
        mapping_schema(_VERDICT),
        finding=mapping_schema(_FINDING),
        timing=mapping_schema(_TIMING),
    )
