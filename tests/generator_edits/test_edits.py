"""A sample of the edits of `make generator-edits`: none is silent."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.generator_edits.judge import EditedTree, Outcome

#: Edits that Opwright has to follow, because a tree between releases teaches these lists.
FOLLOWED = ("RESET_GRAD_ACCUMULATOR", "VIEW_FUNCTIONS_WITH_METADATA_CHANGE =", "VIEW_FUNCTIONS =")
#: Edits that were once neither.
TOLD = ("BaseTypeToCppMapping", "from torchgen.api import cpp")


@pytest.mark.thorough
def test_edits_of_the_generator_are_told_or_followed(tmp_path: Path) -> None:
    """Thirty edits that are drawn, and those of certain constants: told, or the files are the generator's."""
    tree = EditedTree(tmp_path / "tree")
    edits = list(tree.edits(0))
    assert len(edits) > 1000
    chosen = [edit for edit in edits if edit.place.startswith((*FOLLOWED, *TOLD))]
    outcomes = {edit: tree.judge(edit)[0] for edit in (*random.Random(0).sample(edits, 30), *chosen)}
    assert [edit for edit, outcome in outcomes.items() if outcome is Outcome.silent] == []
    assert {outcomes[edit] for edit in chosen if edit.place.startswith(FOLLOWED)} == {Outcome.followed}
    assert {outcomes[edit] for edit in chosen if edit.place.startswith(TOLD)} == {Outcome.told}
