"""Kills runs, one after the other, and looks at what each leaves and at what the next run makes of it."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple
from unittest.mock import patch

from opwright.cli import main
from opwright.cli.streams import leave
from opwright.files.staging import STAGING_PREFIX, STATE_FOLDER
from opwright.run import generation
from opwright.run.generation import import_modules
from opwright.torchgen import gen
from tests.conformance.inputs import reference_version
from tests.engine.project import Project
from tests.kills.victim import ENDS, LONGEST, NOBODY, Death, Ended, killed_run

__all__ = ["Kills", "Tally"]

PROCESSES = 4
EDITED_TEMPLATES = ("Function.h", "NativeFunction.h", "Operator.h", "Operators.cpp", "TensorBody.h")

Files = Mapping[str, bytes]


class Tally(NamedTuple):
    """What came of the kills: how many there were, how many runs they ended, the longest life after the run, and what
    was wrong."""

    kills: int
    ended: int
    outlived: float
    faults: list[str]


class Program(NamedTuple):
    """A program that is killed: what runs it, and where it leaves anything."""

    name: str
    run: Callable[[], object]
    folders: tuple[Path, ...]


class Kills:
    """A project in three states of its inputs, with the programs that generate from it.

    From one state to the next one operator changes, or, so that several processes replace files, a tag and templates.
    """

    def __init__(self, folder: Path, reference_inputs: Path, seed: int = 0) -> None:
        self._folder = folder
        self._chance = random.Random(seed)
        project = Project(folder, reference_inputs)
        words = [*project.words(), "--depfile", f"{folder}/lists/made.d", "--provenance", f"{folder}/lists/made.json"]
        self._project = project
        self._cache = folder / "cache"
        self._programs: Final = (
            Program("generate", lambda: leave(lambda: main.main(words)), (folder / "out", folder / "lists")),
            Program("gen", partial(_drop_in, self._project.inputs, folder), (folder / "dropped", self._cache)),
        )
        self._states: Final = tuple(self._made_states())
        self._expected: dict[tuple[str, int], tuple[Files, frozenset[str]]] = {}
        self._calls: dict[tuple[str, str], tuple[int, int]] = {}

    def _made_states(self) -> Iterator[dict[Path, str]]:
        """The text of each input that changes, in each state."""
        yaml, tags = self._project.yaml, self._project.inputs / "native" / "tags.yaml"
        templates = [self._project.inputs / "templates" / name for name in EDITED_TEMPLATES]
        plain = {path: path.read_text() for path in (yaml, tags, *templates)}
        yield plain
        entry = plain[yaml].replace("eps=1e-6", "eps=1e-5").replace("- func: mean_of(", "- func: average_of(")
        yield {**plain, yaml: entry.replace("    CPU: shifted_cpu", "    CPU: shifted_other_cpu")}
        wide = {path: f"{plain[path]}// edited\n" for path in templates}
        yield {**plain, **wide, tags: plain[tags] + "- tag: edited\n  desc: a tag that is new\n"}

    def run(self, count: int, progress: Callable[[Tally], None] = lambda _: None) -> Tally:
        """Kill so many runs, in turns through programs, edits and ways to die."""
        tally = Tally(0, 0, 0.0, [])
        with self._environment():
            self._prepare()
            turns = list(product(self._programs, ("cold", "edit", "wide"), ENDS, (True, False)))
            self._chance.shuffle(turns)
            for number in range(count):
                program, change, (signal_number, whom), in_first = turns[number % len(turns)]
                calls = self._calls[program.name, change][0 if in_first else 1]
                death = Death(self._chance.randrange(1, calls + 1), in_first, signal_number, whom)
                ended, faults = self._killed_once(program, change, death)
                where = f"{program.name}, {change}, {death}: "
                tally.faults.extend(where + fault for fault in faults)
                tally = Tally(
                    number + 1, tally.ended + (ended.status != 0), max(tally.outlived, ended.outlived), tally.faults
                )
                progress(tally)
        return tally

    @contextmanager
    def _environment(self) -> Iterator[None]:
        """Several processes share even little work, and all that the runs need is imported."""
        with ExitStack() as stack:
            stack.enter_context(patch.object(generation, "_WORTH_SHARING", 0))
            stack.enter_context(patch.object(os, "sched_getaffinity", lambda _: set(range(PROCESSES))))
            stack.enter_context(patch.dict(os.environ, OPWRIGHT_CACHE_DIR=str(self._cache)))
            import_modules(("headers", "sources", "declarations_yaml"))
            yield

    def _prepare(self) -> None:
        """See what undisturbed runs make in each state, and how many calls they take."""
        for program in self._programs:
            for state in range(len(self._states)):
                self._clean(program)
                self._set(state)
                cold = self._undisturbed(program)
                self._expected[program.name, state] = _files(program.folders), _names(program.folders)
            self._calls[program.name, "cold"] = _most(cold)
            self._set(0)
            self._undisturbed(program)
            for change, state in (("edit", 1), ("wide", 2)):
                self._set(state)
                self._calls[program.name, change] = _most(self._undisturbed(program))
                self._set(0)
                self._undisturbed(program)

    def _killed_once(self, program: Program, change: str, death: Death) -> tuple[Ended, list[str]]:
        """Kill a run that goes from one state to another, and give all that is wrong then and after the next run."""
        before, after = (
            (2, 0) if change == "wide" and self._chance.random() < 0.5 else (0, 2 if change == "wide" else 1)
        )
        self._set(before)
        if change == "cold":
            self._clean(program)
        else:
            self._undisturbed(program)
        self._set(after)
        ended = killed_run(program.run, death, self._folder)
        old = {} if change == "cold" else self._expected[program.name, before][0]
        new = self._expected[program.name, after][0]
        faults = _lost(_files(program.folders), old, new)
        if ended.outlived > LONGEST:
            faults.append(f"a process outlived the run by {ended.outlived:.1f} s")
        if not os.WIFSIGNALED(ended.status) and (left := _staging(program.folders)):
            faults.append(f"a run that was not killed left {left}")
        # What the killed run was to make is not always asked for again.
        state = self._chance.choice((before, after))
        self._set(state)
        self._undisturbed(program)
        faults += self._left(program, state)
        return ended, faults

    def _left(self, program: Program, state: int) -> list[str]:
        """What is not as an undisturbed run leaves it."""
        expected, names = self._expected[program.name, state]
        faults = [f"after the next run {path} differs" for path in _differing(_files(program.folders), expected)]
        left = sorted(_names(program.folders) - names)
        faults += [f"{path} is left" for path in left]
        return faults

    def _undisturbed(self, program: Program) -> Ended:
        ended = killed_run(program.run, NOBODY, self._folder)
        assert ended.status == 0, f"{program.name} failed with {ended.status}"
        return ended

    def _set(self, state: int) -> None:
        for path, text in self._states[state].items():
            if path.read_text() != text:
                path.write_text(text)

    def _clean(self, program: Program) -> None:
        for folder in program.folders:
            shutil.rmtree(folder, ignore_errors=True)


def _drop_in(inputs: Path, folder: Path) -> None:
    out = folder / "dropped"
    places = {"--install-dir": out / "aten", "--aoti-install-dir": out / "aoti", "--headeronly-install-dir": out / "h"}
    words = [str(word) for option in places.items() for word in option]
    lists = ["--output-dependencies", str(out / "lists" / "made.cmake"), "--release", reference_version()]
    leave(lambda: gen.main(["--source-path", str(inputs), "--per-operator-headers", "--prune", *words, *lists]))


def _most(ended: Ended) -> tuple[int, int]:
    """The number of calls of the first process, and the most of any other."""
    return max(ended.calls[0]), max(ended.calls[1])


def _walked(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        yield from (path for path in sorted(folder.rglob("*")) if path.is_file() or not any(path.iterdir()))


def _is_state(path: Path) -> bool:
    return STATE_FOLDER in path.parts or "cache" in path.parts


def _files(folders: Iterable[Path]) -> Files:
    """The outputs below folders."""
    return {
        str(path): path.read_bytes()
        for path in _walked(folders)
        if path.is_file() and not _is_state(path) and not _is_staging(path)
    }


def _is_staging(path: Path) -> bool:
    return any(part.startswith(STAGING_PREFIX) for part in path.parts)


def _names(folders: Iterable[Path]) -> frozenset[str]:
    """The paths of all files and empty folders."""
    return frozenset(map(str, _walked(folders)))


def _staging(folders: Iterable[Path]) -> list[str]:
    return [str(path) for path in _walked(folders) if _is_staging(path)]


def _lost(files: Files, old: Files, new: Files) -> list[str]:
    """Which files hold neither the old contents nor the new."""
    faults = [
        f"{path} is neither old nor new" for path, data in files.items() if data not in (old.get(path), new.get(path))
    ]
    return faults + [f"{path} is lost" for path in old.keys() & new.keys() if path not in files]


def _differing(files: Files, expected: Files) -> list[str]:
    return sorted(path for path in files.keys() | expected.keys() if files.get(path) != expected.get(path))
