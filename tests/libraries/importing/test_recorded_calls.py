"""Calls of a library are recorded while others run, stored with bounds, and tried with the original."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from opwright.cli.main import main
from opwright.migrate.calls.compared_calls import tried_facts
from opwright.migrate.calls.outcomes import CallOutcome
from opwright.migrate.calls.recorder import HEADER, MOST_ALIKE, MOST_BYTES, KeptCalls
from opwright.migrate.calls.stored_calls import CallCounts, StoredRecord, counted, merged, read_records
from opwright.migrate.importing.drafts import draft_derivatives
from opwright.migrate.importing.recorded_calls import TriedCalls
from opwright.migrate.importing.registration import RegistrationStatement, SourcePlace
from opwright.migrate.importing.tried import with_tried
from opwright.source.diagnostic import Fault

LIVE = """\
import torch

library = torch.library.Library("acme_calls", "DEF")
library.define("scale(Tensor x, float by=1) -> Tensor")
library.impl("scale", lambda x, by=1: x * by, "CPU")
library.define("fill(Tensor x, Tensor out) -> ()")
library.define("bump_(Tensor(a!) x) -> Tensor(a!)")
library.impl("bump_", lambda x: (x.detach().numpy().__iadd__(1), x)[1], "CPU")
library.define("part(Tensor x) -> Tensor")
library.define("whole.first(Tensor x) -> Tensor")
library.define("whole.second(int x) -> int")
library.impl("part", lambda x: x[1:], "CPU")
library.impl("whole.first", lambda x: x + 1, "CompositeImplicitAutograd")
library.impl("whole.second", lambda x: x + 1, "CompositeImplicitAutograd")
torch.library.register_fake("acme_calls::scale", lambda x, by=1: x.new_empty(2))
library.define("made(int n) -> Tensor")
library.impl("made", lambda n: torch.ones(n), "BackendSelect")


def fill(x, out):
    if x.numel() > 99:
        raise ValueError("too large")
    out.copy_(x.detach())


library.impl("fill", fill, "CPU")
"""
PROGRAM = """\
import torch

import acme_recorded

x = torch.rand(4, 3).t()
for _ in range(30):
    torch.ops.acme_calls.scale(x, 2.0)
torch.ops.acme_calls.fill(x, torch.zeros(3, 4))
torch.ops.acme_calls.bump_(torch.zeros(3))
torch.ops.acme_calls.bump_(torch.zeros(1).expand(3))
for refused in (
    lambda: torch.ops.acme_calls.fill(torch.zeros(100), torch.zeros(100)),
    lambda: torch.ops.acme_calls.scale(torch.eye(3).to_sparse(), 2.0),
):
    try:
        refused()
    except (ValueError, NotImplementedError):
        pass
torch._C._jit_get_operation("acme_calls::part")[0](x)
torch.ops.acme_calls.whole(3)
torch.ops.acme_calls.whole(x)
torch.ops.acme_calls.made(2)
"""
#: Ends with 1 where recording is seen: a mode gets the copies of tensors, or PyTorch compiles nothing.
WATCHING = """\
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import acme_recorded


class Watching(TorchDispatchMode):
    seen = []

    def __torch_dispatch__(self, function, types, given=(), named=None):
        self.seen.append(str(function))
        return function(*given, **named or {})


@torch.compile(backend="eager", fullgraph=True)
def compiled(x):
    return torch.ops.acme_calls.scale(x, 3.0)


with Watching():
    torch.ops.acme_calls.scale(torch.rand(2), 2.0)
compiled(torch.rand(2))
assert Watching.seen == ["aten.rand.default", "acme_calls.scale.default"], Watching.seen
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, from which processes import."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    Path("acme_recorded.py").write_text(LIVE)
    return tmp_path


@pytest.mark.thorough
@pytest.mark.usefixtures("torch")
def test_calls_of_a_command_are_recorded_and_tried(capsys: pytest.CaptureFixture[str]) -> None:
    """What a program calls is stored, as far as it can be, and shows what kernels write, share and record."""
    Path("program.py").write_text(PROGRAM)
    status = main(["import", "acme_recorded", "--out", "o.yaml", "--record", sys.executable, "program.py"])
    printed = capsys.readouterr().out
    assert status == 0, printed
    counts = counted(read_records("o.calls"))
    assert counts.calls == {
        "acme_calls::scale": MOST_ALIKE,
        "acme_calls::fill": 2,
        "acme_calls::bump_": 2,
        "acme_calls::part": 1,
        "acme_calls::whole.first": 1,
        "acme_calls::whole.second": 1,
        "acme_calls::made": 1,
    }
    assert counts.not_stored == {"a sparse tensor": 1, f"more than {MOST_ALIKE} calls with the same sizes": 20}
    assert "recorded: 18 calls of 7 operators in o.calls; the command ended with 0" in printed
    assert "not recorded: 1 call: a sparse tensor" in printed
    assert "tried with the original: 7 operators, 17 calls; 1 more call raised errors" in printed
    assert "tried: `acme_calls::fill`: in 1 of 1 call, the kernel writes `out`, which the schema does not" in printed
    assert (
        "tried: `acme_calls::scale`: in 10 of 10 calls, its fake is wrong: sizes [3, 4] in a call, and [2]" in printed
    )
    text = Path("o.yaml").read_text()
    assert "# 1 of 1 call shows that a result has memory of `x`, as `Tensor(a)` says" in text
    assert "# 10 of 10 calls show that gradients flow through the kernel\n" in text
    shared = "elements of `x`, which is written, share memory: write `overlap: allowed`"
    assert f"tried: `acme_calls::bump_`: in 1 of 2 calls, {shared}" in printed
    assert f"# 1 of 2 calls shows that {shared}\n" in text
    assert "gradients flow through the kernel" not in text.partition("func: bump_")[0].rpartition("- func")[2]


@pytest.mark.usefixtures("torch")
def test_commands_do_not_see_that_they_are_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    """A mode of a test gets what the test calls alone, and what it compiles is compiled."""
    Path("watching.py").write_text(WATCHING)
    assert main(["import", "acme_recorded", "--out", "o.yaml", "--record", sys.executable, "watching.py"]) == 0
    assert "recorded: 2 calls of 1 operator in o.calls; the command ended with 0" in capsys.readouterr().out


def test_arguments_that_are_given_back_are_told() -> None:
    """A result that is an argument is one that the schema has to name, unless the argument is written."""
    place = SourcePlace("a.cpp", 1, 1)
    rows = [
        RegistrationStatement("acme", name, place, schema=f"{name}(Tensor(a!) x, Tensor y) -> Tensor", keys=("CPU",))
        for name in ("f", "g_")
    ]
    facts = {"acme::f": [("returns", "y", 1)], "acme::g_": [("returns", "x", 2), ("declared", "x", 2)]}
    tried = TriedCalls({"acme::f": 3, "acme::g_": 2}, facts, CallCounts(Counter(), Counter()))
    notes = [row.notes for row in with_tried(rows, tried)]
    assert notes == [("1 of 3 calls shows that it returns `y` itself, as `Tensor(a)` says",), ()]


def test_what_gradients_of_calls_show() -> None:
    """A call without gradients loses them, one that raises says nothing, and one with gradients records them."""
    eager = {"results": ["list", []], "written": [["x", False, True, False, None, 4, True]], "aliases": []}
    given = {"through": True, "first": {"results": ["list", [["tensor"]]]}}
    ways: tuple[CallOutcome, ...] = ({"through": False}, {"error": ["E", ""]}, given)
    records = [StoredRecord(f"acme::{name}", "", b"") for name in "abc"]
    outcomes = {number: {"eager": eager, "gradients": way} for number, way in enumerate(ways)}
    common = [["overlaps", "x", 1], ["writes", "x", 1]]
    facts = tried_facts(records, outcomes)["facts"]
    assert {name: sorted(rows) for name, rows in facts.items()} == {
        "acme::a": sorted([*common, ["loses", "", 1]]),
        "acme::b": common,
        "acme::c": sorted([*common, ["records", "", 1]]),
    }


def test_functions_whose_results_have_no_gradients_keep_none() -> None:
    """A draft says so, unless some call records gradients, or an argument is written."""
    place = SourcePlace("a.cpp", 1, 1)
    schemas = ("f(Tensor x) -> (Tensor, Tensor)", "g(Tensor x, Tensor(a!) y) -> ()", "h(Tensor x) -> Tensor")
    rows = [
        RegistrationStatement("acme", schema[0], place, schema, ("CPU",), kernel="k", is_bound=True)
        for schema in schemas
    ]
    facts = {f"acme._C.{name}": [("loses", "", 2)] for name in "fgh"}
    facts["acme._C.h"].append(("records", "", 1))
    tried = TriedCalls(dict.fromkeys(facts, 3), facts, CallCounts(Counter(), Counter()))
    assert draft_derivatives(with_tried(rows, tried), ()).text == (
        "# a.cpp:1: 2 of 3 calls show that results have no gradients\n"
        "- name: acme::f(Tensor x) -> (Tensor, Tensor)\n"
        "  output_differentiability: [False, False]\n"
    )


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        (("CPU",), True),
        (("CompositeExplicitAutograd",), True),
        (("CPU", "CompositeImplicitAutograd"), True),
        (("CompositeImplicitAutograd", "Meta"), False),
        (("CPU", "AutogradCPU"), False),
    ],
)
def test_gradients_are_told_of_kernels_below_autograd(keys: tuple[str, ...], *, told: bool) -> None:
    """A kernel that is called for Autograd itself goes on to record what it records."""
    place = SourcePlace("a.cpp", 1, 1)
    rows = [RegistrationStatement("acme", "f", place, schema="f(Tensor x) -> Tensor")]
    rows += [RegistrationStatement("acme", "f", place, keys=(key,), kernel="k") for key in keys]
    tried = TriedCalls({"acme::f": 1}, {"acme::f": [("records", "", 1)]}, CallCounts(Counter(), Counter()))
    (schema, *kernels) = with_tried(rows, tried)
    assert any("gradients flow" in note for note in schema.notes) is told
    assert [bool(row.gives) for row in kernels] == [told and "Implicit" not in key for key in keys]


@pytest.mark.usefixtures("torch")
def test_commands_without_calls_are_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """A command that calls nothing, or that cannot be run, leaves no file."""
    for command, told in (([sys.executable, "-c", "1"], "made no call"), (["./no_such_command"], "cannot run")):
        assert main(["import", "acme_recorded", "--out", "o.yaml", "--record", *command]) == 1
        assert told in capsys.readouterr().err
        assert not Path("o.calls").exists()
    assert main(["import", "acme_recorded.py", "--out", "o.yaml", "--samples", "o.calls"]) == 2


@pytest.mark.thorough
@pytest.mark.usefixtures("torch")
def test_functions_of_modules_are_compared_with_operators(capsys: pytest.CaptureFixture[str]) -> None:
    """The port of a function of a module is the operator of its name, and never the module that is installed."""
    Path("acme_mod.py").write_text("import torch\ndef fill(x, out):\n    out.copy_(x)\n")
    port = 'import torch\nlibrary = torch.library.Library("acme_mod", "DEF")\n'
    port += 'library.define("fill(Tensor x, Tensor(a!) out) -> ()")\n'
    Path("good.py").write_text(f'{port}library.impl("fill", lambda x, out: [out.copy_(x)] and None, "CPU")\n')
    Path("bad.py").write_text(f'{port}library.impl("fill", lambda x, out: [out.copy_(x + 1)] and None, "CPU")\n')
    Path("none.py").write_text("import torch\n")
    samples = "import torch\ndef calls():\n    yield 'acme_mod.fill', [torch.rand(3), torch.zeros(3)]\n"
    Path("samples.py").write_text(samples)
    words = ["import", "acme_mod", "--out", "o.yaml", "--samples", "samples.py", "--check", "--port"]
    for name, told in (
        ("good", "1 call: 0 differences are lost, added or changed"),
        ("bad", "changed: `acme_mod.fill`: in 1 call"),
        ("none", "lost: `acme_mod.fill`: in 1 call, such as (float32[3], float32[3]): the port has no such operator"),
    ):
        status = main([*words, name])
        printed = capsys.readouterr().out
        assert told in printed, printed
        assert status == (name != "good")


#: Two functions of one source: what it says of their arguments is less than what calls say.
BOUND = """\
#include <torch/extension.h>
void launch(float* to, const float* from, int64_t n);
void step(at::Tensor& x, at::Tensor& out, at::Tensor& state, at::Tensor& never) {
  launch(out.data_ptr<float>(), x.data_ptr<float>(), x.numel());
  state.add_(1);
}
PYBIND11_MODULE(acme_mod, m) {
  m.def("step", &step);
  m.def("other", &step, py::arg("x"), py::arg("out"), py::arg("state"), py::arg("never"));
}
"""


@pytest.mark.usefixtures("torch")
def test_calls_say_what_references_write(capsys: pytest.CaptureFixture[str]) -> None:
    """A reference that no call writes is not drafted as written, unless the source says it; both are told."""
    Path("acme_mod.py").write_text("import torch\ndef step(x, out, state, never):\n    out.copy_(x)\n")
    Path("csrc").mkdir()
    Path("new").mkdir()
    Path("csrc/bound.cpp").write_text(BOUND)
    call = "yield 'acme_mod.step', [torch.rand(3), torch.zeros(3), torch.rand(3), torch.zeros(0)]"
    Path("samples.py").write_text(f"import torch\ndef calls():\n    {call}\n    {call}\n")
    words = ["import", "csrc", "--module", "acme_mod", "--out", "new/o.yaml", "--samples", "samples.py"]
    assert main(words) == 0
    text = Path("new/o.yaml").read_text()
    assert "func: step(Tensor x, Tensor(a!) out, Tensor(b!) state, Tensor(c!) never) -> ()" in text
    told = "it is a reference that is not const; none of 2 calls writes it, and it is taken as not written"
    assert f"`x` may be written: {told}" in text
    # What no call is of, and an argument without bytes, is drafted as the source says.
    assert "func: other(Tensor(a!) x, Tensor(b!) out, Tensor(c!) state, Tensor(d!) never) -> ()" in text
    assert "`never` may be written: it is a reference that is not const\n" in text


def record(body: bytes, **head: object) -> bytes:
    """One record of a file of calls."""
    return json.dumps({"operator": "acme::f", "alike": "1", "bytes": len(body), **head}).encode() + b"\n" + body


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04",
        HEADER + b"{}\n",
        HEADER + b"[]\n",
        HEADER + b"\xff\xfe\n",
        HEADER + record(b"abc")[:-1],
        HEADER + record(b"", bytes=-1),
        HEADER + record(b"", bytes=1 << 40),
        HEADER + b"[" * 100_000,
    ],
    ids=range(9),
)
def test_damaged_files_are_told(data: bytes) -> None:
    """What is no file of calls, or ends within one, is an error with its path."""
    Path("bad.calls").write_bytes(data)
    with pytest.raises(Fault) as fault:
        counted(read_records("bad.calls"))
    assert fault.value.diagnostic.code == "E2407"
    assert "bad.calls" in fault.value.diagnostic.message


def test_parts_of_processes_are_merged_within_bounds() -> None:
    """Half a record of a killed process ends its part, and calls beyond the bounds are counted."""
    Path("first").write_bytes(b"".join([record(b"x", alike=str(number)) for number in range(80)]) + b'{"operator": "ac')
    Path("second").write_bytes(b"".join([record(b"x", alike=str(number)) for number in range(80)]) + record(b"yz")[:-1])
    Path("whole.calls").write_bytes(merged(["first", "second"]))
    counts = counted(read_records("whole.calls"))
    assert counts.calls == {"acme::f": 100}
    assert counts.not_stored == {"more than 100 calls": 60}


def test_large_calls_leave_room_for_others() -> None:
    """An operator with large tensors, in calls that are alike or not, has small calls too, and others behind it."""
    kept = KeptCalls()
    refused = []
    for operator in map(str, range(30)):
        for number, size in enumerate([MOST_BYTES // 3] * 12 + [1000] * 12):
            reason = kept.refusal(operator, f"{operator}, sizes {number // 3}", size)
            if reason:
                refused.append((operator, number, reason))
            else:
                kept.keep(operator, f"{operator}, sizes {number // 3}", size)
    assert [number for operator, number, _ in refused if operator == "0"] == [8, 9, 10, 11]
    assert {reason for _, _, reason in refused} == {"more than a share of 134,217,728 bytes"}
    assert all(0 < number < 12 for _, number, _ in refused)
    kept.keep("large", "alike", MOST_BYTES // 2 + 1)
    assert kept.refusal("large", "alike", MOST_BYTES // 2) == "more than 4,194,304 bytes with the same sizes"
