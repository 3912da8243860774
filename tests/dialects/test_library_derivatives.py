"""Derivatives of libraries: every mistake has a case, and each library gets the derivatives of its own operators."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.dialects.dialect import LoadContext
from opwright.libraries.dialect.loader import load
from opwright.libraries.operator_library import OperatorLibrary
from opwright.release.inputs import open_inputs
from opwright.release.rules import Rules
from opwright.release.version import parse_version
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from tests.dialects.cases import Case, load_cases
from tests.dialects.loading import found_faults

CASES = load_cases("derivatives.yaml", Path(__file__).with_name("library_cases"))

LIBRARY = """
namespace: acme
derivatives: formulas.yaml
operators:
  - func: scale(Tensor self, float factor) -> Tensor
    dispatch: {CPU: scale}
  - func: other::scale(Tensor self) -> Tensor
    dispatch: {CPU: scale}
  - func: taught(Tensor self) -> Tensor
    dispatch: {CPU: taught, AutogradCPU: taught_autograd}
  - func: chosen(Tensor self, Tensor index, Tensor? weight=None) -> Tensor
    dispatch: {CPU: chosen}
"""


def loaded(derivatives: str, library: str = LIBRARY) -> tuple[tuple[OperatorLibrary, ...], Diagnostics]:
    """The libraries of a file `ops/acme.yaml` beside a file with derivatives, and the faults of both."""
    sink = Diagnostics()
    files = {"ops/formulas.yaml": SourceFile("ops/formulas.yaml", derivatives)}
    context = LoadContext(sink, Rules(parse_version("2.13.0")), open_inputs("auto"), read_file=lambda path: files[path])
    return load([SourceFile("ops/acme.yaml", library)], context), sink


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_faults_stand_at_their_places(case: Case) -> None:
    """What is found in a document is what its comments mark, to the column."""
    _, sink = loaded(case.text)
    assert found_faults(sink) == case.faults, [str(diagnostic) for diagnostic in sink.sorted()]


def test_each_library_has_its_own_derivatives() -> None:
    """An entry without a namespace belongs to the library of the head, another one to the namespace that it names."""
    formulas = """
- name: scale(Tensor self, float factor) -> Tensor
  self: grad * factor
- name: other::scale(Tensor self) -> Tensor
  self: acme::scale(grad, 2)
"""
    libraries, sink = loaded(formulas)
    assert not len(sink)
    infos = {library.library.namespace: library.derivatives.matched.infos for library in libraries}
    assert {
        name: [derivative.formula for info in row for derivative in info.derivatives] for name, row in infos.items()
    } == {
        "acme": ["grad * factor"],
        "other": ["acme::scale(grad, 2)"],
    }


def test_functions_of_the_author_are_not_doubted() -> None:
    """With headers of the author's own, formulas can call functions that Opwright does not know."""
    formulas = "- name: scale(Tensor self, float factor) -> Tensor\n  self: scale_backward(at::relu(grad), factor)\n"
    library = LIBRARY.replace("operators:", "derivative_includes: [acme/helpers.h]\noperators:")
    (acme, _), sink = loaded(formulas, library)
    assert not len(sink)
    assert acme.derivatives.includes == ("acme/helpers.h",)
    assert acme.derivatives.called == ("relu",)


def test_linear_operators_call_themselves() -> None:
    """The forward formula of a linear operator calls the library's operator."""
    formulas = "- name: scale(Tensor self, float factor) -> Tensor\n  self: grad * factor\n  result: auto_linear\n"
    (acme, _), _ = loaded(formulas)
    (info,) = acme.derivatives.matched.infos
    assert [forward.formula for forward in info.forward_derivatives] == ["acme::_ops::scale::call(self_t, factor)"]


def test_a_missing_file_is_reported_in_the_head(tmp_path: Path) -> None:
    """The head of the library file is at fault if the file that it names is not there."""
    sink = Diagnostics()
    context = LoadContext(sink, Rules(parse_version("2.13.0")), open_inputs("auto"))
    path = tmp_path / "acme.yaml"
    path.write_text(LIBRARY)
    load([SourceFile.read(path)], context)
    assert [(code, line, column) for line, column, _, code in found_faults(sink)] == [("E1180", 3, 14)]


@pytest.mark.parametrize(
    ("formula", "names"),
    [
        ("grad.expand({self.sym_size(0), 2})", ["expand"]),
        ("grad.expand({self.sym_size(0).guard_int(__FILE__, __LINE__), self.sym_size(1)})", ["expand"]),
        ("at::zeros({self.sym_sizes()[0] * 2}, grad.options())", ["zeros"]),
        ("grad.expand({self.sym_size(-2).guard_int(__FILE__, __LINE__), self.sym_sizes()[1].expect_int()})", []),
        ("grad.expand(C10_AS_INTARRAYREF_SLOW(self.sym_sizes()))", []),
        ("grad.expand(C10_AS_INTARRAYREF_SLOW_ALLOC(self.sym_sizes()))", []),
        ("at::zeros({C10_AS_INTARRAYREF_SLOW(self.sym_sizes())[1]}, grad.options())", []),
        ("grad.reshape({self.sym_numel() > 1 ? -1 : 1})", []),
        ("grad.reshape({1, self.sym_size(1) == 1 ? -1 : 2})", []),
    ],
)
def test_plain_integers_from_symbolic_ones(formula: str, names: list[str]) -> None:
    """Calls that pass symbolic integers to a plain form are reported; those that make them plain are not."""
    _, sink = loaded(f"- name: scale(Tensor self, float factor) -> Tensor\n  self: '{formula}'\n")
    assert [(each.code, each.message) for each in sink.sorted()] == [
        ("W0903", f"`{name}` takes no symbolic integers") for name in names
    ]
