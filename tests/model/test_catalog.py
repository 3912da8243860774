"""The catalog as a user of the library asks it."""

from __future__ import annotations

import pytest

import opwright
from tests.dialects.loading import load_text

ENTRIES = "- func: add.Tensor(Tensor self, Tensor other) -> Tensor\n- func: shed::prune(Tensor self) -> Tensor\n"


def test_functions_are_found_by_name() -> None:
    """A name with its namespace or without leads to the function."""
    catalog, _ = load_text(ENTRIES)
    assert catalog["add.Tensor"] is catalog["aten::add.Tensor"]
    assert catalog["prune"] is catalog["shed::prune"]
    assert "shed::prune" in catalog
    assert "aten::prune" not in catalog


def test_a_name_that_does_not_exist_gives_a_hint() -> None:
    """The error names the nearest operator."""
    catalog, _ = load_text(ENTRIES)
    with pytest.raises(KeyError, match=r"no operator `add.Tensr`; did you mean `add.Tensor`\?"):
        catalog["add.Tensr"]
    with pytest.raises(KeyError, match=r"no operator `12345`'"):
        catalog["12345"]


def test_the_face_of_the_package_lists_what_is_public() -> None:
    """`dir` gives the public names, all of which exist."""
    assert set(dir(opwright)) == {*opwright.__all__, "__version__"}
    for name in opwright.__all__:
        assert getattr(opwright, name) is not None
