"""The page that says which kernels come first names entries that a new project leaves to the CPU."""

from __future__ import annotations

import re

import pytest
import torch

from docs.model_operators import MODELS, PAGE, entries, operators


def listed() -> dict[str, int]:
    """The entries of the page, with the number of models that need each for training."""
    rows = re.findall(r"^\| `(\S+)` +\| +\S+ \| +(\d+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {name: int(count) for name, count in rows}


@pytest.mark.thorough
def test_the_page_lists_entries_that_new_projects_lack() -> None:
    """Each entry gives a kernel to an operator that the CPU computes in a new project; the most needed stand first."""
    needed = listed()
    assert needed.keys() <= set(entries().values())
    assert list(needed.values()) == sorted(needed.values(), reverse=True)
    assert max(needed.values()) == len(MODELS)


@pytest.mark.thorough
def test_what_a_model_calls_is_in_the_page() -> None:
    """The models that need no other package call what the page lists."""
    entry_of, needed = entries(), listed()
    for name in ("LSTM", "U-Net"):
        torch.manual_seed(0)
        _, training = operators(*MODELS[name]())
        assert {entry_of[each] for each in training if each in entry_of} <= needed.keys(), name
