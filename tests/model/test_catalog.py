"""The catalog as a user of the library asks it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import opwright
from opwright.model.catalog import Catalog
from opwright.model.native_function import NativeFunction, link_functions
from tests.dialects.loading import load_text

ENTRIES = "- func: add.Tensor(Tensor self, Tensor other) -> Tensor\n- func: shed::prune(Tensor self) -> Tensor\n"

LINKED = """
- func: relu(Tensor self) -> Tensor
  dispatch:
    CPU: relu
- func: relu_(Tensor(a!) self) -> Tensor(a!)
  dispatch:
    CPU: relu_
  autogen: relu.out
- func: t(Tensor(a) self) -> Tensor(a)
  dispatch:
    CompositeExplicitAutograd: t
- func: t_copy(Tensor self) -> Tensor
  dispatch:
    CompositeExplicitAutogradNonFunctional: t_copy
  tags: view_copy
  autogen: t_copy.out
- func: shed::prune(Tensor self) -> Tensor
"""


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


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (lambda catalog: catalog["relu"], "group"),
        (lambda catalog: catalog["relu"], "view_group"),
        (lambda catalog: catalog["relu"], "tags"),
        (lambda catalog: catalog["relu.out"], "group"),
        (lambda catalog: catalog["prune"], "group"),
        (lambda catalog: catalog["relu"].group, "out"),
        (lambda catalog: catalog["t"].view_group, "view"),
        (lambda catalog: catalog, "functions"),
    ],
)
def test_a_loaded_catalog_cannot_be_changed(owner: Callable[[Catalog], object], name: str) -> None:
    """Functions, those made for others included, their groups and the catalog refuse assignment and deletion."""
    catalog, _ = load_text(LINKED)
    frozen = owner(catalog)
    value = getattr(frozen, name)
    with pytest.raises(AttributeError, match=f"`{name}` of a \\w+ cannot be changed"):
        setattr(frozen, name, value)
    with pytest.raises(AttributeError, match=f"`{name}` of a \\w+ cannot be deleted"):
        delattr(frozen, name)
    assert getattr(frozen, name) is value


def test_functions_are_linked_once() -> None:
    """Members of a group know it, and linking a function of a catalog once more is refused."""
    catalog, _ = load_text(LINKED)
    group = catalog["relu"].group
    assert group is not None
    assert {member.name.text for member in group.functions()} == {"relu", "relu_", "relu.out"}
    assert all(member.group is group for member in group.functions())
    assert catalog["t"].view_group is catalog["t_copy"].view_group is not None
    assert all(type(function) is NativeFunction for function in catalog)
    with pytest.raises(ValueError, match="relu> is linked already"):
        link_functions([catalog["relu"]], [], [])


def test_the_face_of_the_package_lists_what_is_public() -> None:
    """`dir` gives the public names, all of which exist."""
    assert set(dir(opwright)) == {*vars(opwright)["__all__"], "__version__"}
    for name in vars(opwright)["__all__"]:
        assert getattr(opwright, name) is not None
