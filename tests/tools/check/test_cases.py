"""The cases of `opwright check`: what is reported, and what the fixes make of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.source.codes import CHANGED_MEANWHILE
from opwright.tools import tool_codes
from opwright.tools.check.fixes import FIXES
from tests.tools.check.cases import CheckCase, check, load_cases, outcome

CASES = load_cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_report_and_fixes(case: CheckCase, tmp_path: Path) -> None:
    """A case has the report that the command prints, and the files that `--fix` writes; `make cases` updates both."""
    assert outcome(case, tmp_path).text() == case.text()


@pytest.mark.parametrize("case", [case for case in CASES if case.fixed], ids=lambda case: case.name)
def test_fixed_files_have_no_fix_left(case: CheckCase, tmp_path: Path) -> None:
    """Files after their fixes have nothing that `--fix` would change, and no comment of theirs is gone."""
    fixed = {**case.files, **case.fixed}
    left = outcome(CheckCase(case.name, case.head, fixed, "", {}), tmp_path)
    assert not left.fixed
    for name, text in case.fixed.items():
        comments = [line.partition("#")[2] for line in case.files[name].splitlines() if "# " in line]
        assert all(comment in text for comment in comments if "opwright:" not in comment)


def test_every_code_and_fix_has_a_case() -> None:
    """Each code of the command is reported in a case, and each fix changes a file of one."""
    reports = "".join([case.report for case in CASES])
    own = {code for code in vars(tool_codes).values() if isinstance(code, str) and code[1:3] == "22"}
    assert {code for code in {*own, CHANGED_MEANWHILE} if f"[{code}]" not in reports} == {
        CHANGED_MEANWHILE,
        tool_codes.BACKWARD_LACKS,
        tool_codes.SETTINGS_SYNTAX,
        tool_codes.WRONG_SETTING,
        tool_codes.UNKNOWN_CODE,
    }
    fixed_reports = "".join([case.report for case in CASES if case.fixed])
    assert not [code for code in FIXES if f"[{code}]" not in fixed_reports]


def test_check_prints_nothing_else(tmp_path: Path) -> None:
    """A sound file gives the summary alone."""
    (tmp_path / "ops.yaml").write_text("- func: acme::twice(Tensor self) -> Tensor\n  dispatch: {Meta: m, CPU: c}\n")
    assert check(["ops.yaml"], tmp_path) == "no findings in 1 file (ops.yaml)\n"
