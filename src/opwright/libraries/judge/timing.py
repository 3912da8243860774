"""How long calls of a candidate take, in pairs with those of the reference or of another candidate."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence

from opwright.libraries.entry_fields import library_fields
from opwright.libraries.judge.calls import CandidateCalls
from opwright.libraries.judge.candidates import Candidate, find_candidate
from opwright.libraries.judge.drawing import Case
from opwright.libraries.judge.entry import JudgedEntry, module_folders
from opwright.libraries.judge.findings import Found
from opwright.libraries.judge.processes import Ended, WorkerProcess
from opwright.libraries.judge.verdict import Timing
from opwright.libraries.judge.worker.protocol import JsonMessage


def timings(calls: CandidateCalls, entry: JudgedEntry, other: Candidate, cases: Sequence[Case]) -> Iterator[Timing]:
    """The times of some calls, whose results are compared afterwards. Raises Found."""
    sizes = sorted(cases, key=lambda case: case.elements)
    plain = [case for case in sizes if " normal" in case.recipe] or sizes
    places = dict.fromkeys((len(plain) // 2, max(len(plain) - 2, 0), len(plain) - 1))
    for case in [plain[place] for place in places]:
        workers = [calls.worker() for _ in range(2)]
        try:
            messages = []
            for worker, candidate in zip(workers, (calls.candidate, other), strict=True):
                calls.load(worker, candidate=candidate)
                message, _ = calls.place(worker, case, "end", "s", {})
                messages.append({**message, "do": "time"})
            times = _paired(workers, messages)
            if not entry.function.arguments.writes:
                answer = workers[0].ask({"do": "read"})
                calls.compare(workers[0], case, "timed calls", answer, "s", {})
            yield Timing(f"{case.text} ({case.recipe})", *times)
        except Ended as ended:
            raise Found(calls.finding("timed calls", case, str(ended))) from None
        finally:
            for worker in workers:
                worker.close()


def _paired(workers: list[WorkerProcess], messages: list[JsonMessage]) -> tuple[float, float]:
    """Seconds of a call of each worker: the pair whose ratio is the median of some. The judge has the clock."""

    def measured(place: int, times: int) -> float:
        start = time.perf_counter()
        answer = workers[place].ask({**messages[place], "times": times})
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


def compared_candidate(name: str, entry: JudgedEntry, folders: tuple[str, ...]) -> Candidate:
    """What a candidate is timed with: `reference`, or another candidate."""
    if name != "reference":
        return find_candidate(name)
    reference = library_fields(entry.function).reference
    assert reference is not None
    module, _, function = reference.path.partition(":")
    for folder in module_folders(entry, folders):
        path = os.path.join(folder, *module.split(".")) + ".py"
        if os.path.isfile(path):
            return Candidate(reference.path, "python", path, function)
    return Candidate(reference.path, "module", module, function)
