"""Overloads that fall apart: the two that nearly fit are shown with what differs."""

from __future__ import annotations

import pytest

from opwright.dialects.native_functions.loader import load_catalog
from opwright.dialects.nearest import first_difference
from opwright.source.diagnostic import Diagnostic, Diagnostics
from opwright.source.text import SourceFile
from tests.dialects.loading import TAGS

OUT = "- func: zero.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n  dispatch:\n    CPU: zero_out\n"
INPLACE = "- func: zero_(Tensor(a!) self) -> Tensor(a!)\n"


def only_fault(text: str) -> Diagnostic:
    """The one fault of entries."""
    sink = Diagnostics()
    load_catalog(SourceFile("ops.yaml", text), SourceFile("tags.yaml", TAGS), sink)
    (diagnostic,) = sink.sorted()
    return diagnostic


def marked(diagnostic: Diagnostic) -> list[str]:
    """The words that the labels of a diagnostic mark."""
    return [label.span.file.text[label.span.start : label.span.end] for label in diagnostic.labels]


@pytest.mark.parametrize(
    ("functional", "words", "marks"),
    [
        ("zero(Tensor self, int dim)", "`zero` takes `int dim`, which `zero.out` does not", ["int dim", "zero.out"]),
        ("zero(Tensor input)", "`zero` takes `Tensor input` where `zero.out` takes `Tensor self`",
         ["Tensor input", "Tensor self"]),
        ("zero()", "`zero` does not take `Tensor self`, as `zero.out` does", ["zero", "Tensor self"]),
        ("zero(*, Tensor self)", "`zero` takes `Tensor self` at another position than `zero.out`",
         ["Tensor self", "Tensor self"]),
    ],
)  # fmt: skip
def test_the_argument_that_differs_is_marked_in_both(functional: str, words: str, marks: list[str]) -> None:
    """The overload that stands alone is blamed, not those that agree, and nothing else is advised."""
    fault = only_fault(f"- func: {functional} -> Tensor\n{OUT}{INPLACE}")
    assert fault.code == "E0420"
    assert fault.message == f"no functional overload beside `zero.out`, `zero_`: {words}"
    assert marked(fault) == marks
    assert "autogen" not in str(fault.help)


def test_results_that_differ_are_marked_in_both() -> None:
    """Where the arguments agree, the results are shown."""
    fault = only_fault(f"- func: zero(Tensor self) -> (Tensor, Tensor)\n{OUT}")
    assert fault.message.endswith("`zero.out` returns `Tensor(a!)`, and `zero` `(Tensor, Tensor)`")
    assert marked(fault) == ["Tensor(a!)", "(Tensor, Tensor)"]


def test_a_misspelt_name_is_shown_beside_the_other_spelling() -> None:
    """An operator that fits but for its name is pointed to."""
    fault = only_fault(f"- func: zeor(Tensor self) -> Tensor\n{OUT}{INPLACE}")
    assert fault.code == "E0420"
    assert fault.help == "one of the two names may be misspelt: `zero`, `zeor`"
    assert marked(fault) == ["zero.out", "zeor"]


def test_an_operator_that_is_whole_is_no_other_spelling() -> None:
    """`zeros`, which has an out overload of its own, is meant as it is."""
    whole = f"- func: zeros(Tensor self) -> Tensor\n{OUT.replace('zero', 'zeros')}"
    fault = only_fault(f"{whole}{OUT}{INPLACE}")
    assert fault.code == "E0430"
    assert fault.help == "add an entry for `zero(Tensor self) -> Tensor`, or `autogen: zero` to synthesize it"


def test_an_overload_of_another_operation_is_not_near() -> None:
    """Where most arguments differ, the user is told to add an overload, and no other one is shown."""
    other = "- func: zero.grid(int[] sizes, Tensor by, Scalar alpha, float eps) -> Tensor\n"
    fault = only_fault(f"{other}{OUT}")
    assert fault.code == "E0418"
    assert marked(fault) == ["zero.out"]


def test_forms_of_one_operation_do_not_differ() -> None:
    """What is written to makes no difference."""
    text = f"- func: zero(Tensor self) -> Tensor\n{OUT}{INPLACE}"
    catalog = load_catalog(SourceFile("ops.yaml", text), SourceFile("tags.yaml", TAGS), Diagnostics())
    for name in ("zero.out", "zero_"):
        assert first_difference(catalog["zero"], catalog[name]) is None


@pytest.mark.parametrize(
    "edited", ["Scalar b, Scalar stride=1", "Scalar b, int step=1", "Scalar b, Scalar step=1, int n=0"]
)
def test_the_overload_with_more_in_common_is_shown(edited: str) -> None:
    """Of two overloads with one difference each, the edited one is meant, not one that lacks an argument."""
    others = (
        f"- func: zero.start(Scalar a, Scalar b) -> Tensor\n- func: zero.start_step(Scalar a, {edited}) -> Tensor\n"
    )
    out = "zero.start_out(Scalar a, Scalar b, Scalar step=1, *, Tensor(a!) out) -> Tensor(a!)"
    fault = only_fault(f"{others}- func: {out}\n  dispatch:\n    CPU: zero_out\n")
    assert fault.code == "E0418"
    assert "`zero.start_step`" in fault.message
    assert "`zero.start`" not in fault.message


def test_of_two_overloads_with_one_signature_the_second_is_shown() -> None:
    """Without `step`, `zero.start_step` is like `zero.start`. It is reported, and is what the out form lacks."""
    sink = Diagnostics()
    schemas = ["start(Scalar a)", "start_step(Scalar a)", "start_out(Scalar a, Scalar step=1, *, Tensor(a!) out)"]
    entries = [f"- func: zero.{text} -> Tensor{'(a!)' * ('out' in text)}\n" for text in schemas]
    text = "".join([*entries, "  dispatch:\n    CPU: zero_out\n"])
    load_catalog(SourceFile("ops.yaml", text), SourceFile("tags.yaml", TAGS), sink)
    same, lone = sink.sorted()
    assert (same.code, lone.code) == ("E0416", "E0418")
    assert marked(same)[0] == "zero.start_step"
    assert lone.message.endswith("which `zero.start_step` does not (`zero.start` has the same signature)")
    assert marked(lone) == ["Scalar step=1", "zero.start_step"]
