"""Judges right and wrong kernels of ten kinds, and cheats: `make judge`.

    python -m tests.judge                         all, with two seeds
    python -m tests.judge --only rms_norm --seeds 3 --times 20

Fails if a right kernel is refused, or if less than 99% of the others are.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from opwright.libraries.extension.inline import build_texts
from opwright.libraries.judge.accept import Judge
from opwright.libraries.judge.processes import WorkerLimits
from opwright.libraries.judge.verdict import Verdict

HERE = Path(__file__).parent / "kinds"
KINDS = HERE / "kinds.yaml"
#: The candidate that kernels in C++ are until they are built.
CPP = "C++"
OPERATORS = re.findall(r"- func: (\w+)\(", KINDS.read_text(encoding="utf-8"))


class Case(NamedTuple):
    """A candidate: of which group it is, its operator, its name, and what the judge is told."""

    group: str
    operator: str
    name: str
    candidate: str


def right_kernels() -> Iterator[Case]:
    """Right kernels, those in languages that are here."""
    languages = {"PyTorch": "right_torch.py"}
    languages |= {name: f"right_{name.lower()}.py" for name in ("Numba", "Triton") if has(name.lower())}
    for language, file in languages.items():
        for operator in OPERATORS:
            yield Case("right", operator, language, str(HERE / file))
    yield from functions("right", "right_unusual.py")
    for operator in OPERATORS:
        yield Case("right", operator, "C++", CPP)


def built(cases: list[Case]) -> list[Case]:
    """The cases, with the shared object of those in C++, which is built if there are any."""
    if all(case.candidate != CPP for case in cases):
        return cases
    texts = [path.read_text(encoding="utf-8") for path in (KINDS, HERE / "right.cpp")]
    library = f"{build_texts(*texts)}/kinds.so"
    return [case._replace(candidate=library) if case.candidate == CPP else case for case in cases]


def has(module: str) -> bool:
    """Whether a module is installed."""
    return importlib.util.find_spec(module) is not None


def functions(group: str, file: str) -> Iterator[Case]:
    """Kernels by the names of the functions in a file: that of the operator, and what is special about them."""
    path = HERE / file
    for name in re.findall(r"^(?:def )?([a-z]\w+?__\w+)(?:\(| = )", path.read_text(encoding="utf-8"), re.MULTILINE):
        operator = next(each for each in OPERATORS if name.startswith(f"{each}__"))
        yield Case(group, operator, name.removeprefix(f"{operator}__"), f"{path}::{name}")


def cheats(folder: Path) -> Iterator[Case]:
    """Cheats, each in a file of its own."""
    opening = f"import sys; sys.path.insert(0, {str(HERE)!r}); import right_torch as right; import torch\n"
    opening += f"NOW = {time.time()}\n"
    for part in (HERE / "cheats.txt").read_text(encoding="utf-8").split("\n=== ")[1:]:
        head, _, text = part.partition("\n")
        name, operator = head.split()
        path = folder / f"{name}.py"
        path.write_text(opening + text, encoding="utf-8")
        yield Case("cheat", operator, name, str(path))


def usual_verdicts(cases: list[Case], folder: Path) -> dict[Case, list[bool]]:
    """Whether usual judges refuse each candidate in Python: with one shape, and with samples."""
    in_python = [case for case in cases if ".so" not in case.candidate and case.name not in ("Numba", "Triton")]
    rows = [
        (path, function or case.operator, case.operator)
        for case in in_python
        for path, _, function in [case.candidate.partition("::")]
    ]
    file = folder / "usual.json"
    file.write_text(json.dumps(rows), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "tests.judge.usual", file], stdout=subprocess.PIPE, text=True, check=True
    )
    return dict(zip(in_python, map(json.loads, done.stdout.splitlines()), strict=True))


def verdicts(cases: list[Case], seed: int, times: int, *, verbose: bool) -> dict[Case, Verdict]:
    """The verdict about each candidate. Raises SystemExit if it is another one at one of some times."""
    found = {}
    for operator in OPERATORS:
        own = [case for case in cases if case.operator == operator]
        if not own:
            continue
        with Judge(f"{KINDS}::{operator}") as judge:
            for case in own:
                start = time.monotonic()
                verdict = found[case] = judge.accept(
                    case.candidate, seed=seed, seconds=240, limits=WorkerLimits(call_seconds=60)
                )
                for _ in range(times - 1):
                    again = judge.accept(case.candidate, seed=seed, seconds=240, limits=WorkerLimits(call_seconds=60))
                    if (again.verdict, again.finding) != (verdict.verdict, verdict.finding):
                        raise SystemExit(f"the verdict about {case.name} differs:\n{verdict}\n{again}")
                is_right = (case.group == "right") == (verdict.verdict == "accepted")
                check = verdict.finding.check if verdict.finding is not None else verdict.why
                took = time.monotonic() - start
                print(
                    f"{'' if is_right else 'WRONG: '}{verdict.verdict} {case.group} {operator} {case.name}: "
                    f"{check} ({took:.1f} s)",
                    flush=True,
                )
                if verbose or (case.group == "right" and not is_right):
                    print(verdict, flush=True)
    return found


def main() -> int:
    """Judge all, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="names of operators, groups and candidates, separated by commas")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--times", type=int, default=1, help="how often each is judged, with one verdict (default: 1)")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    only = set(filter(None, arguments.only.split(",")))
    status = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cases = [*right_kernels(), *functions("wrong", "wrong.py"), *cheats(folder)]
        cases = [case for case in cases if not only or only & {case.group, case.operator, case.name}]
        cases = built(cases)
        by_seed = {seed: verdicts(cases, seed, arguments.times, verbose=arguments.verbose) for seed in arguments.seeds}
        usual = usual_verdicts(cases, folder)
        for seed, found in by_seed.items():
            refused = Counter(case.group for case, verdict in found.items() if verdict.verdict == "refused")
            counts = Counter(case.group for case in found)
            print(f"\nseed {seed}: refused by")
            print(f"{'':8} {'accept':>12} {'one shape':>12} {'samples':>12}")
            for group, count in counts.items():
                rows = [row for case, row in usual.items() if case.group == group]
                shown = [f"{sum(row[place] for row in rows)}/{len(rows)}" for place in (0, 1)]
                print(f"{group:8} {f'{refused[group]}/{count}':>12} {shown[0]:>12} {shown[1]:>12}")
            checks = Counter(
                verdict.finding.check
                for case, verdict in found.items()
                if case.group != "right" and verdict.finding is not None
            )
            print("by check:", ", ".join([f"{check} {count}" for check, count in checks.most_common()]))
            accepted = sum(verdict.verdict == "accepted" for case, verdict in found.items() if case.group == "right")
            others = counts["wrong"] + counts["cheat"]
            status |= accepted < counts["right"] or refused["wrong"] + refused["cheat"] < 0.99 * others
    return status


if __name__ == "__main__":
    sys.exit(main())
