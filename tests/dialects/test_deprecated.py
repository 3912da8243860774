"""Deprecated signatures: which functions they call, and what is said of entries that call none."""

from __future__ import annotations

import pytest

from opwright.dialects.deprecated import load_deprecated
from opwright.model.more_inputs import DeprecatedSignature
from opwright.plugins.code_pages import code_names
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from tests.dialects.cases import Case, load_cases
from tests.dialects.loading import found_faults, load_text

CASES = load_cases("../deprecated_cases.yaml")

NATIVE = """
- func: blend(Tensor self, Tensor other, Scalar alpha=1) -> Tensor
  variants: function, method
- func: blend.number(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
- func: blend_(Tensor(a!) self, Tensor other, Scalar alpha=1) -> Tensor(a!)
  variants: method
- func: blend.out(Tensor self, Tensor other, Scalar alpha=1, *, Tensor(a!) out) -> Tensor(a!)
"""


def loaded(text: str) -> tuple[tuple[DeprecatedSignature, ...], Diagnostics]:
    """The signatures of a text, for the functions above."""
    catalog, faults = load_text(NATIVE)
    faults.raise_if_errors()
    sink = Diagnostics()
    return load_deprecated(SourceFile("deprecated.yaml", text), catalog.functions, sink), sink


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_faults_stand_at_their_places(case: Case) -> None:
    """What is found in a document is what its comments mark, to the column."""
    _, sink = loaded(case.text)
    assert found_faults(sink) == case.faults, [str(diagnostic) for diagnostic in sink.sorted()]


def test_every_code_has_a_case() -> None:
    """Each code of deprecated signatures is marked in a case."""
    codes = {code for code in code_names() if "1000" < code[1:] < "1020"}
    assert codes <= {code for case in CASES for _, _, _, code in case.faults}


def test_signature_calls_the_overload_of_its_types() -> None:
    """The types of what is passed choose the overload; constants and names are passed on in its order."""
    signatures, _ = loaded(CASES[0].text)
    assert [(signature.function.name.text, signature.passed) for signature in signatures] == [
        ("blend", ("self", "other", "alpha")),
        ("blend", ("self", "other", "1")),
        ("blend", ("self", "other")),
    ]
    assert signatures[0].span.text == "blend(Tensor self, Scalar alpha, Tensor other) -> Tensor"


def test_overload_with_out_takes_out_first() -> None:
    """The name that ends in `_out` stands for the overloads of the function that write to `out`."""
    signatures, _ = loaded(CASES[1].text)
    assert [signature.function.name.text for signature in signatures] == ["blend.out"]


def test_candidates_are_shown_with_what_is_against_them() -> None:
    """Where no overload fits, there is a note for each that says why."""
    text = """
- name: blend(Tensor self, Tensor alpha, Tensor other) -> Tensor
  aten: blend(self, other, alpha)
"""
    _, sink = loaded(text)
    (fault,) = sink.sorted()
    assert fault.message == "no overload of `blend` takes (Tensor self, Tensor other, Tensor alpha)"
    assert fault.notes == (
        "`blend` takes `Scalar alpha` where `Tensor alpha` is passed",
        "`blend.number` takes `Scalar other` where `Tensor other` is passed",
        "`blend.out` takes `Scalar alpha` where `Tensor alpha` is passed",
    )


def test_misspelt_names_get_a_hint() -> None:
    """Both the function's name and the names of what is passed are compared with those that exist."""
    _, sink = loaded("- name: blend(Tensor self, Tensor other) -> Tensor\n  aten: blend(self, ohter)\n")
    assert [diagnostic.help for diagnostic in sink] == ["did you mean `other`?"]
    _, sink = loaded("- name: blend(Tensor self, Tensor other) -> Tensor\n  aten: bled(self, other)\n")
    assert [diagnostic.help for diagnostic in sink] == ["did you mean `blend`?"]
