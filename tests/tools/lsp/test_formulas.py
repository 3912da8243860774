"""The names that editors show in formulas are those that formulas can use, for all derivatives of PyTorch."""

from __future__ import annotations

import pytest

from opwright.dialects.derivatives.formula_checks import FormulaChecker, FormulaScope
from opwright.dialects.table import DERIVATIVES
from opwright.model.derivatives import words_of
from opwright.release.inputs import open_inputs
from opwright.source.nodes import Scalar
from opwright.tools.check.findings import CheckedFiles, find
from opwright.tools.check.suppressions import CodeFilter
from opwright.tools.lsp.formulas import FormulaPlace, formula_names
from opwright.tools.lsp.operators import entry_at


def test_names_are_those_of_the_checker(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text of an entry gives names that a check allows, and all that the formulas use."""
    checked: list[tuple[Scalar, FormulaScope]] = []
    monkeypatch.setattr(FormulaChecker, "check", lambda _, scalar, __, scope: checked.append((scalar, scope)))
    find(CheckedFiles(checks_release=True), CodeFilter(), open_inputs)
    file = DERIVATIVES.files(open_inputs())[0]
    wrong = []
    for scalar, scope in checked:
        entry = entry_at(file, scalar.span.start)
        assert entry is not None
        key = file.line_text(file.line_and_column(scalar.span.start)[0]).partition(":")[0].strip()
        names = set(formula_names(FormulaPlace(entry, key)))
        used = words_of(scalar.value) & scope.names
        # Formulas over lists compute the item with index `i`.
        wrong += [(entry.name, key, name) for name in sorted((names - scope.names) | (used - names))]
    assert len(checked) > 1000
    assert [row for row in wrong if row[2] not in ("grad_input_mask", "i")] == []
