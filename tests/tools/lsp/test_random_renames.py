"""Renames of random arguments change the name alone; `make renames` makes more of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.release.inputs import from_installed
from opwright.tools.lsp.project import Project
from opwright.tools.lsp.rename import rename_argument
from tests.tools.lsp.renames import rename_at_random
from tests.tools.lsp.session import NATIVE, write_tree


@pytest.mark.thorough
def test_random_renames_change_the_name_alone(tmp_path: Path) -> None:
    """After the renames that are offered, a check says what it said before, and the code differs in names alone."""
    outcome = rename_at_random(30, 0, tmp_path)
    assert outcome.wrong == []
    assert outcome.offered == 30


def test_functions_over_lists_are_compared(tmp_path: Path) -> None:
    """The formulas of `_foreach_addcdiv` are made from those of `addcdiv`, and are others with another name there."""
    project = Project(from_installed)
    file = project.read(str(write_tree(tmp_path / "tree") / NATIVE))
    assert file is not None
    schema = file.text.index("func: addcdiv(")

    def rename(name: str) -> None:
        rename_argument(project, file, file.text.index(f" {name}", schema) + 1, f"{name}_renamed")

    rename("value")
    with pytest.raises(ValueError, match="more than this name would change"):
        rename("tensor2")
