"""A short fuzzing run as part of the checks, and proof that it would notice."""

from __future__ import annotations

import copy
import ctypes
import subprocess
import sys
import time
from contextlib import suppress
from random import Random

import pytest
import yaml

from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound, Label
from opwright.source.span import Span
from opwright.source.text import SourceFile
from tests.fuzz import run
from tests.fuzz.__main__ import main
from tests.fuzz.checks import check_text
from tests.fuzz.damage import DAMAGES, Damage
from tests.fuzz.run import damaged_file, damaged_text, fuzz, memory_limit
from tests.fuzz.structure import CHANGES, Change
from tests.fuzz.targets import NAMES, Target, targets

#: A seed with which the texts below are damaged as texts, not as bytes that may not be UTF-8.
TEXT_SEED = 4
TEXT = "- func: add(Tensor self) -> Tensor\n  variants: function\n  dispatch:\n    CPU: add_cpu\n"


@pytest.fixture(scope="module")
def made_targets() -> dict[str, Target]:
    """All targets, which hold the operators of PyTorch."""
    return {target.name: target for target in targets()}


@pytest.fixture(params=NAMES)
def target(made_targets: dict[str, Target], request: pytest.FixtureRequest) -> Target:
    """One after another."""
    return made_targets[request.param]


def test_every_target_is_fuzzed(made_targets: dict[str, Target]) -> None:
    """The names above are those of the targets."""
    assert sorted(made_targets) == sorted(NAMES)


@pytest.mark.parametrize("seeds", [range(20), pytest.param(range(20, 100), marks=pytest.mark.thorough)], ids=str)
def test_damaged_inputs_give_diagnostics(target: Target, seeds: range) -> None:
    """No damaged excerpt of an input gives a traceback or takes long."""
    findings = [finding for seed in seeds if (finding := fuzz(target, seed))]
    assert not findings, findings[0].report + findings[0].text


def test_undamaged_inputs_are_sound(target: Target) -> None:
    """Without damage the inputs have no fault, so that what fuzzing meets comes of the damage alone."""
    if target.load is check_text:
        pytest.skip("the cases of `opwright check` have faults")
    for text in target.entries if target.most == 1 else ["".join(target.entries)]:
        sink = Diagnostics()
        target.load(text, sink)
        assert not sink.has_errors


def test_traceback_is_found() -> None:
    """A loader that breaks is reported with the text that broke it, and the same seed gives the same text again."""

    def broken(text: str, sink: Diagnostics) -> object:
        raise KeyError(text)

    first, second = (fuzz(Target("broken", [TEXT], broken), 7) for _ in range(2))
    assert first is not None
    assert first.report.rstrip().startswith("Traceback")
    assert second is not None
    assert first.text == second.text


@pytest.mark.alone
def test_hang_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loader that does not end is stopped and reported, even where it swallows exceptions."""
    monkeypatch.setattr(run, "SLOWEST_SECONDS", 0.05)

    def stuck(text: str, sink: Diagnostics) -> object:
        try:
            time.sleep(5)
        except Exception:
            time.sleep(5)
        return None

    finding = fuzz(Target("stuck", [TEXT], stuck), TEXT_SEED)
    assert finding is not None
    assert "TooSlow" in finding.report


def test_memory_without_end_is_found() -> None:
    """A loader that takes all memory is stopped and reported in a process with limited memory."""
    code = (
        "from tests.fuzz import __main__ as program; from tests.fuzz.run import fuzz; "
        "from tests.fuzz.targets import Target; program._limit_memory(); "
        "finding = fuzz(Target('greedy', ['- a'], lambda text, sink: bytearray(8 << 30)), 4); "
        "print(finding.report.splitlines()[-1])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("MemoryError")


@pytest.mark.alone
def test_growth_is_found() -> None:
    """A block that needs too much memory fails, also after one that needed more, and where a process keeps memory."""
    assert bytes([1]) * (90 << 20)
    if hasattr(ctypes.CDLL(None), "mallopt"):
        # The process keeps freed memory (M_TRIM_THRESHOLD), and blocks of a megabyte are in it (M_MMAP_THRESHOLD).
        ctypes.CDLL(None).mallopt(-1, 1 << 30)
        ctypes.CDLL(None).mallopt(-3, 32 << 20)
        assert [bytes([1]) * (1 << 20) for _ in range(90)]
    with pytest.raises(AssertionError, match="megabytes more"), memory_limit(20):
        assert bytes([1]) * (60 << 20)


def test_bytes_that_are_not_text_are_found_wrong() -> None:
    """Some files are damaged as bytes; those that are no text are refused before any loader sees them."""

    def keep(text: str, sink: Diagnostics) -> object:
        return (text, sink)

    refused = 0
    for seed in range(200):
        with suppress(UnicodeDecodeError):
            damaged_file(Target("text", [TEXT], keep), seed).decode()
            continue
        refused += 1
        assert fuzz(Target("text", [TEXT], keep), seed) is None
    assert refused > 5


def test_place_outside_is_found() -> None:
    """A diagnostic whose place is not inside its file is reported."""

    def wild(text: str, sink: Diagnostics) -> object:
        file = SourceFile("wild.yaml", text)
        sink.error("E0101", "wild", file.span(0), also=[Label(Span(file, 0, len(text) + 1), primary=False)])
        return None

    finding = fuzz(Target("wild", [TEXT], wild), TEXT_SEED)
    assert finding is not None
    assert "places outside" in finding.report


def test_accepted_operators_are_emitted(made_targets: dict[str, Target]) -> None:
    """What the loader accepts of operators goes through the emitters, whose tracebacks are found too."""
    native = made_targets["native_functions.yaml"]
    count = native.load("- func: add(Tensor self) -> Tensor\n", Diagnostics())
    assert isinstance(count, int)
    assert count > 100
    accepted = 0
    for seed in range(60):
        with suppress(Fault, FaultsFound):
            accepted += bool(native.load(damaged_text(native, seed), Diagnostics()))
    assert accepted > 3


@pytest.mark.parametrize("change", {change.__name__: change for change in CHANGES}.values())
def test_each_change_changes_the_entries(change: Change) -> None:
    """Every kind of change to entries changes many of them, and copes with an empty entry."""
    changed = 0
    for seed in range(50):
        entries = yaml.safe_load(TEXT + TEXT.replace("add", "add_.x"))
        before = copy.deepcopy(entries)
        change(entries, Random(seed))
        changed += entries != before
    assert changed > 10
    change([{}], Random(0))


@pytest.mark.thorough
def test_program_uses_processes(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The program loads as many texts as are asked for, over several processes."""
    monkeypatch.setattr("sys.argv", ["fuzz", "--count", "1100", "--only", "tags", "--processes", "2"])
    assert main() == 0
    assert capsys.readouterr().out.endswith("1100 texts loaded, 0 tracebacks, hangs or places outside the file\n")


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_each_damage_changes_the_text(damage: Damage) -> None:
    """Every kind of damage changes most texts, and copes with a text of one character."""
    changed = sum(damage(TEXT, Random(seed)) != TEXT for seed in range(50))
    assert changed > 25
    damage("x", Random(0))
