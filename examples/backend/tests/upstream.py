"""Runs a file of PyTorch's tests on the device and on the CPU, and compares how each test ends."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Final, NamedTuple

from skips import UPSTREAM

#: How long a process may take before its first test.
SECONDS_TO_COLLECT: Final = 900

#: The device, and what it is compared with.
DEVICES: Final = ("acme", "cpu")

#: The files with tests of two processes that exchange tensors.
OF_PROCESSES: Final = ("distributed/test_c10d_gloo.py", "distributed/test_distributed_spawn.py")

# Why a test does not pass on the device, where the CPU passes it. Whatever has no reason is a fault.
MISSING: Final = "kernel missing"
UNDECLARED: Final = "feature not declared"
MEMORY: Final = "memory"
TIME: Final = "time"
LIMIT: Final = "PyTorch's own limit"
NO_REASON: Final = "no reason"
REASONS: Final = (MISSING, UNDECLARED, MEMORY, TIME, LIMIT, NO_REASON)

#: What tests say that gives the reason.
_SAID: Final = (
    (UNDECLARED, r"from the '(Sparse|SparseCsr|Quantized|NestedTensor)acme' backend"),
    (MISSING, r"^NotImplementedError: Could not run '[\w:.]+' with arguments from the 'acme' backend"),
    (MISSING, r"^NotImplementedError: `[\w:.]+` does not run on acme"),
    (MISSING, r"^NotImplementedError: \"\w+\" not implemented for '\w+'"),
    (MEMORY, r"^OutOfMemoryError: acme:\d+ is out of memory"),
)

#: What tests say that ask for more than PyTorch lets the device give, and what that is; `UPSTREAM` has their names.
_LIMITS: Final = {
    r"is only implemented on CPU tensors": "a function for the CPU alone",
    r"^AttributeError: module 'torch._C' has no attribute '_broadcast_coalesced'": "a build of PyTorch with CUDA",
}


#: How a test ended that failed before its first line, in what PyTorch does to set it up, and what stands for all tests
#: of a file that cannot be imported.
NOT_RUN: Final = "did not run"
IMPORT: Final = "all tests of the file"


class Outcome(NamedTuple):
    """How a test ended, and what it said: one line."""

    outcome: str
    said: str = ""


class Side(NamedTuple):
    """What a file of tests gave on one device. `tests` are those that it found and chose, None before it has looked."""

    tests: list[str] | None
    outcomes: dict[str, Outcome]
    again: set[str]
    fault: str


class Limits(NamedTuple):
    """Which share of the tests runs, as in `shares`, and for how many seconds each."""

    each: str
    seconds: float


class Difference(NamedTuple):
    """A test that does not pass on the device, with the reason, and the limit of PyTorch's if that is the reason."""

    test: str
    outcome: Outcome
    on_cpu: Outcome
    reason: str
    limit: str

    @property
    def passes_on_cpu(self) -> bool:
        """Whether the test ends on the CPU as PyTorch expects."""
        return self.on_cpu.outcome in {"passed", "xfailed"}


class Compared(NamedTuple):
    """What comparing a file found.

    Tests that are `equal` pass, or fail as PyTorch expects. Those that fail on both devices with the same error are
    apart, and so are those that got no further than `setUp` on both.
    """

    file: str
    tests: int
    left_out: int
    equal: int
    both_fail: int
    not_run: int
    differences: list[Difference]

    @property
    def run(self) -> int:
        """How many tests ran."""
        return self.tests - self.left_out - self.not_run

    @property
    def passes_on_cpu(self) -> int:
        """How many tests pass on the CPU of those that ran on the device."""
        return self.equal + sum(difference.passes_on_cpu for difference in self.differences)

    @property
    def nothing_ran(self) -> bool:
        """Whether no test says anything about the device, though some should."""
        return bool(self.not_run or self.both_fail) and not (self.equal or self.differences)


def device_generic_files(folder: Path) -> list[Path]:
    """The files of PyTorch's tests that have tests for each device, and that with those of processes."""
    files = sorted([*folder.glob("test_*.py"), *folder.glob("nn/test_*.py")])
    generic = [file for file in files if re.search(r"(?m)^ *instantiate_device_type_tests\(", file.read_text("utf-8"))]
    return [*generic, *[file for file in map(folder.joinpath, OF_PROCESSES) if file.is_file()]]


def label(path: Path) -> str:
    """The name of a file in the report."""
    return path.stem if path.parent.name == "test" else f"{path.parent.name}/{path.stem}"


def shares(options: Iterable[str]) -> dict[str, str]:
    """Which share runs of the tests of a file, and of the others as that of "": `20` is one of 20, `20:1` the next."""
    found = {}
    for option in options:
        parts = re.fullmatch(r"(?:([\w/]+)=)?([1-9]\d*(?::\d+)?)", option)
        if parts is None:
            raise ValueError(f"--each takes N, N:K, FILE=N or FILE=N:K, not {option!r}")
        found[parts[1] or ""] = parts[2]
    return found


def run_file(path: Path, device: str, out: Path, limits: Limits) -> Side:
    """What the tests of a file give on a device: what an earlier run of the same left, and all that is left to run.

    A file in which no test was found is looked at again: the device may not have been installed, or what it imports.
    """
    journal = _journal(path, device, out)
    journal.parent.mkdir(parents=True, exist_ok=True)
    head = json.dumps({"path": str(path), "of": _fingerprint(path, device), "each": limits.each})
    if (
        not journal.is_file()
        or journal.read_text(encoding="utf-8").partition("\n")[0] != head
        or _side(journal).tests in (None, [], [IMPORT])
    ):
        journal.write_text(f"{head}\n", encoding="utf-8")
    while _run_process(path, device, journal, limits):
        pass
    return _side(journal)


def compare_file(path: Path, out: Path, limits: Limits) -> Compared:
    """How the tests of a file end on the device, beside how they end on the CPU.

    A test that differs without a reason runs once more, alone: what others left in the process may be why it differs.
    """
    mine, cpu = [run_file(path, device, out, limits) for device in DEVICES]
    for difference in compare(label(path), mine, cpu).differences:
        if difference.reason == NO_REASON and difference.test and difference.test not in mine.again:
            for device in DEVICES:
                _append(_journal(path, device, out), {"again": difference.test})
            mine, cpu = [run_file(path, device, out, limits) for device in DEVICES]
    return compare(label(path), mine, cpu)


def _journal(path: Path, device: str, out: Path) -> Path:
    return out / device / f"{path.parent.name}-{path.stem}.jsonl"


def _fingerprint(path: Path, device: str) -> str:
    """A digest of what outcomes depend on: the tests, PyTorch, and the package of the device."""
    total = hashlib.sha256(version("torch").encode())
    package = [] if device == "cpu" else sorted(Path(f"torch_{device}").rglob("*"))
    for file in (path, *package):
        if file.suffix in {".py", ".so"}:
            total.update(file.read_bytes())
    return total.hexdigest()[:16]


def _run_process(path: Path, device: str, journal: Path, limits: Limits) -> bool:
    """Run what is left of a file, up to a test that ends the process or takes too long. Gives whether to go on."""
    before = _side(journal)
    if before.fault or (before.tests is not None and len(before.outcomes) == len(before.tests)):
        return False
    folders = [Path(__file__).parent, Path(__file__).parents[1]]
    environment = os.environ | {
        "UPSTREAM_JOURNAL": str(journal.resolve()),
        "UPSTREAM_EACH": limits.each,
        "PYTORCH_TESTING_DEVICE_ONLY_FOR": "cpu" if device == "cpu" else "privateuse1",
        "PYTHONPATH": os.pathsep.join([*map(str, folders), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0" if device == "cpu" else "1",
        "OPWRIGHT_FALLBACK_WARNINGS": "never",
        "OMP_NUM_THREADS": "1",
        # What PyTorch's tests of processes ask for.
        "BACKEND": "gloo",
        "WORLD_SIZE": "2",
        "TEMP_DIR": "",
    }
    options = ["-q", "-p", "upstream_worker", "-p", "no:cacheprovider", "-p", "no:xdist", "--noconftest"]
    options += ["-c", os.devnull, f"--rootdir={path.parent}", "--tb=native", str(path)]
    work = (journal.parent / "work").resolve()
    work.mkdir(exist_ok=True)
    with journal.with_suffix(".log").open("ab") as log:
        command = [sys.executable, "-m", "pytest", *options]
        process = subprocess.Popen(
            command, cwd=work, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    is_late = _wait(process, journal, limits)
    after, test = _side(journal), _open_test(journal)
    if test is not None:
        how, said = ("time", f"more than {limits.seconds:g} s") if is_late else ("crash", _ending(process))
        _append(journal, {"ends": test, "outcome": how, "said": said})
    elif process.returncode < 0 or after.tests is None:
        when = "before the first test" if after.tests is None else "after the tests"
        _append(journal, {"fault": after.fault or f"the process ended {when}: {_ending(process)}"})
    return test is not None


def _ending(process: subprocess.Popen[bytes]) -> str:
    status = process.returncode
    return signal.Signals(-status).name if status < 0 else f"exit status {status}"


def _wait(process: subprocess.Popen[bytes], journal: Path, limits: Limits) -> bool:
    """Wait for a process, and end it if one test takes too long. Gives whether it did.

    The process is killed from outside: a test that hangs in C++ answers to no signal that Python handles.
    """
    size, since = -1, time.monotonic()
    while process.poll() is None:
        time.sleep(0.2)
        if journal.stat().st_size != size:
            size, since = journal.stat().st_size, time.monotonic()
        allowed = SECONDS_TO_COLLECT if _open_test(journal) is None else limits.seconds
        if time.monotonic() - since > allowed:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return True
    return False


def _append(journal: Path, line: dict[str, str]) -> None:
    with journal.open("a", encoding="utf-8") as file:
        print(json.dumps(line), file=file)


def _open_test(journal: Path) -> str | None:
    """The test that began last and has not ended."""
    with journal.open("rb") as file:
        file.seek(max(0, journal.stat().st_size - 20_000))
        last = file.read().splitlines()[-1]
    return json.loads(last).get("begins") if last.startswith(b'{"begins"') else None


def _side(journal: Path) -> Side:
    tests: list[str] | None = None
    outcomes: dict[str, Outcome] = {}
    again: set[str] = set()
    fault = ""
    for line in map(json.loads, journal.read_text(encoding="utf-8").splitlines()):
        tests = line.get("found", tests)
        fault = line.get("fault", fault)
        if "again" in line:
            again.add(line["again"])
            outcomes.pop(line["again"], None)
        # A test ends more than once if it passes and what follows it fails.
        if "ends" in line and outcomes.get(line["ends"], Outcome("passed")).outcome == "passed":
            outcomes[line["ends"]] = Outcome(line["outcome"], line["said"])
    return Side(tests, outcomes, again, fault)


def compare(file: str, mine: Side, cpu: Side) -> Compared:
    """How the tests of a file end on the device, beside how they end on the CPU."""
    differences = []
    left_out = equal = both_fail = not_run = 0
    if mine.fault:
        differences.append(_difference(file, "", Outcome("crash", mine.fault), Outcome("crash", cpu.fault)))
    for test, outcome in sorted(mine.outcomes.items()):
        # A test for the device alone should pass.
        on_cpu = cpu.outcomes.get(test, Outcome("passed"))
        if outcome.outcome == "skipped":
            left_out += 1
        elif outcome.outcome == "passed":
            equal += 1
        elif outcome.outcome == on_cpu.outcome == NOT_RUN:
            not_run += 1
        elif outcome.outcome in {"failed", "xfailed"} and _without_device(outcome) == _without_device(on_cpu):
            both_fail += outcome.outcome == "failed"
            equal += outcome.outcome == "xfailed"
        else:
            differences.append(_difference(file, test, outcome, on_cpu))
    return Compared(file, len(mine.tests or ()), left_out, equal, both_fail, not_run, differences)


def _without_device(outcome: Outcome) -> Outcome:
    """What a test would say on the CPU, if it failed there with the same error: as much as is kept of each text."""
    text = re.sub(r",\s*device='[^']*'|\s+", "", outcome.said.lower())
    return outcome._replace(said=re.sub(r"(acme|privateuse1)(:\d+)?", "cpu", text)[:1000])


def _difference(file: str, test: str, outcome: Outcome, on_cpu: Outcome) -> Difference:
    """A test that does not pass, with the reason: a limit of PyTorch's where the CPU does not pass it either."""
    said = [reason for reason, pattern in _SAID if re.search(pattern, outcome.said)]
    limits = [limit for pattern, limit in _LIMITS.items() if re.search(pattern, outcome.said)]
    limits += [limit for pattern, limit in UPSTREAM.items() if re.fullmatch(pattern, f"{file}::{test}")]
    if "time" in (outcome.outcome, on_cpu.outcome):
        reason = TIME
    elif outcome.outcome == on_cpu.outcome and on_cpu.said:
        reason, limits = LIMIT, ["another error on the CPU"]
    elif outcome.outcome == "crash":
        reason = NO_REASON
    elif said:
        reason = said[0]
    else:
        reason = LIMIT if limits else NO_REASON
    return Difference(test, outcome, on_cpu, reason, limits[0] if reason == LIMIT else "")


def _totals(rows: Sequence[Compared]) -> list[tuple[str, ...]]:
    """The table: for each file how many tests it has and run on the device, how these end, and the others by reasons.

    The share of those that are equal is of the tests that pass on the CPU, and then of those among them that PyTorch
    lets pass on a device like this. The last row is of all files.
    """
    head = ("file", "tests", "run", "equal", "both fail", "did not run", "CPU passes", "of these", "but for limits")
    table = [(*head, *REASONS)]
    counts = {row.file: _counts(row) for row in rows}
    if counts:
        counts["all"] = [*map(sum, zip(*counts.values(), strict=True))]
    for name, row in counts.items():
        *numbers, passes, possible = row[: -len(REASONS)]
        shares = [f"{numbers[2] / count:.1%}" if count else "" for count in (passes, possible)]
        table.append((name, *map(str, (*numbers, passes)), *shares, *map(str, row[-len(REASONS) :])))
    return table


def _counts(row: Compared) -> list[int]:
    """The numbers of a row of the table: with those of the tests that the CPU passes, and that the device can pass."""
    passes = row.passes_on_cpu
    possible = passes - sum(bool(difference.limit) for difference in row.differences if difference.passes_on_cpu)
    reasons = Counter(difference.reason for difference in row.differences)
    numbers = row.tests, row.run, row.equal, row.both_fail, row.not_run, passes, possible
    return [*numbers, *[reasons[name] for name in REASONS]]


def _limits(rows: Iterable[Compared]) -> list[tuple[str, ...]]:
    """What tests ask for that PyTorch lets no device like this give, with the files, and how many tests of each do."""
    counts = Counter((difference.limit, row.file) for row in rows for difference in row.differences if difference.limit)
    found = [(limit, file, str(count)) for (limit, file), count in sorted(counts.items())]
    return [("PyTorch's own limit", "file", "tests"), *found]


_STYLE = """
body { font: 14px sans-serif; margin: 2em; } table { border-collapse: collapse; } th { text-align: left; }
td, th { border: 1px solid #8884; padding: 2px 8px; vertical-align: top; }
"""


def _page(rows: Iterable[Compared]) -> str:
    """The table as HTML, and below it each test that does not pass on the device, with the reason and what it says."""
    rows = [*rows]
    faults = [("file", "test", "device", "CPU", "reason", "what it says")]
    for row in rows:
        for test, outcome, on_cpu, reason, limit in row.differences:
            why = f"{reason}: {limit}" if limit else reason
            faults.append((row.file, test, outcome.outcome, on_cpu.outcome, why, outcome.said))
    tables = "".join([_table(table) for table in (_totals(rows), _limits(rows), faults)])
    title = "Tests of PyTorch on acme"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style><h1>{title}</h1>{tables}</html>\n"
    )


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    lines = []
    for number, row in enumerate(rows):
        tag = "td" if number else "th"
        lines.append(f"<tr>{''.join([f'<{tag}>{escape(cell)}</{tag}>' for cell in row])}</tr>")
    return f"<table>{''.join(lines)}</table><p></p>"


def _text(rows: Iterable[Compared]) -> str:
    """The table as text, and below it the limits and the tests without a reason."""
    rows = [*rows]
    lines = [*_aligned(_totals(rows)), "", *_aligned(_limits(rows)), ""]
    for row in rows:
        for difference in row.differences:
            if difference.reason == NO_REASON:
                said = (difference.outcome.said.splitlines() or [""])[0]
                lines.append(f"{row.file}::{difference.test}: {difference.outcome.outcome}, {said}")
        if row.nothing_ran:
            lines.append(f"{row.file}: no test ran that passes on the CPU")
    return "\n".join([*lines, ""])


def _aligned(table: list[tuple[str, ...]]) -> list[str]:
    """The lines of a table as text, words on the left."""
    columns = [*zip(*table, strict=True)]
    widths = [max(map(len, column)) for column in columns]
    sides = [str.rjust if all(re.match(r"\d|$", cell) for cell in column[1:]) else str.ljust for column in columns]
    return ["  ".join([side(*cell) for side, *cell in zip(sides, row, widths, strict=True)]).rstrip() for row in table]


def report(folder: Path) -> str:
    """Write what the journals say of the device, of the tests and of PyTorch as they are, and give it as text."""
    rows = []
    for journal in sorted((folder / "upstream" / "acme").glob("*.jsonl")):
        other = folder / "upstream" / "cpu" / journal.name
        heads = [json.loads(side.open(encoding="utf-8").readline()) for side in (journal, other) if side.is_file()]
        if len(heads) == 2 and [head["of"] for head in heads] == [
            _fingerprint(Path(heads[0]["path"]), device) for device in DEVICES
        ]:
            compared = compare(label(Path(heads[0]["path"])), _side(journal), _side(other))
            each = heads[0]["each"]
            rows.append(compared if each == "1" else compared._replace(file=f"{compared.file}, 1 of {each}"))
    if rows:
        (folder / "upstream.txt").write_text(_text(rows), encoding="utf-8")
        (folder / "upstream.html").write_text(_page(rows), encoding="utf-8")
    return _text(rows)
