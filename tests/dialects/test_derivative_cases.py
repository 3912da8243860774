"""Each rule of derivatives has its case, each case its faults at their places, and the reference agrees."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from opwright.dialects.derivatives.formula_helpers import helpers_of
from opwright.dialects.derivatives.loader import load_derivatives
from opwright.dialects.derivatives.matching import match_derivatives
from opwright.dialects.native_functions.loader import load_catalog
from opwright.model.catalog import Catalog
from opwright.plugins.code_pages import code_names
from opwright.source.diagnostic import Diagnostics, Severity
from opwright.source.text import SourceFile
from tests.dialects.cases import Case, load_cases
from tests.dialects.loading import TAGS, found_faults

FOLDER = Path(__file__).with_name("derivative_cases")
NATIVE = FOLDER / "native_functions.yaml"
CASES = [case for path in sorted(FOLDER.glob("*.yaml")) if path != NATIVE for case in load_cases(path.name, FOLDER)]
#: Faults that are no place of a case's: of the file as a whole, or of native_functions.yaml.
TESTED_BELOW = {"E0901", "E0933", "E0934", "E0936"}
#: Declarations of helpers, in the forms that `FunctionsManual.h` has.
HEADER = SourceFile(
    "FunctionsManual.h",
    """
#define TWICE(grad) twice_backward(grad)
namespace torch::autograd::generated::details {
struct Range {
  Range twice_backward(size_t size) { return {i - size, i}; }
};
// twice_backward() takes a gradient.
TORCH_API Tensor twice_backward(
    const Tensor& grad, /* a mask, or */ std::array<bool, 2> mask = {true, false});
inline Tensor half_backward(const Tensor& grad) {
  return twice_backward(grad) / third_backward(grad, 4);
}
Tensor half_backward(const Tensor& grad, std::function<Tensor(Tensor, int)> scale, int64_t dim);
}
""",
)
PROGRAM = Path(__file__).with_name("reference_derivative_refusals.py")


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    """The functions that the cases give derivatives to."""
    return load_operators()


def load_operators() -> Catalog:
    """The functions that the cases give derivatives to, loaded anew."""
    sink = Diagnostics()
    loaded = load_catalog(SourceFile.read(NATIVE), SourceFile("tags.yaml", TAGS), sink)
    assert not sink.has_errors, [str(diagnostic) for diagnostic in sink]
    return loaded


def loaded(text: str, catalog: Catalog, *, strict: bool = False) -> Diagnostics:
    """The sink after derivatives were loaded and, where that went well, matched."""
    sink = Diagnostics()
    derivatives = load_derivatives(
        SourceFile("derivatives.yaml", text), catalog, sink, strict=strict, helpers=helpers_of(header=HEADER)
    )
    if not sink.has_errors:
        match_derivatives(derivatives, catalog.functions, sink)
    return sink


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_faults_stand_at_their_places(case: Case, catalog: Catalog) -> None:
    """What is found in a document is what its comments mark, to the column."""
    sink = loaded(case.text, catalog)
    assert found_faults(sink) == case.faults, [str(diagnostic) for diagnostic in sink.sorted()]


@pytest.mark.parametrize(
    "case", [case for case in CASES if any(fault[3][0] == "W" for fault in case.faults)], ids=lambda case: case.name
)
def test_warnings_are_errors_where_a_run_is_strict(case: Case, catalog: Catalog) -> None:
    """A strict run finds the same, and nothing of it is a mere warning."""
    sink = loaded(case.text, catalog, strict=True)
    assert {diagnostic.severity for diagnostic in sink} == {Severity.ERROR}
    assert set(case.faults) <= set(found_faults(sink))


def test_every_code_has_a_case() -> None:
    """Each code of the loader is marked in a case, save those that only a whole PyTorch can have."""
    codes = {code for code in code_names() if "0900" < code[1:] < "0990"}
    marked = {code for case in CASES for _, _, _, code in case.faults}
    # What holds without a parser of C++ is in test_unparsed_formulas.py.
    assert codes - marked == TESTED_BELOW | {"E0939", "W0939"}


def test_the_reference_agrees(tmp_path: Path) -> None:
    """The reference refuses what has an error, unless the case says that it is silent, and accepts the rest."""
    tags = tmp_path / "tags.yaml"
    tags.write_text(TAGS, encoding="utf-8")
    texts = json.dumps([case.text for case in CASES])
    command = [sys.executable, str(PROGRAM), str(NATIVE), str(tags)]
    answer = subprocess.run(command, input=texts, capture_output=True, text=True, check=True)
    other = [
        f"{case.name}: {case.title} {refusal}"
        for case, refusal in zip(CASES, json.loads(answer.stdout), strict=True)
        if (refusal is not None) != (case.has_errors and not case.is_silent)
    ]
    assert not other, "\n".join(other)


def test_the_file_is_a_list(catalog: Catalog) -> None:
    """A file that is a mapping has no entries."""
    sink = loaded("entries: []", catalog)
    assert found_faults(sink) == ((1, 1, 11, "E0901"),)


def test_an_inplace_function_has_one_forward_formula(catalog: Catalog) -> None:
    """Two keys for the one output of an in-place function are one too many."""
    text = """
- name: settle_(Tensor(a!) self) -> Tensor(a!)
  self: grad
  result: self_t
  result0: self_t
"""
    assert found_faults(loaded(text, catalog)) == ((5, 12, 6, "E0933"),)


def test_a_functional_form_does_not_take_over_what_reads_self() -> None:
    """The formulas of a mutable function may not save `self` where its functional form was made by the generator."""
    native = """
- func: settle_(Tensor(a!) self, Tensor other) -> Tensor(a!)
  dispatch:
    CompositeExplicitAutograd: settle_
  autogen: settle, settle.out
"""
    text = """
- name: settle_(Tensor(a!) self, Tensor other) -> Tensor(a!)
  self: grad * self
"""
    sink = Diagnostics()
    made = load_catalog(SourceFile("native.yaml", native), SourceFile("tags.yaml", TAGS), sink)
    assert not sink.has_errors, [str(diagnostic) for diagnostic in sink]
    assert found_faults(loaded(text, made)) == ((3, 9, 11, "E0934"),)


def test_derivatives_over_lists_need_lists(catalog: Catalog) -> None:
    """A result other than `result` cannot be saved for each item, which is a fault of the function over lists."""
    text = """
- name: halves(Tensor self) -> (Tensor, Tensor)
  self: grads[0] + grads[1] * result1
"""
    (diagnostic,) = loaded(text, catalog)
    assert diagnostic.code == "E0936"
    assert diagnostic.span is not None
    assert diagnostic.span.text == "_foreach_halves(Tensor[] self) -> (Tensor[], Tensor[])"
