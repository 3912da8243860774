"""Formulas of C++ in Python, or the reasons why they have none, are the ones that somebody has looked at."""

from __future__ import annotations

import pytest

from opwright.dialects.derivatives.loader import load_derivatives
from opwright.dialects.derivatives.matching import match_derivatives
from opwright.dialects.native_functions.loader import load_catalog
from opwright.libraries.dialect.callable_operators import CallableOperators
from opwright.libraries.dialect.derivatives import _results
from opwright.libraries.dialect.formula_names import FormulaNames, ForwardNames
from opwright.libraries.dialect.python_formulas import NoPython, PythonTranslator
from opwright.release.rules import Rules
from opwright.release.version import parse_version
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from tests.conformance.inputs import ROOT, reference_package
from tests.dialects.python_formulas import FILE, formulas, translations


def test_formulas_have_the_reviewed_translations() -> None:
    """Each part of a formula has its form in Python, keeps what it needs, or is refused at its place."""
    assert translations(formulas()) == FILE.read_text(encoding="utf-8")


@pytest.mark.thorough
def test_each_formula_of_pytorch_becomes_python_or_is_refused() -> None:
    """Of all formulas of PyTorch's own file, what is translated is an expression that Python compiles."""
    packaged, sink = reference_package() / "packaged", Diagnostics()
    native, tags = (
        SourceFile.read(packaged / "ATen" / "native" / f"{name}.yaml") for name in ("native_functions", "tags")
    )
    catalog = load_catalog(native, tags, sink, Rules(parse_version("2.13.0")))
    derivatives = load_derivatives(SourceFile.read(packaged / "autograd" / "derivatives.yaml"), catalog, sink)
    matched = match_derivatives(derivatives, catalog.functions, sink)
    operators = CallableOperators(native.text, {}, (2, 13))
    translated, refused, broken = 0, 0, []
    for info in matched.infos:
        backward = [
            (each.original_formula, FormulaNames(info, _results(info), each.var_names)) for each in info.derivatives
        ]
        forward = [(each.formula, ForwardNames(info, _results(info))) for each in info.forward_derivatives]
        every: list[tuple[str, FormulaNames | ForwardNames]] = [*backward, *forward]
        for formula, names in every:
            try:
                text = PythonTranslator(formula, names, operators, {}).translate().text
                compile(text, "formula", "eval")
                translated += 1
            except NoPython:
                refused += 1
            except SyntaxError:
                broken.append(f"{info.function.name}: {formula} became {text}")
    assert broken == []
    page = (ROOT / "docs" / "derivatives.md").read_text(encoding="utf-8")
    sentence = (
        f"Of the {translated + refused:,} formulas of PyTorch 2.13, {translated} have one and {refused} are refused"
    )
    assert sentence in " ".join(page.split())
