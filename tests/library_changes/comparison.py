"""Whether verdicts on random changes agree with what saved programs do."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from opwright.source.diagnostic import Diagnostics, FaultsFound
from opwright.tools.diff.compare import compare
from opwright.tools.diff.diffing import load_side
from opwright.tools.diff.records import Level
from opwright.tools.diff.reports import verdict_on
from tests.compile.library import BuiltLibrary, build_library
from tests.library_changes import drawing
from tests.library_changes.drawing import Argument, Operator

__all__ = ["DrawnPair", "Judged", "drawn_pairs", "judged"]

NAMESPACE: Final = "changes"
_HEAD: Final = f"namespace: {NAMESPACE}\nderivatives: derivatives.yaml\noperators:\n"
_PROGRAMS: Final = Path(__file__).with_name("programs.py")

#: What calls have, besides the values that defaults have.
_VALUES: Final[dict[str, tuple[Any, ...]]] = {
    "int": (-1, 0, 1, 2, 3, 4, 6, 8),
    "float": (-2.0, -0.5, 0.0, 1e-6, 0.5, 1.0, 2.0, float("nan"), float("inf")),
    "bool": (False, True),
    "str": ("sum", "mean", "max"),
}
_SIZES: Final[tuple[list[int], ...]] = ([2, 3], [4, 3], [1, 1], [3], [2, 3, 3], [0, 3], [2, 4], [5, 6], [], [1, 3])
_DTYPES: Final = ("float32", "float32", "float64", "float64", "int64", "bfloat16", "int32")
#: How many calls are tried of each operator, and how many of those that it takes are kept.
_TRIED: Final = 150
_KEPT: Final = 16


class DrawnPair(NamedTuple):
    """Two forms of an operator, what the change is called, and the verdict on it with its reasons."""

    change: str
    old: Operator
    new: Operator
    level: Level
    reasons: str


class Judged(NamedTuple):
    """A pair, and what the programs that its old form saved do with the new one."""

    pair: DrawnPair
    programs: int
    faults: tuple[str, ...]

    @property
    def is_wrong(self) -> bool:
        """Whether a change that is called compatible breaks a program."""
        return bool(self.faults) and self.pair.level is not Level.major

    def __str__(self) -> str:
        pair = self.pair
        told = f"{pair.change} is called {pair.level.name} ({pair.reasons}); {len(self.faults)} of {self.programs}:"
        return "\n".join([told, *self.faults[:3], pair.old.text(), pair.new.text()])


def drawn_pairs(count: int, chance: random.Random, folder: Path) -> list[DrawnPair]:
    """Pairs of which each form is a legal library file, with verdicts."""
    pairs: list[DrawnPair] = []
    while len(pairs) < count:
        old = drawing.drawn(len(pairs), chance)
        change = drawing.changed(old, chance)
        found = None if change is None else _verdict(old, change[1], folder)
        if change is not None and found is not None:
            pairs.append(DrawnPair(change[0], old, change[1], *found))
    return pairs


def _verdict(old: Operator, new: Operator, folder: Path) -> tuple[Level, str] | None:
    """The verdict on a change with its reasons; None if one of the forms is no legal entry."""
    sides = []
    for name, operator in (("old", old), ("new", new)):
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "derivatives.yaml").write_text(operator.derivatives() or "[]\n")
        path = folder / name / f"{NAMESPACE}.yaml"
        path.write_text(_HEAD + operator.entry())
        sink = Diagnostics()
        try:
            sides.append(load_side(str(path), None, sink).side)
            sink.raise_if_errors()
        except FaultsFound:
            return None
    comparison = compare(*sides)
    reasons = "; ".join([reason.text for change in comparison.changes for reason in change.reasons])
    return verdict_on(comparison.changes, comparison, "").level, reasons


def judged(pairs: Sequence[DrawnPair], chance: random.Random, folder: Path, program: str) -> Iterator[Judged]:
    """What the programs of the old forms do with the new ones, each of which is one library."""
    calls = [_operator_calls(pair.old, chance) for pair in pairs]
    folder.mkdir(parents=True)
    (folder / "calls.json").write_text(json.dumps(calls))
    _run("save", _built([pair.old for pair in pairs], folder / "old", program), folder)
    outcomes = json.loads(_run("run", _built([pair.new for pair in pairs], folder / "new", program), folder))
    for pair in pairs:
        own = [outcome for outcome in outcomes if outcome["operator"] == pair.old.name]
        faults = [
            f"  {each['kind']} of {json.dumps(each['call'])}: {each['outcome']}"
            for each in own
            if each["outcome"] != "same"
        ]
        yield Judged(pair, len(own), tuple(faults))


def _built(operators: Sequence[Operator], folder: Path, program: str) -> BuiltLibrary:
    kernels = "".join([operator.definition() for operator in operators])
    text = (
        "#include <ATen/ATen.h>\n"
        f"namespace {NAMESPACE} {{\nnamespace native {{\n"
        "static double sum_of(const at::Tensor& x) { return x.to(at::kDouble).sum().item<double>(); }\n"
        "static double sums_of(at::TensorList list) {\n"
        "  double sum = 0;\n  for (const auto& x : list) sum += sum_of(x);\n  return sum;\n}\n"
        f"{kernels}}}\n}}\n"
    )
    entries = _HEAD + "".join([operator.entry() for operator in operators])
    derivatives = "".join([operator.derivatives() for operator in operators]) or "[]\n"
    return build_library(NAMESPACE, entries, derivatives, text, folder, program)


def _run(what: str, library: BuiltLibrary, folder: Path) -> str:
    words = [_PROGRAMS, what, library.binary, library.python, NAMESPACE, folder]
    command = [sys.executable, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=3600)
    assert done.returncode == 0, done.stderr[-6000:]
    return done.stdout


def _operator_calls(operator: Operator, chance: random.Random) -> dict[str, object]:
    """The operator as the programs know it, with calls of which it takes some."""
    return {
        "name": operator.name,
        "positional": [argument.name for argument in operator.arguments if not argument.keyword],
        "calls": [_call(operator, chance) for _ in range(_TRIED)],
        "most": _KEPT,
    }


def _call(operator: Operator, chance: random.Random) -> dict[str, object]:
    sizes, dtype = chance.choice(_SIZES), chance.choice(_DTYPES)
    call: dict[str, object] = {}
    for argument in operator.ordered():
        if argument.default and chance.random() < 0.4:
            continue
        call[argument.name] = _argument_value(argument, chance, sizes, dtype)
    return call


def _argument_value(argument: Argument, chance: random.Random, sizes: list[int], dtype: str) -> object:
    base = argument.type.removesuffix("?").removesuffix("[]")
    if base == "Tensor":
        is_first = argument.name == "x"
        own = sizes if is_first or chance.random() < 0.5 else chance.choice([sizes[-1:], [1, *sizes[1:]], *_SIZES])
        tensor = {
            "sizes": own,
            "dtype": dtype if is_first or chance.random() < 0.7 else chance.choice(_DTYPES),
            "layout": chance.choice(("dense", "dense", "gaps", "mixed")),
            "seed": chance.randrange(1, 6),
        }
        return [tensor] * chance.randrange(3) if argument.type.endswith("[]") else tensor
    if argument.type.endswith("?") and chance.random() < 0.3:
        return None
    if base == "Scalar":
        base = chance.choice(("int", "float"))
    return chance.choice(_VALUES[base])
