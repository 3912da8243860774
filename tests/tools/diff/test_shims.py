"""C shims: their parameters are those of PyTorch's headers, and a shim that changes breaks compiled code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from opwright.model.catalog import Catalog
from opwright.release.tables import ShimOperator, ShimTables, ShimVersion
from opwright.source.diagnostic import Diagnostics
from opwright.tools.diff.compare import Side, compare
from opwright.tools.diff.diffing import load_side
from opwright.tools.dump.shims import OperatorShims, shim_refusal, shims_by_operator
from tests.dialects.loading import load_text

HEADERS = Path(torch.__file__).parent / "include" / "torch" / "csrc" / "inductor" / "aoti_torch" / "generated"
DECLARED = re.compile(r"AOTITorchError aoti_torch_[a-z]+_(\w+)\((.*)\);")
ENTRY = "- func: f(Tensor self, int? n=None, {}) -> Tensor\n  dispatch:\n    CPU: f\n"


def test_parameters_are_those_of_the_headers() -> None:
    """Every version of every operator, with its parameters, is what the installed PyTorch declares, and no other."""
    side = load_side("auto", None, Diagnostics()).side
    expected = {match for path in HEADERS.glob("*.h") for match in DECLARED.findall(path.read_text(encoding="utf-8"))}
    ours = set()
    for function in side.catalog:
        shims = side.shims.get(f"aten::{function.name}")
        for version, shim in shims.versions.items() if shims is not None else ():
            name = function.name.unambiguous + ("" if version == "v1" else f"_{version}")
            ours.add((name, shim.head.partition("(")[2].removesuffix(")")))
    assert len(ours) > 150
    assert ours == expected


def operators(*arguments: str) -> Catalog:
    """A catalog with an operator that has these further arguments."""
    catalog, sink = load_text(ENTRY.format(", ".join(arguments)))
    assert not sink.has_errors
    return catalog


def side(catalog: Catalog, *versions: ShimVersion, is_listed: bool = True) -> Side:
    """A side whose operator has a shim, with these further versions."""
    table = {"aten.f.default": ShimOperator(None, versions)} if is_listed else {}
    return Side("side", catalog, shims_by_operator(catalog, ShimTables({}, table, {})))


def reasons(old: Side, new: Side) -> list[str]:
    """What breaks callers of shims."""
    (change,) = compare(old, new).changes
    return [reason.text for reason in change.reasons if "shim" in {audience.name for audience in reason.audiences}]


SECOND = ShimVersion("v2", ("k",), None)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            (("int k=1",), SECOND),
            (("int other=1",),),
            ["the C shim has other parameters", "version 2 of the C shim is gone"],
        ),
        ((("int k=1",),), (("float k=1",),), ["the C shim has other parameters"]),
        ((("int k=1",), SECOND), (("float k=1",), SECOND), ["version 2 of the C shim has other parameters"]),
        ((("int k=1",),), (("int renamed=1",),), []),
        ((("int k=1",),), (("int k=1", "int m=1"), ShimVersion("v2", ("m",), None)), []),
        ((("int k=1",),), (("int k=1", "int m=1"),), ["the C shim has other parameters"]),
    ],
)
def test_changed_shims_break_compiled_code(old: tuple, new: tuple, expected: list[str]) -> None:  # type: ignore[type-arg]
    """Each version keeps its parameters; what they are called does not matter."""
    sides = [side(operators(*arguments), *versions) for arguments, *versions in (old, new)]
    assert reasons(*sides) == expected


def test_a_shim_that_leaves_the_table_is_gone() -> None:
    """An operator without a shim breaks those that call it; one that gets a shim breaks nobody."""
    listed, unlisted = side(operators("int k=1")), side(operators("int k=2"), is_listed=False)
    assert reasons(listed, unlisted) == ["the C shim is gone"]
    assert reasons(unlisted, listed) == []


def test_a_removed_operator_with_a_shim_breaks_its_callers() -> None:
    """Only operators that had a shim break compiled code when they go."""
    catalog = operators("int k=1")
    for is_listed in (True, False):
        (change,) = compare(side(catalog, is_listed=is_listed), Side("new", Catalog((), (), (), (), {}), {})).changes
        assert ("shim" in [audience.name for audience in change.breaks]) is is_listed


def test_operators_without_a_form_in_c_say_why() -> None:
    """The argument that no C type can pass is named, and the operator has no versions."""
    catalog = operators("Storage? d=None")
    refusal = "argument `d` of type `Storage?` has no form in C"
    assert shim_refusal(catalog["f"]) == refusal
    assert shim_refusal(operators("int d=1")["f"]) == ""
    assert side(catalog).shims["aten::f"] == OperatorShims({}, refusal)
