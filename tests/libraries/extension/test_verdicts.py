"""How a new backend counts PyTorch's tests: a test that did not run says nothing about the device."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.libraries.extension.backend_project import EXAMPLE

#: How each test ends on the device and on the CPU, with what both say; `acme` stands for the device.
IN_SET_UP = ("did not run", "did not run", "RecursionError: maximum depth")
BOTH_FAIL = ("failed", "failed", "AssertionError: on acme")
BOTH_PASS = ("passed", "passed", "")
EXPECTED = ("xfailed", "xfailed", "AssertionError: on acme")
LEFT_OUT = ("skipped", "passed", "SkipTest: for the CPU")


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module of the example that compares the tests."""
    monkeypatch.syspath_prepend(str(EXAMPLE / "tests"))
    yield importlib.import_module("upstream")
    for name in ("upstream", "skips"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("tests", "counts", "nothing_ran"),
    [
        ([IN_SET_UP, IN_SET_UP], (0, 0, 0, 2), True),
        ([BOTH_FAIL, IN_SET_UP], (1, 0, 1, 1), True),
        ([BOTH_PASS, IN_SET_UP], (1, 1, 0, 1), False),
        ([BOTH_PASS, BOTH_FAIL, EXPECTED], (3, 2, 1, 0), False),
        ([("did not run", "passed", "RuntimeError: on acme")], (1, 0, 0, 0), False),
        ([LEFT_OUT], (0, 0, 0, 0), False),
        ([], (0, 0, 0, 0), False),
    ],
)
def test_what_tests_say(
    upstream: ModuleType, tests: list[tuple[str, str, str]], counts: tuple[int, int, int, int], nothing_ran: bool
) -> None:
    """Tests that fail on both, and those that end in `setUp` on both, are not among those that are equal."""
    sides = []
    for side, device in enumerate(("acme", "cpu")):
        outcomes = {
            str(number): upstream.Outcome(test[side], test[2].replace("acme", device))
            for number, test in enumerate(tests)
        }
        sides.append(upstream.Side([*outcomes], outcomes, set(), ""))
    compared = upstream.compare("test_few", *sides)
    assert (compared.run, compared.equal, compared.both_fail, compared.not_run) == counts
    assert compared.nothing_ran == nothing_ran
    assert len(compared.differences) == counts[0] - counts[1] - counts[2]


def test_shares(upstream: ModuleType) -> None:
    """The share of tests that are equal is of those that pass on the CPU, and each limit of PyTorch's is counted."""
    ends = {
        "T::test_few": ("passed", "passed", ""),
        "T::test_print_coalesced_float32": ("failed", "passed", "AssertionError: of PyTorch's limits"),
        "T::test_kernel": ("failed", "passed", "NotImplementedError: `few` does not run on acme"),
        "T::test_words": ("failed", "failed", "AssertionError: of the one on acme, of the other there"),
        "T::test_both": BOTH_FAIL,
    }
    sides = [upstream.Side([*ends], {}, set(), "") for _ in range(2)]
    for test, (mine, cpu, said) in ends.items():
        sides[0].outcomes[test] = upstream.Outcome(mine, said)
        sides[1].outcomes[test] = upstream.Outcome(cpu, said.replace("acme", "cpu").replace("of the one", "once"))
    compared = upstream.compare("test_sparse", *sides)
    head, row, total = upstream._totals([compared])
    assert total[1:] == row[1:]
    assert len(upstream._totals([])) == 1
    table = dict(zip(head, row, strict=True))
    names = ("run", "equal", "both fail", "CPU passes", "of these", "but for limits", upstream.LIMIT, upstream.MISSING)
    assert [table[name] for name in names] == ["5", "1", "1", "3", "33.3%", "50.0%", "2", "1"]
    assert upstream._limits([compared])[1:] == [
        ("another error on the CPU", "test_sparse", "1"),
        ("texts that name other devices", "test_sparse", "1"),
    ]


def test_file_without_import(upstream: ModuleType, tmp_path: Path) -> None:
    """A file that cannot be imported did not run, and one that cannot be on the device alone is a fault."""
    path = tmp_path / "test_few.py"
    path.write_text("import no_such_module\n", encoding="utf-8")
    cpu = upstream.run_file(path, "cpu", tmp_path / "journals", upstream.Limits("1", 60))
    assert list(cpu.outcomes.values()) == [
        upstream.Outcome("did not run", "ModuleNotFoundError: No module named 'no_such_module'")
    ]
    both = upstream.compare("test_few", cpu, cpu)
    assert (both.run, both.not_run, both.nothing_ran) == (0, 1, True)
    (fault,) = upstream.compare("test_few", cpu, upstream.Side([], {}, set(), "")).differences
    assert fault.reason == upstream.NO_REASON


def test_which_tests_run(upstream: ModuleType) -> None:
    """Options choose a share of the tests of a file, or of all, and say what they do not understand."""
    assert upstream.shares(["4", "test_linalg=8", "distributed/test_few=2:1"]) == {
        "": "4",
        "test_linalg": "8",
        "distributed/test_few": "2:1",
    }
    assert upstream.shares([]) == {}
    for option in ("0", "4:", "=4", "test_linalg", "half"):
        with pytest.raises(ValueError, match="--each takes"):
            upstream.shares([option])
