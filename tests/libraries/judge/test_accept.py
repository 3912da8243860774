"""The judge accepts right kernels, and refuses wrong ones and cheats with what it found."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from random import Random

import pytest

from opwright.cli.main import main
from opwright.cli.schema import schema_text
from opwright.libraries.judge import judging
from opwright.libraries.judge.accept import Judge
from opwright.libraries.judge.candidates import find_candidate
from opwright.libraries.judge.drawing import Drawer, Recipe
from opwright.libraries.judge.entry import entry_of
from opwright.libraries.judge.processes import WorkerLimits
from opwright.libraries.judge.verdict import Verdict
from opwright.source.diagnostic import Fault
from opwright.source.text import SourceFile
from tests.torch_process import TorchProcess

pytestmark = pytest.mark.skipif(sys.platform != "linux" or find_spec("torch") is None, reason="needs Linux and PyTorch")

LIBRARY = """\
namespace: judged
operators:
- func: scale(Tensor x, Tensor by) -> Tensor
  dispatch: {CPU: scale}
  dims: {x: "*b d", by: d, return: "*b d"}
  dtypes: {x: float32, by: x}
  layout: {x: contiguous, by: contiguous}
  reference: judged_reference:scale
- func: mark_(Tensor(a!) x, Tensor index) -> ()
  dispatch: {CPU: mark_}
  dims: {x: "n d", index: m}
  dtypes: {x: float32, index: int64}
  values: {index: "0 <= index < n"}
  reference: judged_reference:mark
- func: unknown(Tensor x) -> Tensor
  dispatch: {CPU: unknown}
- func: twice(Tensor(a!) result, Tensor x) -> ()
  dispatch: {CPU: twice}
  dims: {result: "n d", x: "n d"}
  dtypes: {x: float32, result: x}
  contracts: [functional, out]
  reference: judged_reference:twice
- func: sums(Tensor x) -> (Tensor sum, Tensor squares)
  dispatch: {CPU: sums}
  dims: {x: "n d", sum: n, squares: n}
  dtypes: {x: float32, sum: x, squares: x}
  saved: squares
  reference: judged_reference:sums
- func: size(Tensor x) -> Tensor
  dispatch: {CPU: size}
  dims: {x: "n d", return: "n d"}
  dtypes: {x: float32, return: x}
  reference: judged_reference:size
"""
REFERENCE = """\
def scale(x, by):
    return x * by

def mark(x, index):
    return x.index_fill(0, index, 1.0)

def twice(x):
    return 2 * x

def sums(x):
    return x.sum(-1), (x * x).sum(-1)

def size(x):
    return x.abs()
"""
#: A candidate that finds what writes its results, and answers in its place.
ANSWERING = """\
import gc

def scale(x, by):
    for value in gc.get_objects():
        if type(value).__name__ == "Results":
            value.read = lambda *_: {"results": [[[{"dtype": "__class__", "shape": [-1, "a"], "at": 1e9}]]]}
    return x * by
"""
#: A candidate that gives views of one buffer, by turns.
RING = """\
import torch
ring, at = torch.empty(1 << 14), 0

def scale(x, by):
    global at
    if x.numel() > 1024: return x * by
    at = (at + 1024) % len(ring)
    return ring[at : at + x.numel()].view(x.shape).copy_(x * by)
"""
RIGHT = "def scale(x, by):\n    return by * x\n"
#: A right one that keeps memory for each thread, which a call that records a graph would make a part of it.
KEEPING = """\
import threading, torch
own = threading.local()

def scale(x, by):
    if not hasattr(own, "memory"): own.memory = torch.empty(1 << 21)
    return own.memory[: x.numel()].view(x.shape).copy_(x).mul_(by).clone()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the library file and the reference."""
    path = tmp_path_factory.mktemp("judged")
    (path / "judged.yaml").write_text(LIBRARY, encoding="utf-8")
    (path / "judged_reference.py").write_text(REFERENCE, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def scale_judge(folder: Path) -> Iterator[Judge]:
    """The judge of `scale`."""
    with Judge(f"{folder}/judged.yaml::scale") as judge:
        yield judge


def verdict_of(judge: Judge, folder: Path, text: str, *, seed: int = 0) -> Verdict:
    """The verdict about a candidate with a text."""
    path = folder / "candidate.py"
    path.write_text(text, encoding="utf-8")
    return judge.accept(str(path), seed=seed)


def test_right_kernel_is_accepted(scale_judge: Judge, folder: Path) -> None:
    """The verdict counts what was compared, and says what was not."""
    verdict = verdict_of(scale_judge, folder, RIGHT)
    assert verdict, verdict
    counts = dict(verdict.compared)
    assert counts["values"] > 25
    assert counts["many calls"] > 20
    assert counts["second gradients"] == 2
    assert set(dict(verdict.not_compared)) <= {"many calls"}


def test_memory_of_a_thread_is_accepted(scale_judge: Judge, folder: Path) -> None:
    """Gradients are computed where no other calls are made."""
    verdict = verdict_of(scale_judge, folder, KEEPING)
    assert verdict, verdict


@pytest.mark.thorough
def test_gradients_may_be_zeros_without_memory(folder: Path) -> None:
    """PyTorch's second gradients of `abs` are some."""
    with Judge(f"{folder}/judged.yaml::size") as judge:
        verdict = verdict_of(judge, folder, "def size(x):\n    return x.abs()\n")
    assert verdict, verdict
    assert dict(verdict.compared)["second gradients"] == 2


def test_slow_kernels_get_fewer_calls(scale_judge: Judge, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdict says which checks made fewer calls. The same seed gives the same finding as of a quick kernel."""
    slow = "import time\ndef scale(x, by):\n    until = time.thread_time() + SECONDS * x.numel()\n"
    slow += "    while time.thread_time() < until: pass\n    return x * by FAULT\n"
    shares = {check: seconds / 20 for check, seconds in judging._SHARES.items()}
    monkeypatch.setattr(judging, "_SHARES", shares)
    verdict = verdict_of(scale_judge, folder, slow.replace("SECONDS", "1e-4").replace("FAULT", ""), seed=3)
    assert verdict, verdict
    assert {"values", "many calls", "kept results", "some large sizes"} <= dict(verdict.not_compared).keys()
    assert dict(verdict.compared)["values"] >= 16
    fault = "+ (x.shape[-1] % 2 == 1)"
    findings = [
        verdict_of(scale_judge, folder, slow.replace("SECONDS", seconds).replace("FAULT", fault), seed=3).finding
        for seconds in ("0", "1e-4")
    ]
    assert findings[0] == findings[1] is not None


@pytest.mark.parametrize(
    ("check", "text"),
    [
        ("values", "import torch\ndef scale(x, by):\n    return torch.zeros_like(x)\n"),
        ("values", "def scale(x, by):\n    return (x * by).double()\n"),
        ("values", "def scale(x, by):\n    return x * by if x.shape[-1] != 257 and x.numel() < 60000 else x\n"),
        ("values", "def scale(x, by):\n    x *= by\n    return x.clone()\n"),
        ("values", ANSWERING),
        ("values", "def scale(x, by):\n    return x * by if x.shape[-1] != 1 or x.numel() < 2 else x\n"),
        ("values", "import os\ndef scale(x, by):\n    os._exit(0)\n"),
        (
            "unwritten memory",
            "def scale(x, by):\n    y = x.new_empty(x.shape)\n    return y.copy_(x * by) if x.numel() < 9 else y\n",
        ),
        ("same pointers", "known = {}\ndef scale(x, by):\n    return known.setdefault(x.shape, x * by).clone()\n"),
        ("state of the process", "import torch\ntorch.equal = lambda *_: True\n" + RIGHT),
        ("state of the process", "import torch\ndef scale(x, by):\n    torch.manual_seed(0)\n    return x * by\n"),
        ("state of the process", "import gc\ndef scale(x, by):\n    gc.disable()\n    return x * by\n"),
        ("aliasing", RING),
        ("other threads", "def scale(x, by):\n    global now\n    now = x\n    return now * by\n"),
        ("values", "def scale(x, by):\n    return (x * by).requires_grad_()\n"),
    ],
)
def test_wrong_kernels_are_refused(scale_judge: Judge, folder: Path, check: str, text: str) -> None:
    """The finding names the check. What is written in arguments that are only read ends the worker."""
    verdict = verdict_of(scale_judge, folder, text)
    assert verdict.verdict == "refused", verdict
    assert verdict.finding is not None
    # Drawn sizes may come twice.
    assert verdict.finding.check in (check, "values", "unwritten memory"), verdict


def test_script_replays_a_finding(scale_judge: Judge, folder: Path, torch_process: TorchProcess) -> None:
    """Five lines show the difference without Opwright, and the same seed gives the same finding."""
    text = "def scale(x, by):\n    return x * by + 1\n"
    verdict = verdict_of(scale_judge, folder, text, seed=5)
    assert verdict == verdict_of(scale_judge, folder, text, seed=5)
    assert verdict.finding is not None
    assert len(verdict.finding.script.splitlines()) == 5
    assert "opwright" not in verdict.finding.script
    done = torch_process.run(verdict.finding.script, [])
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("tensor(") == 2


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("check", "text"),
    [
        ("other threads", "return x * by if threading.current_thread() is threading.main_thread() else x"),
        ("other threads", "global now\n    now = x\n    return now * by"),
        (
            "other threads",
            "global busy\n    busy += 1\n    result = x * by + (busy > 1 and not sys.gettrace())\n"
            "    time.sleep(1e-4)\n    busy -= 1\n    return result",
        ),
        ("same pointers", "return known.setdefault((x.shape, x.data_ptr(), float(by.sum())), x * by).clone()"),
        ("same pointers", "return known.setdefault((x.shape, by.data_ptr(), float(x.sum())), x * by).clone()"),
        ("aliasing", "global at\n    at = (at + 1) % 3\n    return rings[at].resize_(x.shape).copy_(x * by)"),
        ("many calls", "global at\n    at += 1\n    return x * by + (at > 700)"),
        ("settings", "return x * by + (torch.get_default_dtype() == torch.float64)"),
        ("settings", "return x * by + torch.is_inference_mode_enabled()"),
    ],
)
def test_script_replays_what_calls_do_together(
    scale_judge: Judge, folder: Path, torch_process: TorchProcess, check: str, text: str
) -> None:
    """Of calls that are wrong beside others, after them, or in another thread, the script makes the others too."""
    opening = "import sys, threading, time, torch\n"
    opening += "known, rings, at, busy = {}, [torch.empty(0) for _ in range(3)], 0, 0\n"
    verdict = verdict_of(scale_judge, folder, f"{opening}def scale(x, by):\n    {text}\n")
    assert verdict.finding is not None, verdict
    assert verdict.finding.check == check, verdict
    assert len(verdict.finding.script.splitlines()) == 5
    wrong = torch_process.run(verdict.finding.script, [])
    assert wrong.returncode == 0, wrong.stderr
    (folder / "candidate.py").write_text(RIGHT, encoding="utf-8")
    right = torch_process.run(verdict.finding.script, [])
    assert right.returncode == 0, right.stderr
    assert wrong.stdout != right.stdout


@pytest.mark.thorough
def test_script_finds_references_elsewhere(
    folder: Path, tmp_path: Path, torch_process: TorchProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference of an entry may be in another folder than its file, from where a script imports it too."""
    library = tmp_path / "library" / "acme.yaml"
    library.parent.mkdir()
    entry = 'func: twice(Tensor x) -> Tensor\n  dispatch: {CPU: twice}\n  dims: {x: "*b", return: "*b"}\n'
    library.write_text(f"namespace: acme\noperators:\n- {entry}  reference: elsewhere:twice\n", encoding="utf-8")
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "elsewhere.py").write_text("def twice(x):\n    return x * 2\n", encoding="utf-8")
    with Judge(f"{library}::twice", folders=(str(tmp_path / "modules"),)) as judge:
        verdict = verdict_of(judge, tmp_path, "def twice(x):\n    return x * 3\n")
    assert verdict.finding is not None
    monkeypatch.chdir(folder)
    done = torch_process.run(verdict.finding.script, [])
    assert done.returncode == 0, done.stderr


def test_written_arguments_are_compared(folder: Path) -> None:
    """An operator that writes is judged by its reference, with indices that the entry allows."""
    right = "def mark_(x, index):\n    x[index] = 1\n"
    wrong = "def mark_(x, index):\n    x.narrow(0, 0, len(x) - 1)[index[index < len(x) - 1]] = 1\n"
    with Judge(f"{folder}/judged.yaml::mark_") as judge:
        verdict = verdict_of(judge, folder, wrong)
        assert verdict.verdict == "refused", verdict
        # Nothing is allowed to be written where there is no index, for which no value has to be in the range.
        verdict = verdict_of(judge, folder, f"{right}    if not len(index): x.zero_()\n")
        assert verdict.verdict == "refused", verdict
        assert verdict_of(judge, folder, right)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("operator", "right", "wrong"),
    [
        ("twice", "result.copy_(x + x)", "result.add_(x + x)"),
        ("sums", "return x.double().sum(-1).float(), (x * x).sum(-1)", "return x.sum(-1), x.sum(-1)"),
    ],
)
def test_contracts_and_saved_results(folder: Path, operator: str, right: str, wrong: str) -> None:
    """The reference of an entry with contracts gives what is written, and that with saved results all of them."""
    head = {"twice": "def twice(result, x):", "sums": "def sums(x):"}[operator]
    with Judge(f"{folder}/judged.yaml::{operator}") as judge:
        assert verdict_of(judge, folder, f"{head}\n    {right}\n")
        assert verdict_of(judge, folder, f"{head}\n    {wrong}\n").verdict == "refused"


@pytest.mark.thorough
def test_slow_calls_decide_nothing(scale_judge: Judge, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that works for long may be right. One that sleeps is refused, or where the same call was quick before."""
    path = folder / "candidate.py"
    works = "start = time.monotonic()\n    while late and time.monotonic() < start + 9: pass"
    sleeps = "time.sleep(9 * late)"
    # Where there is one, a process that sleeps may wait for it.
    monkeypatch.setattr("opwright.libraries.judge.calls._ACCELERATORS", ())
    for before, what, expected in ((0, works, "undecided"), (1, works, "refused"), (0, sleeps, "refused")):
        text = f"calls.append(1)\n    late = len(calls) > {before}\n    {what}\n    return x * by\n"
        path.write_text(f"import time\ncalls = []\ndef scale(x, by):\n    {text}", encoding="utf-8")
        verdict = scale_judge.accept(str(path), limits=WorkerLimits(call_seconds=3))
        assert verdict.verdict == expected, verdict
        assert "takes more than 3 seconds" in (verdict.finding.text if verdict.finding else verdict.why)


def test_undecided(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a reference nothing is decided, which the exit status and the document say."""
    candidate = folder / "other.py"
    candidate.write_text("def unknown(x):\n    return x\n", encoding="utf-8")
    assert main(["accept", f"{folder}/judged.yaml::unknown", str(candidate), "--format", "json"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"] == "undecided"
    assert "no reference" in document["why"]
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(document, json.loads(schema_text("accept")))


@pytest.mark.parametrize("name", ["scael", "judged::nothing"])
def test_no_entry(folder: Path, name: str) -> None:
    """A name that no entry has is a mistake of the user."""
    file = SourceFile.read(f"{folder}/judged.yaml")
    with pytest.raises(Fault, match=re.escape(f"has no operator `{name}`")):
        entry_of(file, name)


def test_no_candidate() -> None:
    """So is a file that there is not."""
    with pytest.raises(Fault, match=r"there is no candidate `gone\.py`"):
        find_candidate("gone.py::f")
    assert find_candidate("acme.kernels::fast").kind == "module"


@pytest.mark.thorough
def test_the_same_seed_draws_the_same_calls(folder: Path) -> None:
    """Sizes, kinds of values and seeds of tensors follow from the seed, and integers keep to the entry."""
    entry = entry_of(SourceFile.read(f"{folder}/judged.yaml"), "mark_")
    first, second, third = (
        [Drawer(entry).draw(Recipe(profile), Random(seed)) for profile in ("odd", "any", "long")] for seed in (1, 1, 2)
    )
    assert first == second != third
    message = Drawer(entry).draw(Recipe("odd", fill="nan", only="index"), Random(1))
    assert message is not None
    assert message["values"]["x"]["fill"] == "normal"
    for message in first:
        assert message is not None
        rows = message["values"]["x"]["shape"][0]
        assert message["values"]["index"]["range"] == (0, rows - 1)
