"""What no emitter has a text for is found before any file is written."""

from __future__ import annotations

import pytest

from opwright.emit.checks import check_emittable
from opwright.emit.emitter import Job, Options
from opwright.emit.registry import checks_of
from opwright.model.selection import EVERYTHING, Selection
from opwright.source.diagnostic import Diagnostics
from tests.dialects.loading import load_text
from tests.emit.emitting import RULES, job_of
from tests.emit.entries import COUNT, PARTS, SCALE, TURN, WHOLE
from tests.emit.test_register import POOL
from tests.emit.test_ufunc import MIX

_WITHOUT_KERNEL = TURN.replace("CompositeExplicitAutogradNonFunctional: turn_copy_symint", "CPU: turn_copy")
_PAIR = PARTS.replace("-> Tensor(a)[]", "-> (Tensor(a), Tensor(a))").replace("-> Tensor[]", "-> (Tensor, Tensor)")
_TWO_BASES = TURN.replace("by, SymInt? n=None) -> Tensor(a", "by, Tensor(b)? n=None) -> Tensor(a").replace(
    "SymInt? n", "Tensor? n"
)
_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
_SOW = f"""
- func: sow(Tensor self, *, {_OPTIONS}) -> Tensor
  dispatch:
    CPU: sow
- func: sow.out(Tensor self, *, Tensor(a!) result) -> Tensor(a!)
  dispatch:
    CPU: sow_out
"""


def _found(entries: str, selection: Selection = EVERYTHING) -> list[str]:
    """The line and code of each fault of a text of entries that loads."""
    job = job_of(entries, selection=selection)
    sink = Diagnostics()
    check_emittable(job, sink)
    return [f"{diagnostic.span.line} {diagnostic.code}" for diagnostic in sink.sorted() if diagnostic.span is not None]


@pytest.mark.parametrize("entries", [COUNT, PARTS, SCALE, TURN, WHOLE])
def test_sound_operators_pass(entries: str) -> None:
    """Views and writes of every usual kind are silent."""
    assert _found(entries) == []


@pytest.mark.parametrize(
    ("entries", "faults"),
    [
        ("- func: tally(Tensor self, Tensor(a!)? seen) -> ()\n", ["1 E0460"]),
        (
            SCALE.replace(
                "Tensor self, Tensor? by, ScalarType? dtype=None, *",
                "Tensor(a!) self, Tensor? by, ScalarType? dtype=None, *",
            ),
            ["8 E0460"],
        ),
        (_SOW, ["5 E0461"]),
        (
            "- func: sow(Tensor a, *, ScalarType? dtype, Layout? layout, Device device, bool? pin_memory) -> Tensor\n",
            ["1 E0467"],
        ),
        (_SOW.replace("result", "out"), []),
        (_WITHOUT_KERNEL, ["10 E0463"]),
        (_PAIR, ["2 E0464"]),
        (_TWO_BASES, ["2 E0465", "5 E0465"]),
        ("- func: smudge(Tensor(a!) self) -> Tensor\n  dispatch:\n    CPU: smudge\n", ["1 E0466"]),
        ("- func: smudge(Tensor(a!) self) -> Tensor\n", []),
        ("- func: record_stream(Tensor(a!) self, Stream s) -> ()\n  dispatch:\n    CUDA: record_stream\n", []),
    ],
)
def test_faults(entries: str, faults: list[str]) -> None:
    """Each fault stands at its entry."""
    assert _found(entries) == faults


_SMUDGE = "- func: smudge(Tensor self, int by) -> Tensor\n"


@pytest.mark.parametrize(
    ("entries", "marks", "help"),
    [
        (
            f"{_SMUDGE}- func: smudge_(Tensor(a!) self) -> Tensor(a!)\n  dispatch:\n    CPU: smudge_\n",
            ["smudge_", "int by"],
            "the functional, in-place and out overloads of an operation have the same arguments and results",
        ),
        (
            f"{_SMUDGE}- func: smudge_(Tensor(a!) self, int by) -> Tensor(a!)\n  dispatch:\n    CPU: smudge_\n",
            ["smudge_(Tensor(a!) self, int by) -> Tensor(a!)"],
            "add an entry for `smudge.out`, or `autogen: smudge.out` to that of `smudge_`",
        ),
        (
            f"{_SMUDGE}- func: smugde_(Tensor(a!) self, int by) -> Tensor(a!)\n  dispatch:\n    CPU: smugde_\n",
            ["smugde_(Tensor(a!) self, int by) -> Tensor(a!)", "smudge(Tensor self, int by) -> Tensor"],
            "one of the two names may be misspelt: `smugde`, `smudge`",
        ),
        (
            "- func: part(Tensor self) -> (Tensor, Tensor)\n  dispatch:\n    CPU: part\n"
            "- func: part_(Tensor(a!) self) -> Tensor(a!)\n  dispatch:\n    CPU: part_\n",
            ["Tensor(a!)", "(Tensor, Tensor)"],
            "the functional, in-place and out overloads of an operation have the same arguments and results",
        ),
    ],
)
def test_what_a_function_lacks_to_be_functionalized(entries: str, marks: list[str], help: str) -> None:
    """The overload that nearly fits is shown, or what to add to those that fit."""
    sink = Diagnostics()
    check_emittable(job_of(entries), sink)
    (fault,) = sink.sorted()
    assert fault.code == "E0466"
    assert [label.span.file.text[label.span.start : label.span.end] for label in fault.labels] == marks
    assert fault.help == help


def test_advice_for_a_missing_out_overload_is_right() -> None:
    """What the help says to add mends the fault."""
    entries = f"{_SMUDGE}- func: smudge_(Tensor(a!) self, int by) -> Tensor(a!)\n  dispatch:\n    CPU: smudge_\n"
    assert _found(entries) == ["2 E0466"]
    assert _found(f"{entries}  autogen: smudge.out\n") == []


def test_inverse_view_needs_its_scatter() -> None:
    """An inverse view whose scatter form takes other arguments cannot be functionalized."""
    entries = (
        "- func: cut_inverse(Tensor(a) self, Tensor src) -> Tensor(a)\n  dispatch:\n    CPU: cut_inverse\n"
        "- func: cut_scatter(Tensor self, Tensor src, int dim) -> Tensor\n  dispatch:\n    CPU: cut_scatter\n"
    )
    assert _found(entries) == ["1 E0462"]


def test_selective_builds_need_no_functionalization() -> None:
    """Where functionalization is left out, what it could not replace is no fault."""
    entries = "- func: smudge(Tensor(a!) self) -> Tensor\n  dispatch:\n    CPU: smudge\n"
    assert _found(entries, Selection(everything=False)) == []


def test_faults_of_loading_do_not_break_the_checks() -> None:
    """A catalog with entries left out can be checked."""
    catalog, _ = load_text(TURN + "- func: broken(Tensor self -> Tensor\n")
    sink = Diagnostics()
    check_emittable(Job(catalog, RULES, Options()), sink)
    assert not sink.has_errors


_LISTS = """
- func: part(Tensor self) -> Tensor[]
  structured_delegate: part.out
- func: part.out(Tensor self, *, Tensor(a!)[] out) -> ()
  structured: True
  dispatch:
    CPU: part_out
"""
_PICKED = """
- func: pick(Tensor self, LIST values) -> Tensor
  structured_delegate: pick.out
- func: pick.out(Tensor self, LIST values, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU: pick_out
"""
_SYMBOLIC = "- func: turn(Tensor self) -> Tensor\n  dispatch:\n    CPU, CUDA: turn_symint\n"
_MADE = POOL.replace("    CUDA: pool_out_cuda\n", "    Meta: pool_meta\n")
_LOOPS = MIX.replace("    Generic: mix (Floating)\n    ScalarOnly: mix", "    CUDAFunctor: mix")


@pytest.mark.parametrize(
    ("entries", "family", "codes"),
    [
        (_SYMBOLIC, "headers", ["E0451"]),
        (_SYMBOLIC + _MADE, "sources", ["E0451", "E0452"]),
        (_LISTS, "sources", ["E0453"]),
        (_LISTS, "headers", []),
        *[(_PICKED.replace("LIST", type), "sources", ["E0457"]) for type in ("Scalar[]", "SymInt[1]?", "SymInt[]?")],
        *[
            (_PICKED.replace("LIST", type), "sources", [])
            for type in ("Scalar", "int[2]", "SymInt[2]", "Tensor?[]", "Tensor[]")
        ],
        (_PICKED.replace("LIST", "Scalar[]"), "headers", []),
        (_LOOPS, "sources", ["E0454"]),
        (_LOOPS, "headers", []),
        (POOL + MIX, "sources", []),
    ],
)
def test_kernels(entries: str, family: str, codes: list[str]) -> None:
    """Kernels without a text are all found, each once, in runs that would write them."""
    sink = Diagnostics()
    for check in checks_of([family], deferred=False, tolerant=True):
        check(job_of(entries), sink)
    assert [diagnostic.code for diagnostic in sink.sorted()] == codes
