"""Judges right and wrong kernels of ten kinds, and cheats: `make judge`.

    python -m tests.judge                         all, with two seeds
    python -m tests.judge --only rms_norm --seeds 3

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
OPERATORS = re.findall(r"- func: (\w+)\(", KINDS.read_text(encoding="utf-8"))


class Case(NamedTuple):
    """A candidate: of which group it is, its operator, its name, and what the judge is told."""

    group: str
    operator: str
    name: str
    candidate: str


def right_kernels(folder: Path) -> Iterator[Case]:
    """Right kernels, those in languages that are here."""
    languages = {"PyTorch": "right_torch.py"}
    languages |= {name: f"right_{name.lower()}.py" for name in ("Numba", "Triton") if has(name.lower())}
    for language, file in languages.items():
        for operator in OPERATORS:
            yield Case("right", operator, language, str(HERE / file))
    built = build_texts(KINDS.read_text(encoding="utf-8"), (HERE / "right.cpp").read_text(encoding="utf-8"))
    for operator in OPERATORS:
        yield Case("right", operator, "C++", f"{built}/kinds.so")


def has(module: str) -> bool:
    """Whether a module is installed."""
    return importlib.util.find_spec(module) is not None


def wrong_kernels() -> Iterator[Case]:
    """Wrong kernels, by the names of the functions in wrong.py."""
    path = HERE / "wrong.py"
    for name in re.findall(r"^def (\w+?__\w+)\(", path.read_text(encoding="utf-8"), re.MULTILINE):
        operator = next(each for each in OPERATORS if name.startswith(f"{each}__"))
        yield Case("wrong", operator, name.removeprefix(f"{operator}__"), f"{path}::{name}")


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


def verdicts(cases: list[Case], seed: int, *, verbose: bool) -> dict[Case, Verdict]:
    """The verdict about each candidate."""
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
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    only = set(filter(None, arguments.only.split(",")))
    status = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cases = [*right_kernels(folder), *wrong_kernels(), *cheats(folder)]
        cases = [case for case in cases if not only or only & {case.group, case.operator, case.name}]
        by_seed = {seed: verdicts(cases, seed, verbose=arguments.verbose) for seed in arguments.seeds}
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
