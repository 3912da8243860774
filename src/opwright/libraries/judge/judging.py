"""Judges a candidate: draws calls once it is loaded, has workers call it, and asks the oracle about the results."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from opwright.libraries.emit.python.fakes import has_fake
from opwright.libraries.entry_fields import library_fields, requirements_of
from opwright.libraries.judge.calls import CandidateCalls, has_results, more_results
from opwright.libraries.judge.candidates import Candidate, NotBuilt, built, sanitizer_environment
from opwright.libraries.judge.cases import DrawnCases
from opwright.libraries.judge.drawing import Case, Recipe
from opwright.libraries.judge.entry import JudgedEntry, oracle_facts
from opwright.libraries.judge.findings import RANDOM_NUMBERS, Found, Unjudged, state_faults, trace_fault
from opwright.libraries.judge.processes import CallTooSlow, Desk, Ended, ProcessFailed, WorkerLimits, WorkerProcess
from opwright.libraries.judge.timing import compared_candidate, timings
from opwright.libraries.judge.verdict import ACCEPTED, REFUSED, UNDECIDED, Finding, Timing, Verdict
from opwright.libraries.judge.worker.protocol import JsonMessage
from opwright.schema.function import Return
from opwright.source.records import NamedTuple

#: The bytes that new memory has, as the allocator of the GNU C library is told: two that no number is like.
_POISONS: Final = (0x2A, 0xD5)
#: How often a candidate is called in one process, if there is time.
_MANY: Final = 1100
#: In how many pairs of calls threads meet, how often two call a candidate before the call that is compared, and how
#: many times longer a call takes beside another one.
_PAIRS, _TOGETHER, _BESIDE = 6, 30, 4
#: How many calls give results that are kept, for each of two calls by turns.
_HELD: Final = 24
#: At how many steps a call stops for another one, how many times longer it takes then, and how many at least.
_STEPS, _STEPPED, _LEAST_STEPS = 16, 10, 3
#: Samples that are judged of each candidate, however slow it is, and those that are judged again in a fresh process.
_SAMPLES, _FRESH = 16, 3
#: Seconds of processors for the calls of each check.
_SHARES: Final = {
    "values": 16.0,
    "same pointers": 5.0,
    "other pointers": 2.0,
    "same pointers, many values": 2.0,
    "kept results": 3.0,
    "settings": 3.0,
    "interrupted calls": 3.0,
    "calls together": 4.0,
    "many calls": 6.0,
    "fresh process": 4.0,
}
#: Seconds for many calls, and for those that stop, of a candidate that waits.
_MANY_SECONDS, _INTERRUPTED_SECONDS = 20.0, 10.0


class JudgeOptions(NamedTuple):
    """How a candidate is judged."""

    seed: int = 0
    limits: WorkerLimits = WorkerLimits()
    seconds: float = 60.0
    folders: tuple[str, ...] = ()
    speed: str | None = None
    sanitize: bool = False


class Judgement:
    """The judgement of one candidate."""

    def __init__(self, entry: JudgedEntry, candidate: Candidate, desk: Desk, options: JudgeOptions) -> None:
        self._entry: Final = entry
        self._calls: Final = CandidateCalls(entry, candidate, desk, options.limits, options.folders)
        self._desk: Final = desk
        self._options: Final = options
        self._left_out: Final[dict[str, str]] = {}
        self._cases: Final = DrawnCases(entry, desk, options.seed, self._left_out)
        self._deadline = 0.0
        self._timings: list[Timing] = []

    def run(self) -> Verdict:
        """The verdict."""
        self._deadline = time.monotonic() + self._options.seconds
        verdict, finding, why = ACCEPTED, None, ""
        try:
            self._judge()
        except Found as outcome:
            verdict, finding = REFUSED, outcome.finding
        except (Unjudged, ProcessFailed, CallTooSlow) as reason:
            verdict, why = UNDECIDED, str(reason)
        return Verdict(
            verdict,
            f"{self._entry.function.namespace}::{self._entry.name}",
            self._calls.candidate.name,
            self._options.seed,
            self._calls.form,
            finding,
            why,
            tuple(self._calls.compared.items()),
            tuple(self._left_out.items()),
            tuple(self._desk.isolated.items()),
            tuple(self._timings),
        )

    def _judge(self) -> None:
        if library_fields(self._entry.function).reference is None:
            raise Unjudged("the entry has no reference, so nothing says what is right")
        # Both start at the same time.
        try:
            self._calls.start()
        except NotBuilt as error:
            raise Unjudged(str(error)) from None
        facts = oracle_facts(self._entry, self._options.folders)
        try:
            self._desk.oracle.ask(facts)
        except ProcessFailed as error:
            raise Unjudged(f"the reference cannot be loaded: {error}") from None
        source = self._calls.candidate if self._calls.candidate.kind == "source" else None
        if source is not None:
            try:
                self._calls.candidate = built(source, self._entry)
            except NotBuilt as error:
                if not error.is_mistake:
                    raise Unjudged(str(error)) from None
                raise Found(Finding("compile", str(error))) from None
            self._deadline = time.monotonic() + self._options.seconds
        first = self._calls.worker()
        try:
            before = first.ask({"do": "state"})
            if "error" in before:
                raise ProcessFailed(f"{before['error']}: {before.get('text')}")
            self._calls.load(first)
            loaded = first.ask({"do": "state"})
            self._compare_states(before, loaded, "when it is loaded", with_environment=False)
            self._cases.form = self._calls.form
            self._check_values(first)
            self._check_children(first)
            self._check_pointers(first)
            self._check_kept(first)
            self._check_batches(first)
            self._check_settings(first)
            self._check_threads(first)
            self._check_many(first)
            self._compare_states(loaded, first.ask({"do": "state"}), "when it is called", with_environment=True)
            self._check_children(first)
        except Ended as ended:
            raise Found(Finding("process", str(ended))) from None
        finally:
            first.close()
        self._check_fresh()
        self._check_gradients()
        if self._calls.form == "operator":
            self._check_transforms()
            self._check_refusals()
        if source is not None:
            self._check_sanitized(source)
        if self._options.speed is not None:
            other = compared_candidate(self._options.speed, self._entry, self._options.folders)
            self._timings += timings(self._calls, self._entry, other, self._cases.all)

    # Checks

    @contextmanager
    def _worker(
        self,
        check: str,
        *,
        clock: int = 0,
        seconds: float | None = None,
        environment: Mapping[str, str] | None = None,
        candidate: Candidate | None = None,
    ) -> Iterator[WorkerProcess]:
        """A fresh worker that has loaded the candidate. Raises Found where it ends."""
        worker = self._calls.worker(seconds=seconds, environment=environment)
        try:
            self._calls.load(worker, clock, candidate)
            yield worker
        except Ended as ended:
            raise Found(Finding(check, str(ended))) from None
        finally:
            worker.close()

    def _fitting(self, check: str, cases: Sequence[Case], least: int) -> Sequence[Case]:
        """The first ones of some calls: as many as fit into the time for a check."""
        count = self._calls.pace.fitting(cases, _SHARES[check], least)
        if count < len(cases):
            self._left_out[check] = f"the candidate is slow: {count} calls in place of {len(cases)}"
        return cases[:count]

    def _times(self, check: str, case: Case, most: int, least: int, calls: int = 1) -> int:
        """How often something is done that takes as long as some calls."""
        number = self._calls.pace.times(case, _SHARES[check] / calls, most, least)
        if number < most:
            self._left_out[check] = f"the candidate is slow: {number} in place of {most}"
        return number

    def _check_values(self, worker: WorkerProcess) -> None:
        pace, judged = self._calls.pace, list[Case]()
        left = _SHARES["values"]
        for case in self._cases.drawn():
            if pace.is_too_slow(case):
                self._left_out["some large sizes"] = "the candidate is slow"
                continue
            if len(judged) >= _SAMPLES and left < 2 * pace.cost(case):
                self._left_out["values"] = f"the candidate is slow: {len(judged)} samples fit into the time"
                break
            judged.append(case)
            self._check_sample(worker, case)
            left -= 2 * pace.cost(case)
            if pace.is_slow_for_large:
                self._cases.is_lean = True
                self._left_out["some large sizes"] = "the candidate is slow"
        if not judged:
            raise Unjudged(f"no call can be drawn ({self._cases.why}): add `dims`, or `samples`")
        self._cases.all[:] = judged

    def _check_sample(self, worker: WorkerProcess, case: Case) -> None:
        """Call with two poisons, and read the results late once."""
        first = self._calls.call(worker, case, "values", settings={"poison": _POISONS[0]})
        if self._late():
            self._left_out["values"] = "the time is over"
            raise Unjudged("the candidate is too slow: not all drawn calls fit into the time")
        settings = {"poison": _POISONS[1]}
        try:
            # Results are read once the memory of the arguments has other values: they share none, and are complete.
            second = self._calls.call(worker, case, "aliasing", side="start", settings=settings, late=True)
        except Found:
            self._calls.call(worker, case, "unwritten memory", side="start", settings=settings)
            raise
        self._calls.compared["unwritten memory"] += 1
        is_exact = not self._is_random() and "nondeterministic_bitwise" not in self._entry.function.tags
        if first != second and is_exact:
            # Rounding may differ with alignment; results of the same call may not.
            again = [self._calls.call(worker, case, "determinism", side="start", settings=settings) for _ in range(2)]
            if again[0] != again[1]:
                text = "the same call gives other results each time: the tag `nondeterministic_bitwise` allows that"
                raise Found(self._calls.finding("determinism", case, text))

    def _late(self) -> bool:
        return time.monotonic() > self._deadline

    @property
    def _returns(self) -> tuple[Return, ...]:
        return self._entry.function.schema.returns

    def _is_random(self) -> bool:
        return "nondeterministic_seeded" in self._entry.function.tags

    def _check_pointers(self, worker: WorkerProcess) -> None:
        """The same pointers with new values, the same values at new pointers, and both by turns."""
        same: list[Case] = []
        others: list[Case] = []
        for case in self._cases.small(3):
            other = self._cases.again(case) or case
            same += [case, other, case, other, *[turn for near in self._cases.nearly(case) for turn in (near, case)]]
            others += [case, other, case, other]
        self._call_by_turns(worker, self._fitting("same pointers", same, 8))
        for number, turn in enumerate(self._fitting("other pointers", others, 4)):
            side = ("end", "start")[number // 2 % 2]
            self._calls.call(worker, turn, "other pointers", arena=f"q{number % 2}", side=side)
        # Who looks at a part of the values sees all of small tensors.
        many = [turn for case in self._cases.medium() for near in self._cases.nearly(case) for turn in (case, near)]
        self._call_by_turns(worker, self._fitting("same pointers, many values", many, 4))

    def _call_by_turns(self, worker: WorkerProcess, turns: Sequence[Case]) -> None:
        """Calls whose tensors are where those of the one before were, if they have the same sizes."""
        before: dict[str, Case] = {}
        for turn in turns:
            after = [case for case in before.values() if case.text == turn.text]
            self._calls.call(worker, turn, "same pointers", arena="p", after=after)
            before[turn.script] = turn

    def _check_kept(self, worker: WorkerProcess) -> None:
        """Results are those of their calls after other calls too."""
        if all(result.annotation is not None and result.annotation.is_write for result in self._returns):
            return
        (case,) = self._cases.small(1)
        turns = self._fitting("kept results", [case, self._cases.again(case) or case] * _HELD, 8)
        for number, turn in enumerate(turns):
            message, _ = self._calls.place(worker, turn, "end", f"k{number % 2}", {"held": True})
            self._calls.ask(worker, message, "aliasing", turn, {})
        answer = self._calls.ask(worker, {"do": "read", "held": True}, "aliasing", case, {})
        if not has_results(answer, len(turns)):
            raise Found(self._calls.finding("aliasing", case, "the results of some calls cannot be read after others"))
        for number, (turn, rows) in enumerate(zip(turns, answer["results"], strict=True)):
            what = {"kept": turns[number - 1]}
            self._calls.compare_results(worker, turn, "aliasing", rows, f"k{number % 2}", what)

    def _check_batches(self, worker: WorkerProcess) -> None:
        """Elements of a batch are what they are alone."""
        requirements = requirements_of(self._entry.function)
        loops = None if requirements is None else requirements.loops()
        is_plain = not self._entry.function.arguments.writes
        if not self._cases.can_draw or loops is None or not is_plain or self._is_random():
            self._left_out["batches"] = "no results have dimensions `*b` that are computed alone"
            return
        if any(place.before or place.broadcasts for place in loops.arguments.values()) or None in loops.results:
            self._left_out["batches"] = "the dimensions `*b` do not come first everywhere"
            return
        dtypes, random = self._cases.dtypes, self._cases.random("rows")
        for number, fill in enumerate(("normal", "scales", "nan", "normal")):
            count = (5, 64, 7, 33)[number]
            recipe = Recipe("odd", dtypes[number % len(dtypes)], fill, batch=(count,))
            case = self._cases.draw(recipe, f"batches {number}")
            if case is None or self._calls.pace.is_too_slow(case):
                continue
            message, _ = self._calls.place(worker, case, "end", "b", {})
            answer = self._calls.ask(worker, message, "batches", case, {})
            self._calls.compare(worker, case, "batches", answer, "b", {})
            rows = sorted({0, count - 1, random.randrange(count), random.randrange(count)})
            asked = {
                "do": "rows",
                "case": case.number,
                "results": answer["results"][0],
                "rows": rows,
                "count": count,
                "arguments": dict.fromkeys(loops.arguments, 0),
                "places": [None if place is None else 0 for place in loops.results],
            }
            outcome = self._desk.oracle.ask(asked, [worker.results])
            if outcome["fault"]:
                raise Found(self._calls.finding("batches", case, outcome["fault"], {}, outcome))

    def _check_settings(self, worker: WorkerProcess) -> None:
        """Other settings of the process: default dtypes, numbers of threads, inference mode."""
        kinds = ({"dtype": "float64"}, {"dtype": "bfloat16"}, {"threads": 1}, {"threads": 4}, {"inference": True})
        cases = [case for case in self._cases.small(3) for _ in kinds]
        for number, case in enumerate(self._fitting("settings", cases, len(kinds))):
            self._calls.call(worker, case, "settings", settings=kinds[number % len(kinds)])

    def _check_threads(self, worker: WorkerProcess) -> None:
        """Calls from other threads, and from several at the same time."""
        cases = self._cases.small(4)
        for case in cases[:2]:
            self._calls.call(worker, case, "other threads", settings={"other": True})
        if len(cases) < 2:
            cases *= 2
        # What each run finds comes before what some do.
        self._check_interrupted(worker, cases)
        random = self._cases.random("threads")
        # The more calls there are, the more of them meet.
        before = self._times("calls together", cases[0], 1 + _TOGETHER, 1, 2 * _PAIRS * _BESIDE) - 1
        for _ in range(_PAIRS):
            pair = random.sample(cases, 2)
            calls = [self._calls.place(worker, case, "end", f"t{place}", {})[0] for place, case in enumerate(pair)]
            likes = [str(call["like"]) for call in calls]
            calls = [{**call, "before": before} for call in calls]
            message, what = {"do": "together", "calls": calls}, {"beside": pair[1]}
            answer = self._calls.ask(worker, message, "other threads", pair[0], what, likes)
            if not has_results(answer, len(calls)):
                text = f"a call beside another one raises {answer.get('error')}: {answer.get('text')}"
                raise Found(self._calls.finding("other threads", pair[0], text, what))
            results = [*enumerate(answer["results"]), *more_results(answer)]
            for place, rows in [(place, rows) for place, rows in results if 0 <= place < len(pair)]:
                what = {"beside": pair[1 - place]}
                self._calls.compare_results(worker, pair[place], "other threads", rows, f"t{place}", what)

    def _check_interrupted(self, worker: WorkerProcess, cases: list[Case]) -> None:
        """Calls that stop at each of some steps in Python while another thread makes a call."""
        until = time.monotonic() + _INTERRUPTED_SECONDS
        random, waits = self._cases.random("steps"), 0
        most = self._times("interrupted calls", cases[0], _STEPS, _LEAST_STEPS, 4 * _STEPPED)
        for first, second in ((cases[0], self._cases.again(cases[0]) or cases[1]), (cases[1], cases[0])):
            steps = [1]
            while steps and waits < 2 and time.monotonic() < until:
                pair, step = (first, second), steps.pop()
                calls = [self._calls.place(worker, case, "end", f"t{place}", {})[0] for place, case in enumerate(pair)]
                message = {"do": "interrupt", "calls": calls, "step": step}
                likes = [str(call["like"]) for call in calls]
                what = {"beside": second, "step": step}
                answer = self._calls.ask(worker, message, "other threads", first, what, likes)
                if not has_results(answer, 2):
                    text = f"a call within another one raises {answer.get('error')}: {answer.get('text')}"
                    raise Found(self._calls.finding("other threads", first, text, what))
                for place, (case, rows) in enumerate(zip(pair, answer["results"], strict=True)):
                    stopped = {**what, "stopped": first} if place else what
                    self._calls.compare_results(worker, case, "other threads", rows, f"t{place}", stopped)
                waits += answer.get("waits") is True
                count = answer.get("steps")
                if step == 1 and type(count) is int and 1 < count < 1 << 30:
                    # One in each part, so that a few steps more or less change little.
                    number = min(most, count - 1)
                    steps = [2 + int((place + random.random()) / number * (count - 1)) for place in range(number)]

    def _check_many(self, worker: WorkerProcess) -> None:
        """More than a thousand calls, each of whose results is right."""
        cases = sorted(self._cases.small(6), key=lambda case: case.elements)[:3]
        cases += [other for case in cases[:1] if (other := self._cases.again(case)) is not None]
        random = self._cases.random("many")
        wanted = self._times("many calls", max(cases, key=self._calls.pace.cost), _MANY, 20)
        until = min(time.monotonic() + _MANY_SECONDS, self._deadline)
        done = 0
        while done < wanted and time.monotonic() < until:
            case = cases[random.randrange(len(cases))]
            step = random.choice((1, 3, 10, 20))
            self._calls.call(worker, case, "many calls", arena="m", before=step - 1)
            done += step
        if done < 1000:
            self._left_out["many calls"] = f"the candidate is slow: {done} calls in place of 1000"

    def _check_fresh(self) -> None:
        """A fresh process, with another environment and clock, in which calls come in another order."""
        special = [case for case in self._cases.all if "large" in case.recipe or "long" in case.recipe]
        with self._worker("fresh process", clock=400) as worker:
            for case in self._fitting("fresh process", [*reversed(self._cases.all)][:12] + special[:2], _FRESH):
                self._calls.call(worker, case, "fresh process")

    def _compare_states(self, before: JsonMessage, after: JsonMessage, when: str, *, with_environment: bool) -> None:
        self._calls.compared["state of the process"] += 1
        if self._is_random():
            before = {name: value for name, value in before.items() if name != RANDOM_NUMBERS}
        for text in state_faults(before, after, when, with_environment=with_environment):
            raise Found(Finding("state of the process", text))

    def _check_children(self, worker: WorkerProcess) -> None:
        """The candidate leaves no process behind."""
        path = f"/proc/{worker.pid}/task/{worker.pid}/children"
        try:
            with open(path, encoding="ascii") as stream:
                children = stream.read().split()
        except OSError:
            return
        if children:
            raise Found(Finding("state of the process", f"the candidate leaves {len(children)} processes behind"))

    # Gradients

    def _check_gradients(self) -> None:
        """Gradients and second gradients, where the candidate records what they need.

        They are computed in a process of their own: what a candidate keeps in memory of its own gets a graph too.
        """
        if self._entry.function.arguments.writes:
            self._left_out["gradients"] = "the operator writes to its arguments"
            return
        with self._worker("gradients") as worker:
            self._compare_gradients(worker)

    def _compare_gradients(self, worker: WorkerProcess) -> None:
        function = self._entry.function
        cases = [case for case in self._cases.small(4) if case.elements < 400][:2]
        # What a candidate keeps by values has no graph, as behind generated code.
        for case in cases:
            self._calls.call(worker, case, "gradients", arena="g")
        for case in cases:
            message, placed = self._calls.place(worker, case, "end", "g", {})
            names, leaves = [], []
            for argument in function.arguments.all:
                spec = message["named"].get(argument.name)
                if spec is None and argument in function.arguments.positional:
                    spec = message["positional"][function.arguments.positional.index(argument)]
                places = [spec["tensor"]] if spec and "tensor" in spec else (spec or {}).get("tensors", [])
                places = [place for place in places if place is not None]
                if places and all("float" in placed["tensors"][place]["dtype"] for place in places):
                    names.append(argument.name)
                    leaves += places
            if not leaves:
                self._left_out["gradients"] = "no argument has floating-point numbers"
                return
            # Results of a call that records its graph are those of others.
            answer = worker.ask({**message, "leaves": leaves})
            if has_results(answer):
                self._calls.compare(worker, case, "gradients", answer, "g", {"leaves": leaves})
            for second in (False, True):
                asked = {"do": "gradient", "case": case.number, "names": names, "second": second}
                current = self._desk.oracle.ask(asked)
                if "unusable" in current:
                    self._left_out["second gradients" if second else "gradients"] = current["unusable"]
                    break
                answer = worker.ask({**message, "do": "gradient", "leaves": leaves, "second": second})
                check = "second gradients" if second else "gradients"
                if answer.get("graph") is False:
                    self._left_out[check] = "the candidate records none: formulas of the entry give them"
                    break
                if not has_results(answer):
                    # Generated code calls functions below autograd, and operators without formulas say so.
                    self._left_out[check] = f"the candidate raises {answer.get('error')}: {answer.get('text')}"[:200]
                    break
                self._calls.compared[check] += 1
                outcome = self._desk.oracle.ask({**asked, "results": answer["results"][0]}, [worker.results])
                if outcome["fault"]:
                    raise Found(self._calls.finding(check, case, f"of the gradients, {outcome['fault']}", {}, outcome))

    # Operators

    def _check_transforms(self) -> None:
        """What PyTorch's compilers and transformations make of an operator."""
        if self._calls.candidate.is_library and not self._calls.candidate.package:
            self._left_out["compile"] = "no Python module beside the shared object says what it does in traces"
            return
        if self._calls.candidate.package and not has_fake(self._entry.function):
            self._left_out["compile"] = "traces call the reference, which no worker has: the entry declares no outputs"
            return
        worker = self._calls.worker(seconds=60)
        case = self._cases.small(1)[0]
        try:
            self._calls.load(worker)
            self._calls.call(worker, case, "fresh process")
            for check in ("compile", "export"):
                self._calls.call(worker, case, check, do=check)
            self._check_trace(worker, case)
            self._check_vmap(worker, case)
        except Ended as ended:
            raise Found(self._calls.finding("compile", case, str(ended))) from None
        finally:
            worker.close()

    def _check_trace(self, worker: WorkerProcess, case: Case) -> None:
        """Results in traces have the sizes, dtypes and strides that they have."""
        message, _ = self._calls.place(worker, case, "end", "f", {})
        real = worker.ask(message)
        answer = worker.ask({**message, "do": "fake"})
        if "facts" not in answer:
            text = f"the call is refused in traces: {answer.get('error')}: {answer.get('text')}"
            raise Found(self._calls.finding("traces", case, text))
        self._calls.compared["traces"] += 1
        try:
            text = trace_fault([fact for row in real["results"][0] for fact in row], answer["facts"])
        except (AttributeError, IndexError, KeyError, TypeError):
            text = "the worker's answer cannot be read"
        if text:
            raise Found(self._calls.finding("traces", case, text))

    def _check_vmap(self, worker: WorkerProcess, case: Case) -> None:
        """`torch.vmap` gives what one call after the other gives."""
        other = None if self._entry.function.arguments.writes else self._cases.again(case)
        if other is None:
            self._left_out["vmap"] = "the operator writes to its arguments"
            return
        answer = self._desk.oracle.ask({"do": "stack", "cases": [case.number, other.number]})
        if "case" not in answer:
            self._left_out["vmap"] = str(answer.get("unusable"))
            return
        stacked = case._replace(number=answer["case"], text=f"{case.text}, twice")
        message, placed = self._calls.place(worker, stacked, "end", "v", {})
        message |= {"do": "vmap", "mapped": list(range(len(placed["tensors"])))}
        outcome = worker.ask(message)
        if not has_results(outcome):
            self._left_out["vmap"] = f"the candidate raises {outcome.get('error')}: {outcome.get('text')}"[:200]
            return
        self._calls.compare(worker, stacked, "vmap", outcome, "v", {})

    def _check_refusals(self) -> None:
        """Calls that the entry refuses are refused by the candidate."""
        worker = self._calls.worker()
        try:
            self._calls.load(worker)
            for case in self._cases.small(3):
                for message in self._broken(case):
                    answer = self._desk.oracle.ask({**message, "form": self._calls.form, "wrong": True})
                    if "refused" not in answer or "case" not in answer:
                        continue
                    wrong = case._replace(number=answer["case"], text=answer["text"], script=answer["script"])
                    call, _ = self._calls.place(worker, wrong, "end", "r", {})
                    outcome = worker.ask(call)
                    self._calls.compared["refusals"] += 1
                    if "results" in outcome:
                        text = f"the candidate takes a call that the entry refuses: {answer['refused']}"
                        raise Found(self._calls.finding("refusals", wrong, text))
        except Ended as ended:
            raise Found(Finding("refusals", f"on a call that the entry refuses, {ended}")) from None
        finally:
            worker.close()

    def _broken(self, case: Case) -> Iterator[JsonMessage]:
        """Calls with another size, rank or dtype of a tensor."""
        values = case.message.get("values", {})
        for name, spec in values.items():
            if "shape" not in spec:
                continue
            shape, dtype = spec["shape"], spec["dtype"]
            changes: list[JsonMessage] = [
                {"shape": [*shape[:place], size + 1, *shape[place + 1 :]]} for place, size in enumerate(shape)
            ]
            changes += [{"shape": [2, *shape]}, {"shape": shape[1:]}] if shape else [{"shape": [2]}]
            changes += [{"dtype": "float64" if dtype != "float64" else "float32"}] if "float" in dtype else []
            for change in changes:
                changed = {**spec, **change}
                for key in ("fixed", "poked", "sometimes", "order"):
                    changed.pop(key, None)
                yield {"do": "draw", "values": {**values, name: changed}}

    def _check_sanitized(self, source: Candidate) -> None:
        """Calls of the candidate with AddressSanitizer, on request."""
        check = "AddressSanitizer"
        if not self._options.sanitize:
            self._left_out[check] = "not asked for"
            return
        try:
            candidate = built(source, self._entry, is_sanitized=True)
            environment = sanitizer_environment()
        except NotBuilt as error:
            self._left_out[check] = str(error)[:300]
            return
        with self._worker(check, seconds=60, environment=environment, candidate=candidate) as worker:
            for case in self._cases.all[:40]:
                self._calls.call(worker, case, check)


def judge(entry: JudgedEntry, candidate: Candidate, desk: Desk, options: JudgeOptions) -> Verdict:
    """The verdict about a candidate."""
    return Judgement(entry, candidate, desk, options).run()
