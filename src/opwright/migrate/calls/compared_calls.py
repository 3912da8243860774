"""What calls do with an original and with its port, compared, from the outcomes that processes left.

Those of the original alone show what is written, shared and recorded, and wrong fakes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from opwright.migrate.calls.outcomes import CallOutcome
from opwright.migrate.calls.stored_calls import StoredRecord

_Torch: TypeAlias = Any
#: What is kept of a result, and the text of an error.
_Tree: TypeAlias = "Sequence[Any]"
#: The kind of a difference, what it is about, and its text.
_Difference: TypeAlias = "tuple[str, str, str]"

#: How far values may be off, relative and absolute, by dtype. Compilers order sums otherwise.
_TOLERANCES: Final = {"float64": 1e-9, "complex128": 1e-9, "float32": 1e-4, "complex64": 1e-4}
_LOW_TOLERANCE: Final = 2e-2
#: What is said of calls, by the part of an outcome.
_PARTS: Final = {
    "fake": "with fake tensors",
    "compiled": "compiled",
    "vmap": "under `vmap`",
    "autocast": "under autocast",
}


def compare_outcomes(
    torch: _Torch, records: Sequence[StoredRecord], original: Mapping[int, CallOutcome], port: Mapping[int, CallOutcome]
) -> dict[str, Any]:
    """What was compared, the differences with the first call that shows them, and what was not compared."""
    comparison = _Comparison(torch)
    for number, record in enumerate(records):
        comparison.add(record.operator, original.get(number), port.get(number))
    return comparison.answer()


class _Comparison:
    def __init__(self, torch: _Torch) -> None:
        self._torch = torch
        self._calls: Counter[str] = Counter()
        self._parts: Counter[str] = Counter()
        self._skipped: Counter[str] = Counter()
        self._differences: dict[tuple[str, str, str], list[Any]] = {}

    def answer(self) -> dict[str, Any]:
        """The comparison as plain values."""
        return {
            "calls": dict(self._calls),
            "parts": dict(self._parts),
            "skipped": dict(self._skipped),
            "differences": [[*key, *told] for key, told in self._differences.items()],
        }

    def add(self, operator: str, old: CallOutcome | None, new: CallOutcome | None) -> None:
        """Compare a call of an operator."""
        if old is None or new is None or "damaged" in old or "damaged" in new or "missing" in old:
            why = "the call was not repeated" if old is None or new is None else "the call is damaged"
            why = "the original has no such operator" if old is not None and "missing" in old else why
            self._skipped[f"`{operator}`: {why}"] += 1
            return
        if "device" in old or "device" in new:
            self._skipped[f"a device is missing: {old.get('device') or new.get('device')}"] += 1
            return
        self._calls[operator] += 1
        lost = ("lost", "operator", "the port has no such operator")
        differences = [lost] if "missing" in new else [*self._of(old, new)]
        for kind, part, text in differences:
            if kind == "skipped":
                self._skipped[text.format(f"`{operator}`")] += 1
                continue
            # The text is that of the first call.
            told = self._differences.setdefault((kind, operator, part), [text, 0, old.get("shown", "")])
            told[1] += 1

    def _of(self, old: CallOutcome, new: CallOutcome) -> Iterator[_Difference]:
        if "ended" in old or "ended" in new:
            self._parts["calls"] += 1
            if old.get("ended") != new.get("ended"):
                ends = [
                    f"the process ends ({side['ended']})" if "ended" in side else "it does not" for side in (old, new)
                ]
                kind = "added" if "ended" in old else "lost"
                yield kind, "calls", f"{ends[0]} in the original, and {ends[1]} in the port"
            return
        values = "again" not in old or not self._call(old["eager"], old["again"])
        if not values:
            yield "skipped", "values", "values of {} differ between two runs of the original"
        self._parts["calls"] += 1
        yield from self._raised("calls", old["eager"], new["eager"])
        if "error" in old["eager"] or "error" in new["eager"]:
            return
        yield from [("changed", part, text) for part, text in self._call(old["eager"], new["eager"], values=values)]
        yield from self._versions(old["eager"], new["eager"])
        if "gradients" in old and "gradients" in new:
            self._parts["gradients"] += 1
            yield from self._gradients(old["gradients"], new["gradients"], values=values)
        if "tangents" in old and "tangents" in new:
            yield from self._tangents(old["tangents"], new["tangents"], values=values)
        for part in _PARTS:
            if part not in old or part not in new or not old[part] or not new[part]:
                continue
            self._parts[part] += 1
            yield from self._part(part, old, new, values=values and part != "fake")

    def _part(self, part: str, old: CallOutcome, new: CallOutcome, *, values: bool) -> Iterator[_Difference]:
        was, now = old[part], new[part]
        if "error" in was:
            if "error" not in now:
                wrong = self.results(new["eager"]["results"], now["results"], values=False) if part == "fake" else ""
                text = f"{_PARTS[part]}, it gives a result, and the original raises {_error(was)}"
                yield ("changed", part, f"its fake is wrong: {wrong}") if wrong else ("added", part, text)
        elif "error" in now:
            yield "lost", part, f"{_PARTS[part]}, it raises {_error(now)}"
        else:
            for _, text in self._call(was, now, values=values):
                yield "changed", part, f"{_PARTS[part]}, {text}"

    def _raised(self, part: str, old: CallOutcome, new: CallOutcome) -> Iterator[_Difference]:
        if "error" in old and "error" in new:
            if old["error"] != new["error"]:
                yield "changed", "error", f"it raises {_error(old)} in the original, and {_error(new)} in the port"
        elif "error" in old:
            yield "added", part, f"it gives a result, and the original raises {_error(old)}"
        elif "error" in new:
            yield "lost", "error", f"it raises {_error(new)}, and the original gives a result"

    def _call(self, old: CallOutcome, new: CallOutcome, *, values: bool = True) -> list[tuple[str, str]]:
        """How two calls differ, and in what: results, written arguments, shared memory."""
        if "error" in old or "error" in new:
            return [] if "error" in old and "error" in new else [("calls", "one call raises")]
        differences = []
        if text := self.results(old["results"], new["results"], values=values):
            differences.append(("results", f"results differ: {text}"))
        for before, after in zip(old.get("written", ()), new.get("written", ()), strict=False):
            name, _, was, _, old_value, *_ = before
            _, _, now, _, new_value, *_ = after
            if was != now:
                sides = ("original", "port") if was else ("port", "original")
                differences.append(("written", f"the {sides[0]} writes `{name}`, and the {sides[1]} does not"))
            elif was and (text := self.results(old_value, new_value, values=values)):
                differences.append(("written", f"`{name}` has something else in it afterwards: {text}"))
        if old.get("aliases") != new.get("aliases"):
            shown = [_aliases(side.get("aliases") or ()) for side in (old, new)]
            differences.append(("aliases", f"{shown[0]} in the original, and {shown[1]} in the port"))
        return differences

    def _versions(self, old: CallOutcome, new: CallOutcome) -> Iterator[_Difference]:
        for before, after in zip(old["written"], new["written"], strict=False):
            if before[1] and not after[1]:
                yield "lost", "versions", f"the version of `{before[0]}` counts in the original alone"
            elif after[1] and not before[1]:
                kind = "declared" if after[3] else "added"
                yield kind, "versions", f"the version of `{before[0]}` counts in the port alone"

    def _gradients(self, old: CallOutcome, new: CallOutcome, *, values: bool) -> Iterator[_Difference]:
        if "error" in old or "error" in new:
            called = "with arguments that require gradients, it"
            if "error" not in old:
                yield "lost", "gradients", f"{called} raises {_error(new)}"
            elif "error" not in new:
                yield "added", "gradients", f"{called} gives a result, and the original raises {_error(old)}"
            return
        for part, text in self._call(old, new, values=values):
            yield "changed", part, f"with arguments that require gradients, {text}"
        yield from self._views(old.get("views", ()), new.get("views", ()))
        was, now = old.get("first", {}), new.get("first", {})
        given, gives = _given(was), _given(now)
        if given and not gives:
            what = f"the backward pass raises {_error(now)}" if "error" in now else "it records no gradients"
            yield "lost", "gradients", f"{what}, and the original gives gradients"
        elif given:
            if text := self.results(was["results"], now["results"], values=values):
                kind = "lost" if "no tensor in the port" in text else "changed"
                yield kind, "gradients", f"gradients differ: {text}"
            self._parts["second gradients"] += 1
            was, now = old.get("second", {}), new.get("second", {})
            what = f"raise {_error(now)}" if "error" in now else "are not recorded"
            lost = f"second gradients {what}, and the original gives them"
            yield from self._derivatives("second gradients", was, now, lost, values=values)
        elif gives:
            yield "added", "gradients", "it gives gradients, and the original gives none"
        elif "error" in now and "error" not in was:
            kind = "raises" if old.get("warned") else "changed"
            yield kind, "gradients", f"the backward pass raises {_error(now)}, and the original gives no gradients"
        elif "error" in was and "error" not in now:
            text = f"the original raises {_error(was)} in the backward pass, and the port gives none"
            yield "lost", "gradients", text
        elif was.get("error") != now.get("error"):
            text = f"the backward pass raises {_error(was)} in the original, and {_error(now)} in the port"
            yield "changed", "gradients", text

    def _views(self, old: Sequence[bool], new: Sequence[bool]) -> Iterator[_Difference]:
        """The results that are views for autograd on one side alone: what is written into one reaches the other."""
        for number, (was, now) in enumerate(zip(old, new, strict=False)):
            if was != now:
                side = "original" if was else "port"
                kind = "lost" if was else "added"
                yield kind, "views", f"result {number} is a view for autograd in the {side} alone"

    def _tangents(self, was: CallOutcome, now: CallOutcome, *, values: bool) -> Iterator[_Difference]:
        """What differs in forward mode, where one side has derivatives in it."""
        if _given(was) or _given(now):
            self._parts["tangents"] += 1
        elif "error" not in was and "error" in now:
            yield "skipped", "tangents", "with tangents, the original of {} gives none, and the port raises"
        what = f"raises {_error(now)}" if "error" in now else "gives none"
        lost = f"with tangents, the original gives these of its results, and the port {what}"
        yield from self._derivatives("tangents", was, now, lost, values=values)

    def _derivatives(
        self, name: str, was: CallOutcome, now: CallOutcome, lost: str, *, values: bool
    ) -> Iterator[_Difference]:
        """What differs of derivatives of a kind. `lost` says that the original alone gives some."""
        given, gives = _given(was), _given(now)
        if given and not gives:
            yield "lost", name, lost
        elif given and (text := self.results(was["results"], now["results"], values=values)):
            yield "changed", name, f"{name} differ: {text}"
        elif gives and not given:
            yield "added", name, f"it gives {name}, and the original gives none"

    def results(self, old: _Tree, new: _Tree, *, values: bool = True) -> str:
        """How results differ; empty if they do not."""
        if old is None or new is None or old[0] != new[0]:
            shown = [_kind(side) for side in (old, new)]
            return f"{shown[0]} in the original, and {shown[1]} in the port"
        if old[0] == "list":
            if len(old[1]) != len(new[1]):
                return f"{len(old[1])} in the original, and {len(new[1])} in the port"
            texts = [self.results(*pair, values=values) for pair in zip(old[1], new[1], strict=True)]
            return next((f"number {at}: {text}" if texts[1:] else text for at, text in enumerate(texts) if text), "")
        if old[0] == "tensor":
            return self._tensors(old, new, values=values)
        if old[1:] == new[1:] or (old[1] != old[1] and new[1] != new[1]):
            return ""
        if isinstance(old[1], float) and isinstance(new[1], float):
            is_close = abs(old[1] - new[1]) <= 1e-9 * max(abs(old[1]), abs(new[1]))
            return "" if is_close or not values else f"{old[1]} in the original, and {new[1]} in the port"
        return f"{old[-1]!r} in the original, and {new[-1]!r} in the port"

    def _tensors(self, old: _Tree, new: _Tree, *, values: bool) -> str:
        for name, was, now in zip(("dtype", "sizes", "strides", "device"), _seen(old), _seen(new), strict=True):
            if was != now:
                return f"{name} {was} in the original, and {now} in the port"
        was, now = old[5], new[5]
        if not values or was is None or now is None:
            return ""
        if isinstance(was, list):
            return self.results(was, now, values=values)
        return self._values(old[1], was, now)

    def _values(self, dtype: str, was: Any, now: Any) -> str:  # noqa: ANN401
        torch = self._torch
        if torch.equal(was, now):
            return ""
        if not (was.is_floating_point() or was.is_complex()):
            return f"{int((was != now).sum())} of {was.numel()} values"
        tolerance = _TOLERANCES.get(dtype.rpartition(" ")[2], _LOW_TOLERANCE)
        kind = torch.complex128 if was.is_complex() else torch.float64
        was, now = was.to(kind), now.to(kind)
        scale = was.abs().nan_to_num(0, 0, 0).max().clamp(min=1) if was.numel() else 1
        is_close = torch.isclose(was, now, rtol=tolerance, atol=float(tolerance * scale), equal_nan=True)
        return "" if bool(is_close.all()) else f"{int((~is_close).sum())} of {was.numel()} values"


def _given(outcome: CallOutcome) -> bool:
    return "results" in outcome and any(part != ["plain", None] for part in outcome["results"][1])


def _error(outcome: CallOutcome) -> str:
    kind, text = outcome["error"]
    first = text.partition("\n")[0][:160]
    return f"`{kind}: {first}`" if first else f"`{kind}`"


def _kind(tree: _Tree | None) -> str:
    if tree is None or tree == ["plain", None]:
        return "no tensor"
    return {"list": "a list", "tensor": "a tensor", "plain": f"{tree[-1]!r}"}.get(tree[0], str(tree[1]))


def _seen(tensor: _Tree) -> list[Any]:
    """Dtype, sizes, strides and device, with the strides of dimensions of more than one element: others have any."""
    _, dtype, sizes, strides, device, *_ = tensor
    seen = [stride for size, stride in zip(sizes, strides, strict=False) if size > 1 and 0 not in sizes]
    return [dtype, sizes, seen, device]


def _aliases(aliases: Sequence[Sequence[Any]]) -> str:
    parts = []
    for result, other, is_same in aliases:
        what = f"`{other}`" if isinstance(other, str) else f"result {other}"
        parts.append(f"result {result} {'is' if is_same else 'has memory of'} {what}")
    return ", ".join(parts) or "no result shares memory"


def differing_shape(real: _Tree, fake: _Tree) -> str:
    """How the results of a trace differ from those of a call in dtype, sizes or strides; empty if they do not."""
    text = _Comparison(None).results(real, fake, values=False)
    return text.replace("in the original, and", "in a call, and").replace("in the port", "in a trace")


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
