"""The program behind `make mutants`: changes places of the package, and shows the changes that no test sees."""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path
from queue import SimpleQueue

import yaml

from tests.mutants.mutations import Mutant, Source
from tests.mutants.report import Result, print_results
from tests.mutants.rooms import ROOT, guards_of, room_modules, room_of
from tests.mutants.sandbox import Reached, Sandbox, digest_of

EQUIVALENT = Path(__file__).with_name("equivalent.yaml")
_FOLDER = ROOT / "build" / "mutants"
#: As many tests, the quickest first, are tried before whole modules.
_CALLERS = 200
#: The bytes that a mutant which allocates without end may have.
_MEMORY = 6 << 30


def main() -> int:
    """Run the program; the exit status is 1 if fewer mutants are killed than the floor asks."""
    options = _options()
    _FOLDER.mkdir(parents=True, exist_ok=True)
    # The programs that this one starts inherit the limit.
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    only = drawn_modules(options.rooms, options.seed) if options.rooms else options.only
    mutants = survivors(_FOLDER / "results.json") if options.again else sample(options.count, options.seed, only)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        workshop = Workshop(Path(folder), options.jobs)
        results = []
        for result in workshop.results(mutants):
            print(f"{result.outcome}: {result.mutant.module}:{result.mutant.line} {result.mutant.operator}", flush=True)
            results.append(result)
            text = json.dumps([result.entry() for result in results], indent=1)
            (_FOLDER / ("again.json" if options.again else "results.json")).write_text(text, encoding="utf-8")
    return 0 if print_results(results) >= options.floor else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="how many mutants are made (default: 300)")
    parser.add_argument("--seed", type=int, default=0, help="what they are drawn from (default: 0)")
    parser.add_argument(
        "--only", action="append", metavar="PLACE", help="a room, or MODULE or MODULE:LINE below the root"
    )
    parser.add_argument(
        "--rooms", type=int, help="draw the mutants from so many parts of rooms, which the seed determines"
    )
    parser.add_argument("--again", action="store_true", help="run what survived the last time again")
    parser.add_argument("--jobs", type=int, default=2, help="how many run at once (default: 2)")
    parser.add_argument("--floor", type=float, default=0, help="the percentage below which the exit status is 1")
    return parser.parse_args()


def drawn_modules(count: int, seed: int) -> list[str]:
    """The modules of so many rows of the table of rooms, each drawn by its lines.

    Most of the time that a small sample takes is for what tests reach, and a row has few of them.
    """
    lengths = {room: sum(map(_length, modules)) for room, modules in room_modules().items()}
    generator = random.Random(seed)
    rooms: dict[str, None] = {}
    while len(rooms) < min(count, len(lengths)):
        rooms[generator.choices(list(lengths), list(lengths.values()))[0]] = None
    return [module for room in rooms for module in room_modules()[room]]


def _length(module: str) -> int:
    return (ROOT / module).read_text(encoding="utf-8").count("\n")


def sample(count: int, seed: int, only: list[str] | None = None) -> list[Mutant]:
    """Mutants of all rooms, or of the chosen places, in proportion to their lines. The seed determines them.

    Each is drawn in three steps: a module by its length, a line of it, and a mutant of the line. A line of ten small
    expressions counts as one.
    """
    generator = random.Random(seed)
    modules = [module for modules in room_modules().values() for module in modules if _is_chosen(module, only)]
    texts = {module: (ROOT / module).read_text(encoding="utf-8") for module in modules}
    lengths = list(map(_length, modules))
    sources: dict[str, Source] = {}
    mutants: dict[Mutant, None] = {}
    for _ in range(100 * count):
        module = generator.choices(modules, lengths)[0]
        source = sources.setdefault(module, sources.get(module) or Source(module, texts[module]))
        lines = [line for line in source.lines if _is_chosen_line(module, line, only)]
        drawn = source.mutants(generator.choice(lines)) if lines else []
        if drawn and (mutant := generator.choice(drawn)).compiles():
            mutants[mutant] = None
        if len(mutants) == count:
            break
    return list(mutants)


def _is_chosen(module: str, only: list[str] | None) -> bool:
    room = room_of(module) or ""
    return only is None or any(place.split(":")[0] == module or f"{room}/".startswith(f"{place}/") for place in only)


def _is_chosen_line(module: str, line: int, only: list[str] | None) -> bool:
    lines = [place.split(":")[1] for place in only or () if place.startswith(f"{module}:")]
    return not lines or str(line) in lines


def survivors(path: Path) -> list[Mutant]:
    """The mutants that survived the last time, as far as their lines are still there."""
    saved = [
        entry for entry in json.loads(path.read_text(encoding="utf-8")) if entry["outcome"] in ("survived", "unreached")
    ]
    keys = {(entry["module"], entry["before"].strip(), entry["after"].strip()) for entry in saved}
    found: dict[tuple[str, str, str], Mutant] = {}
    for module in sorted({entry["module"] for entry in saved if (ROOT / entry["module"]).exists()}):
        source = Source(module, (ROOT / module).read_text(encoding="utf-8"))
        for mutant in (mutant for line in source.lines for mutant in source.mutants(line)):
            if mutant.key in keys:
                found.setdefault(mutant.key, mutant)
    return list(found.values())


class Workshop:
    """Sandboxes that work side by side, and what the tests reach, which is kept in `build/mutants`."""

    def __init__(self, folder: Path, jobs: int) -> None:
        self._jobs = jobs
        self._sandboxes: SimpleQueue[Sandbox] = SimpleQueue()
        for number in range(jobs):
            self._sandboxes.put(Sandbox(folder / str(number)))
        self._kept = _FOLDER / "reached.json"
        entries = json.loads(self._kept.read_text(encoding="utf-8")) if self._kept.exists() else {}
        self._reached = {name: Reached(**entry) for name, entry in entries.items()}

    def results(self, mutants: list[Mutant]) -> Iterator[Result]:
        """What becomes of the mutants, room by room: first the rooms with many mutants for few modules of tests."""
        rows = yaml.safe_load(EQUIVALENT.read_text(encoding="utf-8"))
        self._equivalent = {(row["module"], row["before"], row["after"]) for row in rows}
        rooms: dict[str, list[Mutant]] = {}
        for mutant in mutants:
            rooms.setdefault(room_of(mutant.module) or "", []).append(mutant)
        for room in sorted(rooms, key=lambda room: len(guards_of(rooms[room][0].module)) / len(rooms[room])):
            self._record(sorted({name for mutant in rooms[room] for name in guards_of(mutant.module)}))
            with ThreadPoolExecutor(self._jobs) as pool:
                yield from pool.map(partial(self._result, room), rooms[room])

    def _record(self, names: list[str]) -> None:
        stale = [name for name in names if name not in self._reached or self._reached[name].digest != digest_of(name)]
        with ThreadPoolExecutor(self._jobs) as pool:
            for number, name in enumerate(pool.map(self._record_one, stale), 1):
                print(f"{number}/{len(stale)} {name}: {self._reached[name].seconds} s", flush=True)
                failing = self._reached[name].failing
                if failing:
                    print(f"  fail without mutants: {', '.join(failing)}", flush=True)
                entries = {name: asdict(reached) for name, reached in list(self._reached.items())}
                self._kept.write_text(json.dumps(entries), encoding="utf-8")

    def _record_one(self, name: str) -> str:
        sandbox = self._sandboxes.get()
        self._reached[name] = sandbox.record(name)
        self._sandboxes.put(sandbox)
        return name

    def _result(self, room: str, mutant: Mutant) -> Result:
        return Result(room, mutant, "equivalent" if mutant.key in self._equivalent else self._outcome(mutant))

    def _outcome(self, mutant: Mutant) -> str:
        names = [name for name in guards_of(mutant.module) if self._reached[name].reaches(mutant)]
        names.sort(key=lambda name: self._reached[name].seconds)
        seconds = sum(self._reached[name].seconds for name in names)
        failing = [f"--deselect={test}" for name in names for test in self._reached[name].failing]
        callers = {test: time for name in names for test, time in self._reached[name].callers(mutant).items()}
        # Most mutants end with the tests that call them; others with a test that reads what an earlier one has kept.
        examples = [mutant.module] if ">>> " in mutant.original else []
        runs = [examples, sorted(callers, key=callers.__getitem__)[:_CALLERS], [*names, *failing]]
        runs = [words for words in runs if words]
        if not runs:
            return "unreached"
        sandbox = self._sandboxes.get()
        try:
            return sandbox.outcome(mutant, runs, 60 + 5 * seconds)
        finally:
            self._sandboxes.put(sandbox)


if __name__ == "__main__":
    sys.exit(main())
