"""Calls of a candidate: brings the tensors of drawn calls into workers, and asks the oracle about the results."""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from opwright.libraries.judge.candidates import Candidate, has_kernel, sanitizer_environment
from opwright.libraries.judge.drawing import Case
from opwright.libraries.judge.entry import JudgedEntry, module_folders
from opwright.libraries.judge.findings import Found, Unjudged, finding_about
from opwright.libraries.judge.pace import Pace
from opwright.libraries.judge.processes import CallTooSlow, Desk, Ended, WorkerLimits, WorkerProcess
from opwright.libraries.judge.replay import OF_SCRIPTS, replay_script
from opwright.libraries.judge.verdict import Finding
from opwright.libraries.judge.worker.protocol import JsonMessage

#: A call that takes so many times as long as one with the same sizes did hangs, and is not only slow.
_HANGS: Final = 100
#: Where a device of these is, a process that does nothing may wait for it.
_ACCELERATORS: Final = ("/dev/nvidiactl", "/dev/kfd", "/dev/dri")
#: What AddressSanitizer prints.
_REPORT: Final = re.compile(r"AddressSanitizer: .*")


class CandidateCalls:
    """Calls one candidate in workers. `compared` counts the calls of each check."""

    def __init__(
        self,
        entry: JudgedEntry,
        candidate: Candidate,
        desk: Desk,
        limits: WorkerLimits,
        folders: tuple[str, ...],
    ) -> None:
        self._entry: Final = entry
        self._desk: Final = desk
        self._limits: Final = limits
        self._folders: Final = module_folders(entry, folders)
        self._mapped: Final[dict[tuple[str, str], object]] = {}
        #: Seconds of the quickest call for each sizes of tensors.
        self._quickest: Final[dict[str, float]] = {}
        #: How many calls the candidate has got.
        self._made = 0
        self._environment: Mapping[str, str] = {}
        self.candidate = candidate
        self.form = ""
        self.pace: Final = Pace()
        self.compared: Final[Counter[str]] = Counter()

    def start(self) -> None:
        """Start the server of workers. Raises NotBuilt if the candidate needs AddressSanitizer, which is not here."""
        if self.candidate.is_sanitized:
            self._environment = sanitizer_environment()
        self._desk.start_server(self._environment)

    def worker(self, *, seconds: float | None = None, environment: Mapping[str, str] | None = None) -> WorkerProcess:
        """A fresh worker, perhaps with so many seconds for each call, and with more variables."""
        limits = self._limits if seconds is None else self._limits._replace(call_seconds=seconds)
        return self._desk.worker(limits, self._environment if environment is None else environment)

    def load(self, worker: WorkerProcess, clock: int = 0, candidate: Candidate | None = None) -> None:
        """Load a candidate, by default the one that is judged, and learn its form. Raises Found and Unjudged."""
        chosen = candidate or self.candidate
        name, base = self._entry.name.name, self._entry.name.base
        names = list(dict.fromkeys([name, base, name.rstrip("_"), "run", "kernel", "kernel_function"]))
        message = {
            "do": "load",
            "kind": chosen.kind,
            "path": chosen.path,
            "libraries": list(chosen.libraries),
            "package": chosen.package,
            "folder": chosen.folder,
            "function": chosen.function,
            "operator": self._entry.operator,
            "names": names,
            "clock": clock,
            "returns": len(self._entry.function.schema.returns),
        }
        answer = worker.ask(message, seconds=self._limits.call_seconds * 2)
        if "error" in answer:
            text = f"{answer.get('error')}: {answer.get('text')}"
            if answer.get("error") in ("ModuleNotFoundError", "ImportError"):
                raise Unjudged(f"the candidate cannot be loaded here: {text}")
            raise Found(Finding("load", f"the candidate cannot be loaded: {text}"))
        if "form" not in answer:
            missing = ", ".join([f"`{name}`" for name in answer.get("missing", [])])
            raise Unjudged(
                f"the candidate has none of the functions {missing}: name one, as in `{self.candidate.name}::f`"
            )
        if candidate is None:
            self.form = "operator" if answer["form"] == "operator" else "function"
            if self.form == "function" and answer.get("name") in names:
                self.candidate = chosen._replace(function=chosen.function or answer["name"])

    def place(
        self, worker: WorkerProcess, case: Case, side: str, arena: str, what: Mapping[str, object]
    ) -> tuple[JsonMessage, JsonMessage]:
        """Bring the tensors of a call into a worker. Gives the message of the call, and the places of tensors."""
        files = worker.arena(arena)
        placed = self._desk.oracle.ask({"do": "place", "case": case.number, "side": side}, files)
        key = worker.folder, arena
        signature = (placed["tensors"], placed["segments"])
        if self._mapped.get(key) != signature:
            mapping = {"do": "map", "arena": arena, "segments": placed["segments"], "tensors": placed["tensors"]}
            read_only = os.open(f"/proc/self/fd/{files[0]}", os.O_RDONLY)
            try:
                answer = worker.ask(mapping, (read_only, files[1]))
            finally:
                os.close(read_only)
            if "error" in answer:
                raise Unjudged(f"the tensors of a call need more memory: {answer['text']}")
            self._mapped[key] = signature
        written = [place for place, fact in enumerate(placed["tensors"]) if _is_written(placed, fact)]
        call = {"do": "call", "arena": arena, "positional": placed["positional"], "named": placed["named"]}
        call |= {name: value for name, value in what.items() if name not in OF_SCRIPTS}
        call["written"] = written
        call["like"] = json.dumps([[fact["dtype"], fact["shape"], fact["stride"]] for fact in placed["tensors"]])
        return call, placed

    def ask(
        self,
        worker: WorkerProcess,
        message: JsonMessage,
        check: str,
        case: Case,
        what: Mapping[str, object],
        likes: Sequence[str] = (),
    ) -> JsonMessage:
        """The answer of a worker to a call. Raises Found where the worker ends, and where a call hangs.

        One that takes long may be right, and raises CallTooSlow. It hangs if all calls like it (`likes`) were quick,
        or if it waits for nothing that works.
        """
        keys = likes or [str(message.pop("like", ""))]
        self._made += sum([1 + each.get("before", 0) for each in message.get("calls", [message])])
        start, worked = time.monotonic(), worker.worked()
        try:
            answer = worker.ask(message)
        except Ended as ended:
            report = _REPORT.search(worker.output())
            text = f"{report[0]}, and {ended}" if report else str(ended)
            raise Found(self.finding(check, case, text, what)) from None
        except CallTooSlow as slow:
            before = max([self._quickest.get(key, float("inf")) for key in keys])
            if slow.seconds >= before * _HANGS:
                text = f"{slow}, and one with the same sizes took {before:.2g} before"
            elif not any(map(os.path.exists, _ACCELERATORS)) and worker.is_idle():
                text = f"{slow}, in which its process does nothing"
            else:
                raise
            raise Found(self.finding(check, case, text, what)) from None
        took = time.monotonic() - start
        for key in keys:
            self._quickest[key] = min(took, self._quickest.get(key, took))
        if message["do"] == "call" and not message.get("before"):
            self.pace.learn(case, min(took, worker.worked() - worked))
        return answer

    def call(
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
        message, _ = self.place(worker, case, side, arena, what)
        message["do"] = do
        answer = self.ask(worker, message, check, case, what)
        if what.get("late"):
            self._scramble(worker, arena)
            answer = self.ask(worker, {"do": "read", "late": True}, check, case, what)
        return self.compare(worker, case, check, answer, arena, what)

    def compare(
        self, worker: WorkerProcess, case: Case, check: str, answer: JsonMessage, arena: str, what: Mapping[str, object]
    ) -> str:
        """Compare the answer to a call with what is right. Gives the digest of the results. Raises Found."""
        if answer.get("error") == "NotImplementedError" and not has_kernel(self._entry):
            raise Unjudged("the entry has no kernel for the CPU, where the calls are made")
        if not has_results(answer):
            error = f"the call raises {answer.get('error')}: {answer.get('text')}"
            raise Found(self.finding(check, case, error, what))
        for _, rows in more_results(answer):
            self.compare_results(worker, case, check, rows, arena, what)
        return self.compare_results(worker, case, check, answer["results"][0], arena, what)

    def compare_results(
        self, worker: WorkerProcess, case: Case, check: str, rows: object, arena: str, what: Mapping[str, object]
    ) -> str:
        """Compare the results of one of several calls. Gives their digest. Raises Found."""
        self.compared[check] += 1
        if _have_graphs(rows) and not what.get("leaves"):
            raise Found(self.finding(check, case, "a result needs gradients, and no argument does", what))
        written = worker.arena("kept" if what.get("late") else arena)[1]
        message = {"do": "check", "case": case.number, "results": rows}
        outcome = self._desk.oracle.ask(message, (worker.results, written))
        if outcome["fault"]:
            raise Found(self.finding(outcome.get("check", check), case, outcome["fault"], what, outcome))
        return str(outcome["digest"])

    def _scramble(self, worker: WorkerProcess, arena: str) -> None:
        """Give the memory of the arguments other values, once what was written there is kept."""
        for file, copy in zip(worker.arena(arena), worker.arena("kept"), strict=True):
            content = os.pread(file, os.fstat(file).st_size, 0)
            os.pwrite(copy, content, 0)
            os.pwrite(file, bytes([0x5B]) * len(content), 0)

    def finding(
        self,
        check: str,
        case: Case,
        text: str,
        what: Mapping[str, object] | None = None,
        outcome: JsonMessage | None = None,
    ) -> Finding:
        """A finding about a call, with what replays it."""
        candidate = self.candidate.loading_line(self._entry.operator, self.form)
        reason = {**(what or {}), "before": self._made} if check == "many calls" else what or {}
        script = replay_script(self._entry, case, candidate, self._folders, reason)
        return finding_about(check, case, text, script, outcome)


def _is_written(placed: JsonMessage, fact: JsonMessage) -> bool:
    return bool(fact["segment"] >= 0 and placed["segments"][fact["segment"]]["file"] == 1)


def _have_graphs(rows: object) -> bool:
    """Whether a worker says that results need gradients."""
    facts = [fact for row in rows if isinstance(row, list) for fact in row] if isinstance(rows, list) else []
    return any(isinstance(fact, dict) and fact.get("graph") for fact in facts)


def has_results(answer: JsonMessage, count: int = 1) -> bool:
    """Whether a worker answers with the results of some calls. Nobody knows yet what they are."""
    results = answer.get("results")
    return isinstance(results, list) and len(results) == count


def more_results(answer: JsonMessage) -> list[tuple[int, object]]:
    """The results of calls that gave others before, each with the place of the call among several."""
    more = answer.get("more")
    pairs = [pair for pair in more if isinstance(pair, list) and len(pair) == 2] if isinstance(more, list) else []
    return [(place, rows) for place, rows in pairs if type(place) is int]
