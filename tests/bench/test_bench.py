"""The benchmarks measure what their scenarios state."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench.measure import Measured, RunFailed, Sample, measure, run_stage
from bench.report import row, write_figures
from bench.scenarios import FORMULA, OPERATOR, Edit, Scenario, Stage, State, scenarios
from tests.conformance.jobs import Job
from tests.conformance.process import run_program

WRITE = "import os, sys; open('made', 'a').write('x'); sys.exit(int(len(sys.argv) > 1))"


def sleeper(state: State, *arguments: str) -> Scenario:
    """A scenario in which the reference sleeps ten times as long as Opwright."""
    sleep = "import time; time.sleep({}); "
    return Scenario(
        Job(
            "sleeper",
            reference=(("-c", sleep.format(0.3) + WRITE),),
            opwright=(("-c", sleep.format(0.03) + WRITE, *arguments),),
        ),
        state,
    )


def test_pairs_are_measured(tmp_path: Path) -> None:
    """Each side runs once for each round and once uncounted, and takes at least as long as its program sleeps."""
    result = measure(sleeper(State.UNCHANGED), 2, tmp_path, lambda _: None)
    assert len(result.reference) == len(result.opwright) == 2
    assert min(sample.seconds for sample in result.reference) >= 0.3
    assert min(sample.seconds for sample in result.opwright) >= 0.03
    assert (tmp_path / "opwright" / "output" / "made").read_text() == "xxx"


def test_ratios_are_those_of_pairs() -> None:
    """A pair in a slow phase of the machine does not move the figure: the median of the pairs' ratios counts."""
    reference, opwright = ([Sample(seconds, 1) for seconds in side] for side in ((6.0, 40.0, 3.0), (2.0, 20.0, 1.0)))
    assert Measured(sleeper(State.COLD), tuple(reference), tuple(opwright)).ratio == 3


def test_cold_runs_find_nothing(tmp_path: Path) -> None:
    """A cold run starts in an empty folder each time."""
    measure(sleeper(State.COLD), 2, tmp_path, lambda _: None)
    assert (tmp_path / "opwright" / "output" / "made").read_text() == "x"


def test_failing_program_is_no_figure(tmp_path: Path) -> None:
    """A program that fails ends the measurement instead of looking quick."""
    with pytest.raises(RunFailed, match="exit status 1"):
        measure(sleeper(State.COLD, "fail"), 1, tmp_path, lambda _: None)


ENTRY = "- func: cosine_similarity(Tensor x1, int dim=1, float eps={}) -> Tensor\n- func: sub() -> ()\n"
GRADIENT = "- name: sinh(Tensor self) -> Tensor\n  self: {}\n  result: auto_element_wise\n"


@pytest.mark.parametrize(
    ("edit", "text", "old", "new"),
    [
        (OPERATOR, ENTRY, "1e-08", "1e-03"),
        (FORMULA, GRADIENT, "grad * self.cosh().conj()", "grad * self.cosh().conj() * 3"),
    ],
)
def test_edits_differ_and_stay_valid(tmp_path: Path, edit: Edit, text: str, old: str, new: str) -> None:
    """Each edit gives another text, and edits do not pile up."""
    path = tmp_path / edit.path
    path.parent.mkdir(parents=True)
    path.write_text(text.format(old))
    texts = []
    for number in range(3):
        edit.make(tmp_path, number)
        texts.append(path.read_text())
    assert len(set(texts)) == 3
    assert texts[2] == text.format(new)


def edited_scenarios() -> list[Scenario]:
    """The scenarios that edit an input before each run."""
    return [scenario for scenario in scenarios() if scenario.state is State.EDITED]


def test_edits_of_each_program_are_measured() -> None:
    """One edit is measured for each program that a build runs after one."""
    assert [scenario.name for scenario in edited_scenarios()] == [
        "full one edit",
        "autograd one edit",
        "python one edit",
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("scenario", edited_scenarios(), ids=lambda scenario: scenario.name)
def test_edits_change_outputs(tmp_path: Path, scenario: Scenario) -> None:
    """Each edit of the real inputs changes some files that the measured program writes, and not most of them."""
    stage = Stage(scenario, "opwright", tmp_path)
    stage.set_up()
    written = []
    for number in range(2):
        stage.before_run(number)
        run_stage(stage)
        written.append({path: path.read_bytes() for path in stage.output.rglob("*") if is_output(path)})
    changed = [path for path, text in written[0].items() if written[1][path] != text]
    assert written[0].keys() == written[1].keys()
    assert 0 < len(changed) < 20


def is_output(path: Path) -> bool:
    """Whether the file is one that a program writes for its user, not what it keeps for its own next run."""
    return path.is_file() and not any(part.startswith(".") for part in path.parts)


def test_row_shows_ratios() -> None:
    """Times are divided by ours and memory by theirs: more is better in the first, less in the second."""
    result = Measured(scenarios()[0], (Sample(8.0, 200_000_000),) * 3, (Sample(1.0, 100_000_000),) * 3)
    assert row(result) == ("headers cold", "8.00", "1.00", "8.0", "200", "100", "0.50")


def test_figures_replace_older_ones(tmp_path: Path) -> None:
    """The page keeps its text, and only what stands between the marks is new."""
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- begin figures -->\nold\n<!-- end figures -->\nafter\n")
    write_figures("new", page)
    write_figures("newer", page)
    assert page.read_text() == "before\n<!-- begin figures -->\n\nnewer\n\n<!-- end figures -->\nafter\n"


def test_memory_of_the_measuring_process_does_not_count() -> None:
    """A small program's peak is that of an interpreter, however much memory the process has that measures it."""
    ballast = b"-" * 200_000_000
    finished = run_program([sys.executable, "-S", "-c", "print(1)"], Path.cwd())
    assert (finished.status, finished.output) == (0, "1\n")
    assert 2_000_000 < finished.peak_bytes < len(ballast) / 4


@pytest.mark.parametrize(("code", "status"), [("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 9)", -9)])
def test_exit_statuses_are_those_of_the_program(code: str, status: int) -> None:
    """The process between does not change how the program ended."""
    assert run_program([sys.executable, "-S", "-c", code], Path.cwd()).status == status
