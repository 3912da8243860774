"""Judges a candidate: draws calls once it is loaded, has workers call it, and asks the oracle about the results."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping
from random import Random
from typing import Final

from opwright.libraries.emit.python.fakes import has_fake
from opwright.libraries.judge.candidates import Candidate, NotBuilt, built, find_candidate, sanitizer_environment
from opwright.libraries.judge.drawing import FILLS, LAYOUTS, NOT_FINITE, Drawer, Recipe
from opwright.libraries.judge.entry import JudgedEntry, module_folders, oracle_facts
from opwright.libraries.judge.processes import Desk, Ended, JsonMessage, ProcessFailed, WorkerLimits, WorkerProcess
from opwright.libraries.judge.verdict import ACCEPTED, REFUSED, UNDECIDED, Finding, Timing, Verdict
from opwright.source.records import NamedTuple

#: The bytes that new memory has, as the allocator of the GNU C library is told: two that no number is like.
_POISONS: Final = (0x2A, 0xD5)
_VARIABLES_OF_PYTORCH: Final = ("TORCH", "PYTORCH", "TRITON", "KINETO")
#: How many calls the function of an author makes.
_GENERATED: Final = 16
#: How often a candidate is called in one process, if there is time.
_MANY: Final = 1100
#: Seconds for many calls, and for all checks.
_MANY_SECONDS: Final = 20.0


class Case(NamedTuple):
    """A call that the oracle knows: its number there, what was drawn, and texts for reports."""

    number: int
    recipe: str
    text: str
    script: str
    message: JsonMessage
    elements: int


class Found(Exception):
    """Raised with a finding that ends the judgement."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.text)
        self.finding: Final = finding


class Unjudged(Exception):
    """Raised with the reason why nothing can be said of a candidate."""


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
        self._candidate = candidate
        self._desk: Final = desk
        self._options: Final = options
        self._random: Final = Random(f"{options.seed} {entry.operator}")
        self._drawer: Final = Drawer(entry, self._random)
        self._cases: Final[list[Case]] = []
        self._compared: Final[dict[str, int]] = {}
        self._left_out: Final[dict[str, str]] = {}
        self._mapped: Final[dict[tuple[str, str], object]] = {}
        self._form = ""
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
        except (Unjudged, ProcessFailed) as reason:
            verdict, why = UNDECIDED, str(reason)
        return Verdict(
            verdict,
            self._entry.operator,
            self._candidate.name,
            self._options.seed,
            self._form,
            finding,
            why,
            tuple(self._compared.items()),
            tuple(self._left_out.items()),
            tuple(self._desk.isolated.items()),
            tuple(self._timings),
        )

    def _judge(self) -> None:
        if self._entry.function.library_fields.reference is None:
            raise Unjudged("the entry has no reference, so nothing says what is right")
        # Both start at the same time.
        self._desk.start_server()
        facts = oracle_facts(self._entry, self._options.folders)
        try:
            self._desk.oracle.ask(facts)
        except ProcessFailed as error:
            raise Unjudged(f"the reference cannot be loaded: {error}") from None
        source = self._candidate if self._candidate.kind == "source" else None
        if source is not None:
            try:
                self._candidate = built(self._candidate, self._entry)
            except NotBuilt as error:
                if not error.is_mistake:
                    raise Unjudged(str(error)) from None
                raise Found(Finding("compile", str(error))) from None
            self._deadline = time.monotonic() + self._options.seconds
        first = self._desk.worker(self._options.limits)
        try:
            before = first.ask({"do": "state"})
            self._load(first)
            loaded = first.ask({"do": "state"})
            self._compare_states(before, loaded, "when it is loaded", with_environment=False)
            self._draw_cases()
            self._check_values(first)
            self._check_pointers(first)
            self._check_batches(first)
            self._check_settings(first)
            self._check_threads(first)
            self._check_gradients(first)
            self._check_many(first)
            self._compare_states(loaded, first.ask({"do": "state"}), "when it is called", with_environment=True)
            self._check_children(first)
        except Ended as ended:
            raise Found(Finding("process", str(ended))) from None
        finally:
            first.close()
        self._check_fresh()
        if self._form == "operator":
            self._check_transforms()
            self._check_refusals()
        if source is not None:
            self._check_sanitized(source)
        if self._options.speed is not None:
            self._time()

    # Loading

    def _load(self, worker: WorkerProcess, clock: int = 0, candidate: Candidate | None = None) -> None:
        """Load a candidate, by default the one that is judged, and learn its form."""
        chosen = candidate or self._candidate
        name = self._entry.function.name.name
        base = self._entry.function.name.base
        message = {
            "do": "load",
            "kind": chosen.kind,
            "path": chosen.path,
            "libraries": list(chosen.libraries),
            "package": chosen.package,
            "function": chosen.function,
            "operator": self._entry.operator,
            "names": list(dict.fromkeys([name, base, name.rstrip("_"), "run", "kernel", "kernel_function"])),
            "clock": clock,
        }
        answer = worker.ask(message, seconds=self._options.limits.call_seconds * 2)
        if "error" in answer:
            text = f"{answer.get('error')}: {answer.get('text')}"
            if answer.get("error") in ("ModuleNotFoundError", "ImportError"):
                raise Unjudged(f"the candidate cannot be loaded here: {text}")
            raise Found(Finding("load", f"the candidate cannot be loaded: {text}"))
        if "form" not in answer:
            names = ", ".join([f"`{name}`" for name in answer.get("missing", [])])
            raise Unjudged(
                f"the candidate has none of the functions {names}: name one, as in `{self._candidate.name}::f`"
            )
        if candidate is None:
            self._form = "operator" if answer["form"] == "operator" else "function"

    # Drawing

    def _draw_cases(self) -> None:
        for recipe in self._recipes():
            self._draw(recipe)
        samples = self._entry.function.library_fields.samples
        dtypes = self._drawer.dtypes
        for text in samples:
            for dtype in dtypes:
                message = {"do": "draw", "author": text, "seed": self._random.getrandbits(31), "dtype": dtype}
                self._add(message, f"of the author, {dtype}")
        generator = self._entry.function.library_fields.sample_generator
        for _ in range(_GENERATED if generator else 0):
            message = {"do": "draw", "generator": generator, "seed": self._random.getrandbits(31)}
            self._add(message, "of the generator")
        if not self._cases:
            reason = self._left_out.pop("samples", "the entry says too little about its arguments")
            raise Unjudged(f"no call can be drawn ({reason}): add `dims`, or `samples`")

    def _recipes(self) -> Iterator[Recipe]:
        if not self._drawer.can_draw:
            self._left_out["sizes"] = "the entry does not say the sizes and values of all tensors: its samples are used"
            return
        dtypes, choice = self._drawer.dtypes, self._random.choice
        for profile in ("middle", "small", "odd", "ones", "any", "any", "any"):
            yield Recipe(profile, dtypes[0])
        # Each size is long, large and 0 once.
        for name in self._drawer.names[:6]:
            yield from (Recipe(profile, dtypes[0], special=name) for profile in ("long", "empty", "large"))
        for dtype in dtypes[1:]:
            for profile in ("any", "odd", "long", "middle"):
                yield Recipe(profile, dtype)
        for fill in FILLS[1:]:
            for dtype in dict.fromkeys((dtypes[0], choice(dtypes))):
                yield Recipe(choice(("odd", "middle", "any")), dtype, fill)
        for layout in LAYOUTS:
            for _ in range(2):
                yield Recipe(choice(("odd", "middle", "small")), choice(dtypes), "normal", layout)

    def _draw(self, recipe: Recipe) -> Case | None:
        for attempt in range(8):
            message = self._drawer.draw(recipe)
            if message is None:
                break
            case = self._add(message, str(recipe), needs=recipe if attempt < 6 else None)
            if case is not None:
                return case
        return None

    def _add(self, message: JsonMessage, recipe: str, *, keep: bool = True, needs: Recipe | None = None) -> Case | None:
        answer = self._desk.oracle.ask({**message, "form": self._form})
        # Calls without results show little, and NaN that reach none.
        if needs is not None and needs.profile != "empty" and answer.get("results") == 0:
            return None
        if needs is not None and needs.fill in NOT_FINITE and answer.get("is_finite"):
            return None
        if "case" not in answer:
            self._left_out.setdefault("samples", str(answer.get("refused") or answer.get("unusable")))
            return None
        case = Case(answer["case"], recipe, answer["text"], answer["script"], message, answer["elements"])
        if keep:
            self._cases.append(case)
            self._left_out.pop("samples", None)
        return case

    # Calls

    def _place(
        self, worker: WorkerProcess, case: Case, side: str, arena: str, what: Mapping[str, object]
    ) -> tuple[JsonMessage, JsonMessage]:
        """Bring the tensors of a call into a worker. Gives the message of the call, and the places of tensors."""
        files = [os.path.join(worker.folder, f"{arena}-{kind}") for kind in ("read", "written")]
        placed = self._desk.oracle.ask({"do": "place", "case": case.number, "side": side, "files": files})
        key = worker.folder, arena
        signature = (placed["tensors"], placed["segments"])
        if self._mapped.get(key) != signature:
            descriptors = [os.open(files[0], os.O_RDONLY), os.open(files[1], os.O_RDWR)]
            try:
                mapping = {"do": "map", "arena": arena, "segments": placed["segments"], "tensors": placed["tensors"]}
                answer = worker.ask(mapping, descriptors)
            finally:
                for descriptor in descriptors:
                    os.close(descriptor)
            if "error" in answer:
                raise Unjudged(f"the tensors of a call need more memory: {answer['text']}")
            self._mapped[key] = signature
        written = [place for place, fact in enumerate(placed["tensors"]) if self._is_written(placed, fact)]
        call = {"do": "call", "arena": arena, "positional": placed["positional"], "named": placed["named"], **what}
        call["written"] = written
        return call, placed

    @staticmethod
    def _is_written(placed: JsonMessage, fact: JsonMessage) -> bool:
        return bool(fact["segment"] >= 0 and placed["segments"][fact["segment"]]["file"] == 1)

    def _call(
        self,
        worker: WorkerProcess,
        case: Case,
        check: str,
        *,
        side: str = "end",
        arena: str = "a",
        do: str = "call",
        **what: object,
    ) -> str:
        """Call the candidate, and compare the results with what is right. Gives their digest."""
        message, _ = self._place(worker, case, side, arena, what)
        message["do"] = do
        try:
            answer = worker.ask(message)
            if what.get("late"):
                self._scramble(worker, arena)
                answer = worker.ask({"do": "read"})
        except Ended as ended:
            raise Found(self._finding(check, case, str(ended), what)) from None
        return self._compare(worker, case, check, answer, arena, what)

    def _compare(
        self, worker: WorkerProcess, case: Case, check: str, answer: JsonMessage, arena: str, what: Mapping[str, object]
    ) -> str:
        if not _has_results(answer):
            error = f"the call raises {answer.get('error')}: {answer.get('text')}"
            raise Found(self._finding(check, case, error, what))
        return self._compare_results(worker, case, check, answer["results"][0], arena, what)

    def _compare_results(
        self, worker: WorkerProcess, case: Case, check: str, rows: object, arena: str, what: Mapping[str, object]
    ) -> str:
        self._compared[check] = self._compared.get(check, 0) + 1
        written = os.path.join(worker.folder, f"{arena}-{'kept' if what.get('late') else 'written'}")
        message = {"do": "check", "case": case.number, "results": rows, "file": worker.results, "written": written}
        outcome = self._desk.oracle.ask(message)
        if outcome["fault"]:
            raise Found(self._finding(outcome.get("check", check), case, outcome["fault"], what, outcome))
        return str(outcome["digest"])

    def _scramble(self, worker: WorkerProcess, arena: str) -> None:
        """Give the memory of the arguments other values, once what was written there is kept."""
        for kind in ("read", "written"):
            path = os.path.join(worker.folder, f"{arena}-{kind}")
            with open(path, "r+b") as stream:
                content = stream.read()
                if kind == "written":
                    with open(os.path.join(worker.folder, f"{arena}-kept"), "wb") as copy:
                        copy.write(content)
                stream.seek(0)
                stream.write(bytes([0x5B]) * len(content))

    def _finding(
        self,
        check: str,
        case: Case,
        text: str,
        what: Mapping[str, object] | None = None,
        outcome: JsonMessage | None = None,
    ) -> Finding:
        details = outcome or {}
        sample = f"{case.text} ({case.recipe})"
        return Finding(
            check,
            text,
            sample,
            str(details.get("found", "")),
            str(details.get("expected", "")),
            details.get("allowed"),
            self._script(case, what or {}),
        )

    def _script(self, case: Case, what: Mapping[str, object]) -> str:
        """Five lines that replay a call without Opwright."""
        reference = self._entry.function.library_fields.reference
        assert reference is not None
        module, _, function = reference.path.partition(":")
        folders = module_folders(self._entry, self._options.folders)
        before = ""
        if what.get("before"):
            before = f"; [candidate(*given) for _ in range({what['before']}) for given in [arguments()[0]]]"
        settings = what.get("settings")
        if isinstance(settings, dict) and settings.get("dtype"):
            before += f"; torch.set_default_dtype(torch.{settings['dtype']})"
        author = "  # after torch.manual_seed(" in case.script
        given = case.script.partition("  # after ")[0]
        seed = f"torch.manual_seed({case.message.get('seed', 0)}), " if author else ""
        lines = [
            "import importlib, sys, torch",
            f"sys.path[:0] = {folders!r}; reference = importlib.import_module({module!r}).{function}",
            self._candidate.loader(self._entry.operator, self._form),
            f"arguments = lambda: ({seed}(lambda *given, **named: (given, named))({given}))"
            + ("[1]" if author else ""),
            f"given, named = arguments(){before}; print(candidate(*given, **named)); "
            "given, named = arguments(); print(reference(*given, **named))",
        ]
        return "\n".join(lines)

    # Checks

    def _small(self, count: int) -> list[Case]:
        """Some of the smaller cases with usual numbers."""
        usual = [case for case in self._cases if case.elements and " normal" in f" {case.recipe}"] or self._cases
        ordered = sorted(usual, key=lambda case: abs(case.elements - 64))
        return ordered[:count]

    def _check_values(self, worker: WorkerProcess) -> None:
        for case in self._cases:
            first = self._call(worker, case, "values", settings={"poison": _POISONS[0]})
            if self._late():
                self._left_out["values"] = "the time is over"
                raise Unjudged("the candidate is too slow: not all drawn calls fit into the time")
            settings = {"poison": _POISONS[1]}
            try:
                # Results are read once the memory of the arguments has other values: they share none, and are complete.
                second = self._call(worker, case, "aliasing", side="start", settings=settings, late=True)
            except Found:
                self._call(worker, case, "unwritten memory", side="start", settings=settings)
                raise
            self._compared["unwritten memory"] = self._compared.get("unwritten memory", 0) + 1
            if first != second and not self._is_random():
                # Rounding may differ with alignment; results of the same call may not.
                third = self._call(worker, case, "determinism", side="start", settings={"poison": _POISONS[1]})
                if third != second:
                    fourth = self._call(worker, case, "determinism", side="start", settings={"poison": _POISONS[1]})
                    if fourth not in (second, third) or fourth != third:
                        raise Found(self._finding("determinism", case, "the same call gives other results each time"))

    def _late(self) -> bool:
        return time.monotonic() > self._deadline

    def _is_random(self) -> bool:
        return "nondeterministic_seeded" in self._entry.function.tags

    def _again(self, case: Case) -> Case | None:
        """A call with the sizes of another one and other numbers."""
        message = case.message
        if "values" not in message:
            message = {**message, "seed": self._random.getrandbits(31)}
        else:
            message = {**message, "values": {name: self._other(spec) for name, spec in message["values"].items()}}
        return self._add(message, case.recipe, keep=False)

    def _nearly(self, case: Case) -> Iterator[Case]:
        """Calls with all arguments of another one but a tensor, or but an element."""
        values = case.message.get("values", {})
        names = [name for name, spec in values.items() if "shape" in spec and 0 not in spec["shape"]]
        for name in names[:3]:
            changed = [self._other(values[name])]
            if "range" not in values[name] and values[name]["shape"]:
                changed.append({**values[name], "poked": {str(self._random.getrandbits(20)): 1.75}})
            for spec in changed:
                other = self._add({**case.message, "values": {**values, name: spec}}, case.recipe, keep=False)
                if other is not None:
                    yield other

    def _other(self, spec: JsonMessage) -> JsonMessage:
        if "tensors" in spec:
            return {"tensors": [self._other(item) for item in spec["tensors"]]}
        return {**spec, "seed": self._random.getrandbits(48)} if "seed" in spec else spec

    def _check_pointers(self, worker: WorkerProcess) -> None:
        """The same pointers with new values, the same values at new pointers, and both by turns."""
        for case in self._small(3):
            other = self._again(case)
            turns = [case, other or case, case, other or case]
            turns += [turn for near in self._nearly(case) for turn in (near, case)]
            for turn in turns:
                self._call(worker, turn, "same pointers", arena="p")
            for number, turn in enumerate(turns[:4]):
                self._call(worker, turn, "other pointers", arena=f"q{number % 2}", side=("end", "start")[number // 2])

    def _check_batches(self, worker: WorkerProcess) -> None:
        """Elements of a batch are what they are alone."""
        requirements = self._entry.function.requirements
        loops = None if requirements is None else requirements.loops()
        is_plain = not self._entry.function.arguments.writes
        if not self._drawer.can_draw or loops is None or not is_plain or self._is_random():
            self._left_out["batches"] = "no results have dimensions `*b` that are computed alone"
            return
        if any(place.before or place.broadcasts for place in loops.arguments.values()) or None in loops.results:
            self._left_out["batches"] = "the dimensions `*b` do not come first everywhere"
            return
        dtypes = self._drawer.dtypes
        for number, fill in enumerate(("normal", "scales", "nan", "normal")):
            count = (5, 64, 7, 33)[number]
            recipe = Recipe("odd", dtypes[number % len(dtypes)], fill, batch=(count,))
            case = self._draw(recipe)
            if case is None:
                continue
            message, _ = self._place(worker, case, "end", "b", {})
            answer = worker.ask(message)
            self._compare(worker, case, "batches", answer, "b", {})
            rows = sorted({0, count - 1, self._random.randrange(count), self._random.randrange(count)})
            asked = {
                "do": "rows",
                "case": case.number,
                "results": answer["results"][0],
                "file": worker.results,
                "rows": rows,
                "count": count,
                "arguments": dict.fromkeys(loops.arguments, 0),
                "places": [None if place is None else 0 for place in loops.results],
            }
            outcome = self._desk.oracle.ask(asked)
            if outcome["fault"]:
                raise Found(self._finding("batches", case, outcome["fault"], {}, outcome))

    def _check_settings(self, worker: WorkerProcess) -> None:
        """Other settings of the process: default dtypes, numbers of threads, inference mode."""
        cases = self._small(3)
        for settings in (
            {"dtype": "float64"},
            {"dtype": "bfloat16"},
            {"threads": 1},
            {"threads": 4},
            {"inference": True},
        ):
            for case in cases:
                self._call(worker, case, "settings", settings=settings)

    def _check_threads(self, worker: WorkerProcess) -> None:
        """Calls from other threads, and from several at the same time."""
        cases = self._small(4)
        for case in cases[:2]:
            self._call(worker, case, "other threads", settings={"other": True})
        if len(cases) < 2:
            cases *= 2
        for _ in range(6):
            pair = self._random.sample(cases, 2)
            calls = [self._place(worker, case, "end", f"t{place}", {})[0] for place, case in enumerate(pair)]
            try:
                answer = worker.ask({"do": "together", "calls": calls})
            except Ended as ended:
                raise Found(self._finding("other threads", pair[0], str(ended))) from None
            if not _has_results(answer, len(calls)):
                text = f"a call beside another one raises {answer.get('error')}: {answer.get('text')}"
                raise Found(self._finding("other threads", pair[0], text))
            for place, case in enumerate(pair):
                self._compare_results(worker, case, "other threads", answer["results"][place], f"t{place}", {})

    def _check_many(self, worker: WorkerProcess) -> None:
        """More than a thousand calls, each of whose results is right."""
        cases = sorted(self._small(6), key=lambda case: case.elements)[:3]
        cases += [other for case in cases[:1] if (other := self._again(case)) is not None]
        until = min(time.monotonic() + _MANY_SECONDS, self._deadline)
        done = 0
        while done < _MANY and time.monotonic() < until:
            case = cases[self._random.randrange(len(cases))]
            step = self._random.choice((1, 3, 10, 20))
            self._call(worker, case, "many calls", arena="m", before=step - 1)
            done += step
        if done < 1000:
            self._left_out["many calls"] = f"the candidate is slow: {done} calls in place of 1000"

    def _check_fresh(self) -> None:
        """A fresh process, with another environment and clock, in which calls come in another order."""
        worker = self._desk.worker(self._options.limits)
        try:
            self._load(worker, clock=400)
            for case in [*reversed(self._cases)][:12]:
                self._call(worker, case, "fresh process")
            special = [case for case in self._cases if "large" in case.recipe or "long" in case.recipe]
            for case in special[:2]:
                self._call(worker, case, "fresh process")
        except Ended as ended:
            raise Found(Finding("fresh process", str(ended))) from None
        finally:
            worker.close()

    def _compare_states(self, before: JsonMessage, after: JsonMessage, when: str, *, with_environment: bool) -> None:
        self._compared["state of the process"] = self._compared.get("state of the process", 0) + 1
        for name, value in before.items():
            other = after.get(name)
            if name == "functions":
                current = other if isinstance(other, dict) else {}
                changed = [key for key, identity in value.items() if current.get(key) != identity]
                if changed:
                    text = f"the candidate replaces {', '.join([f'`{key}`' for key in changed[:5]])} {when}"
                    raise Found(Finding("state of the process", text))
            elif name == "environment":
                current = other if isinstance(other, dict) else {}
                changed = [key for key in {**value, **current} if value.get(key) != current.get(key)]
                # What PyTorch imports when it is needed sets variables of its own.
                changed = [key for key in changed if not key.startswith(_VARIABLES_OF_PYTORCH)]
                if with_environment and changed:
                    text = f"the candidate changes the variables {', '.join(changed[:5])} {when}"
                    raise Found(Finding("state of the process", text))
            elif name == "PyTorch's random numbers" and self._is_random():
                continue
            elif value != other:
                text = f"the candidate changes {name} {when}: {value} becomes {other}"
                raise Found(Finding("state of the process", text[:300]))

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

    def _check_gradients(self, worker: WorkerProcess) -> None:
        """Gradients and second gradients, where the candidate records what they need."""
        function = self._entry.function
        if function.arguments.writes:
            self._left_out["gradients"] = "the operator writes to its arguments"
            return
        cases = [case for case in self._small(4) if case.elements < 400][:2]
        for case in cases:
            message, placed = self._place(worker, case, "end", "g", {})
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
            for second in (False, True):
                asked = {"do": "gradient", "case": case.number, "names": names, "second": second}
                current = self._desk.oracle.ask(asked)
                if "unusable" in current:
                    self._left_out["second gradients" if second else "gradients"] = current["unusable"]
                    break
                answer = worker.ask({**message, "do": "gradient", "leaves": leaves, "second": second})
                if answer.get("graph") is False:
                    self._left_out["gradients"] = "the candidate records none: formulas of the entry give them"
                    return
                check = "second gradients" if second else "gradients"
                if not _has_results(answer):
                    # Generated code calls functions below autograd, and operators without formulas say so.
                    self._left_out[check] = f"the candidate raises {answer.get('error')}: {answer.get('text')}"[:200]
                    break
                self._compared[check] = self._compared.get(check, 0) + 1
                outcome = self._desk.oracle.ask({**asked, "results": answer["results"][0], "file": worker.results})
                if outcome["fault"]:
                    raise Found(self._finding(check, case, f"of the gradients, {outcome['fault']}", {}, outcome))

    # Operators

    def _check_transforms(self) -> None:
        """What PyTorch's compilers and transformations make of an operator."""
        if self._candidate.is_library and not self._candidate.package:
            self._left_out["compile"] = "no Python module beside the shared object says what it does in traces"
            return
        if self._candidate.package and not has_fake(self._entry.function):
            self._left_out["compile"] = "traces call the reference, which no worker has: the entry declares no outputs"
            return
        worker = self._desk.worker(self._options.limits._replace(call_seconds=60))
        case = self._small(1)[0]
        try:
            self._load(worker)
            self._call(worker, case, "fresh process")
            for check in ("compile", "export"):
                self._call(worker, case, check, do=check)
            self._check_trace(worker, case)
            self._check_vmap(worker, case)
        except Ended as ended:
            raise Found(self._finding("compile", case, str(ended))) from None
        finally:
            worker.close()

    def _check_trace(self, worker: WorkerProcess, case: Case) -> None:
        """Results in traces have the sizes, dtypes and strides that they have."""
        message, _ = self._place(worker, case, "end", "f", {})
        real = worker.ask(message)
        answer = worker.ask({**message, "do": "fake"})
        if "facts" not in answer:
            text = f"the call is refused in traces: {answer.get('error')}: {answer.get('text')}"
            raise Found(self._finding("traces", case, text))
        self._compared["traces"] = self._compared.get("traces", 0) + 1
        try:
            text = _trace_fault([fact for row in real["results"][0] for fact in row], answer["facts"])
        except (AttributeError, IndexError, KeyError, TypeError):
            text = "the worker's answer cannot be read"
        if text:
            raise Found(self._finding("traces", case, text))

    def _check_vmap(self, worker: WorkerProcess, case: Case) -> None:
        """`torch.vmap` gives what one call after the other gives."""
        other = None if self._entry.function.arguments.writes else self._again(case)
        if other is None:
            self._left_out["vmap"] = "the operator writes to its arguments"
            return
        answer = self._desk.oracle.ask({"do": "stack", "cases": [case.number, other.number]})
        if "case" not in answer:
            self._left_out["vmap"] = str(answer.get("unusable"))
            return
        stacked = case._replace(number=answer["case"], text=f"{case.text}, twice")
        message, placed = self._place(worker, stacked, "end", "v", {})
        message |= {"do": "vmap", "mapped": list(range(len(placed["tensors"])))}
        outcome = worker.ask(message)
        if not _has_results(outcome):
            self._left_out["vmap"] = f"the candidate raises {outcome.get('error')}: {outcome.get('text')}"[:200]
            return
        self._compare(worker, stacked, "vmap", outcome, "v", {})

    def _check_refusals(self) -> None:
        """Calls that the entry refuses are refused by the candidate."""
        worker = self._desk.worker(self._options.limits)
        try:
            self._load(worker)
            for case in self._small(3):
                for message in self._broken(case):
                    answer = self._desk.oracle.ask({**message, "form": self._form, "wrong": True})
                    if "refused" not in answer or "case" not in answer:
                        continue
                    wrong = case._replace(number=answer["case"], text=answer["text"], script=answer["script"])
                    call, _ = self._place(worker, wrong, "end", "r", {})
                    outcome = worker.ask(call)
                    self._compared["refusals"] = self._compared.get("refusals", 0) + 1
                    if "results" in outcome:
                        text = f"the candidate takes a call that the entry refuses: {answer['refused']}"
                        raise Found(self._finding("refusals", wrong, text))
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
            environment = sanitizer_environment()
            candidate = built(source, self._entry, is_sanitized=True)
        except NotBuilt as error:
            self._left_out[check] = str(error)[:300]
            return
        worker = self._desk.sanitized_worker(self._options.limits._replace(call_seconds=60), environment)
        try:
            self._load(worker, candidate=candidate)
            for case in self._cases[:40]:
                self._call(worker, case, check)
        except Found as outcome:
            report = re.search(r"AddressSanitizer: .*", worker.output())
            text = f"{report[0]}, and {outcome.finding.text}" if report else outcome.finding.text
            raise Found(outcome.finding._replace(text=text)) from None
        except Ended as ended:
            raise Found(Finding(check, str(ended))) from None
        finally:
            worker.close()

    # Speed

    def _time(self) -> None:
        """The time of calls in pairs with those of the reference, or of another candidate."""
        other = self._other_candidate(str(self._options.speed))
        sizes = sorted(self._cases, key=lambda case: case.elements)
        plain = [case for case in sizes if " normal" in case.recipe] or sizes
        places = dict.fromkeys((len(plain) // 2, max(len(plain) - 2, 0), len(plain) - 1))
        cases = [plain[place] for place in places]
        for case in cases:
            workers = [self._desk.worker(self._options.limits) for _ in range(2)]
            try:
                calls = []
                for worker, candidate in zip(workers, (self._candidate, other), strict=True):
                    self._load(worker, candidate=candidate)
                    message, _ = self._place(worker, case, "end", "s", {})
                    calls.append({**message, "do": "time"})
                times = self._paired(workers, calls)
                if not self._entry.function.arguments.writes:
                    answer = workers[0].ask({"do": "read"})
                    self._compare(workers[0], case, "timed calls", answer, "s", {})
                self._timings.append(Timing(f"{case.text} ({case.recipe})", *times))
            except Ended as ended:
                raise Found(self._finding("timed calls", case, str(ended))) from None
            finally:
                for worker in workers:
                    worker.close()

    def _paired(self, workers: list[WorkerProcess], calls: list[JsonMessage]) -> tuple[float, float]:
        """Seconds of a call of each worker: the pair whose ratio is the median of some. The judge has the clock."""

        def measured(place: int, times: int) -> float:
            start = time.perf_counter()
            answer = workers[place].ask({**calls[place], "times": times})
            took = time.perf_counter() - start
            if "error" in answer:
                raise Ended(f"a timed call raises {answer['error']}: {answer.get('text')}")
            return took

        counts, empty = [], []
        for place in (0, 1):
            measured(place, 2)
            empty.append(min([measured(place, 0) for _ in range(5)]))
            count = 1
            while (took := measured(place, count) - empty[place]) < 0.04 and count < 100_000:
                count = min(count * 10, max(count + 1, int(count * 0.06 / max(took, 1e-6))))
            counts.append(count)
        pairs = []
        for _ in range(9):
            pair = [max(measured(place, counts[place]) - empty[place], 1e-9) / counts[place] for place in (0, 1)]
            pairs.append((pair[0], pair[1]))
        return sorted(pairs, key=lambda pair: pair[1] / pair[0])[len(pairs) // 2]

    def _other_candidate(self, name: str) -> Candidate:
        if name != "reference":
            return find_candidate(name)
        reference = self._entry.function.library_fields.reference
        assert reference is not None
        module, _, function = reference.path.partition(":")
        for folder in module_folders(self._entry, self._options.folders):
            path = os.path.join(folder, *module.split(".")) + ".py"
            if os.path.isfile(path):
                return Candidate(reference.path, "python", path, function)
        return Candidate(reference.path, "module", module, function)


def _trace_fault(facts: list[JsonMessage], traced: list[JsonMessage]) -> str:
    """Where results have other dtypes, sizes and strides than in a trace."""
    if len(facts) != len(traced):
        return f"there are {len(facts)} results, and {len(traced)} in traces"
    for place, (fact, expected) in enumerate(zip(facts, traced, strict=True)):
        for name in ("dtype", "shape", "stride"):
            is_known = not isinstance(expected[name], list) or None not in expected[name]
            if is_known and fact[name] != expected[name] and 0 not in fact["shape"]:
                return f"the {name} of result {place} is {fact[name]}, and {expected[name]} in traces"
    return ""


def _has_results(answer: JsonMessage, count: int = 1) -> bool:
    """Whether a worker answers with the results of some calls. Nobody knows yet what they are."""
    results = answer.get("results")
    return isinstance(results, list) and len(results) == count


def judge(entry: JudgedEntry, candidate: Candidate, desk: Desk, options: JudgeOptions) -> Verdict:
    """The verdict about a candidate."""
    return Judgement(entry, candidate, desk, options).run()
