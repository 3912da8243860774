"""The rules of compatibility are PyTorch's own: each verdict is compared with that of the installed PyTorch."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

import pytest
import torch

from opwright.schema import parse_schema
from opwright.schema.types import BASE_TYPES
from opwright.source.diagnostic import Diagnostics
from opwright.tools.diff.diffing import load_side
from opwright.tools.diff.schema_rules import backward_faults, forward_faults

RELEASES = ("2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0")
BASES = [name for name in BASE_TYPES if name not in ("Dimname", "DimVector", "DeviceIndex", "GraphModule")]
TYPES = [form.format(base) for base in BASES for form in ("{}", "{}?", "{}[]", "{}[2]", "{}?[]", "{}[]?", "{}[2]?")]

#: What happens to a schema: its form before and after.
EDITS = {
    "keyword to positional": ("f(Tensor x, *, int a) -> ()", "f(Tensor x, int a) -> ()"),
    "positional to keyword": ("f(Tensor x, int a) -> ()", "f(Tensor x, *, int a) -> ()"),
    "default added": ("f(int a) -> ()", "f(int a=1) -> ()"),
    "default removed": ("f(int a=1) -> ()", "f(int a) -> ()"),
    "default changed": ("f(int a=1) -> ()", "f(int a=2) -> ()"),
    "default of None changed": ("f(int? a=None) -> ()", "f(int? a=1) -> ()"),
    "integer default of a scalar": ("f(Scalar a=1) -> ()", "f(Scalar a=1.0) -> ()"),
    "integer default of a float": ("f(float a=1) -> ()", "f(float a=1.0) -> ()"),
    "the same number": ("f(float a=0.1) -> ()", "f(float a=1e-1) -> ()"),
    "reduction by name": ("f(int a=Mean) -> ()", "f(int a=1) -> ()"),
    "default for all items": ("f(int[2] a=0) -> ()", "f(int[2] a=[0,0]) -> ()"),
    "boolean default": ("f(bool a=True) -> ()", "f(bool a=False) -> ()"),
    "wider type with its default": ("f(int a=1) -> ()", "f(Scalar a=1) -> ()"),
    "wider type, another kind of default": ("f(float a=1.0) -> ()", "f(Scalar a=1) -> ()"),
    "dtype": ("f(ScalarType a=long) -> ()", "f(ScalarType a=float) -> ()"),
    "new argument": ("f(int a) -> ()", "f(int a, int b=1) -> ()"),
    "new optional argument": ("f(int a) -> ()", "f(int a, int? b=None) -> ()"),
    "new argument with a list": ("f(int a) -> ()", "f(int a, int[] b=[]) -> ()"),
    "new argument with a text": ("f(int a) -> ()", "f(int a, str b='x') -> ()"),
    "new argument without default": ("f(int a) -> ()", "f(int a, int b) -> ()"),
    "argument removed": ("f(int a, int b=1) -> ()", "f(int a) -> ()"),
    "argument inserted": ("f(int a, int c=1) -> ()", "f(int a, int b=1, int c=1) -> ()"),
    "positional before keyword": ("f(int a, *, int c=1) -> ()", "f(int a, int b=1, *, int c=1) -> ()"),
    "keyword after keyword": ("f(int a, *, int c=1) -> ()", "f(int a, *, int c=1, int b=1) -> ()"),
    "places swapped": ("f(int a, int b) -> ()", "f(int b, int a) -> ()"),
    "renamed": ("f(int a) -> ()", "f(int b) -> ()"),
    "alias set renamed": ("f(Tensor(a) x) -> Tensor(a)", "f(Tensor(b) x) -> Tensor(b)"),
    "alias removed": ("f(Tensor(a) x) -> Tensor(a)", "f(Tensor x) -> Tensor"),
    "alias added": ("f(Tensor x) -> Tensor", "f(Tensor(a) x) -> Tensor(a)"),
    "alias of the return removed": ("f(Tensor(a) x) -> Tensor(a)", "f(Tensor(a) x) -> Tensor"),
    "wildcard": ("f(Tensor(a) x) -> Tensor(a)", "f(Tensor(a -> *) x) -> Tensor(a)"),
    "no longer written": ("f(Tensor x, Tensor(a!) y) -> ()", "f(Tensor x, Tensor y) -> ()"),
    "no longer written, but still an alias": ("f(Tensor(a!) x) -> ()", "f(Tensor(a) x) -> ()"),
    "list no longer written": ("f(Tensor x, Tensor(a!)[] y) -> ()", "f(Tensor x, Tensor[] y) -> ()"),
    "order of alias sets": ("f(Tensor(a|b) x) -> ()", "f(Tensor(b|a) x) -> ()"),
    "narrower return": ("f() -> Tensor?", "f() -> Tensor"),
    "wider return": ("f() -> Tensor", "f() -> Tensor?"),
    "return renamed": ("f() -> (Tensor a, Tensor b)", "f() -> (Tensor a, Tensor c)"),
    "returns named": ("f() -> (Tensor, Tensor)", "f() -> (Tensor a, Tensor c)"),
    "fewer returns": ("f() -> (Tensor, Tensor)", "f() -> Tensor"),
    "size of a list": ("f(int[2] a) -> ()", "f(int[3] a) -> ()"),
    "size of a list removed": ("f(int[1] a) -> ()", "f(int[] a) -> ()"),
    "list made optional": ("f(int[1] a) -> ()", "f(int[1]? a=None) -> ()"),
    "before an out": (
        "f.o(int a, *, Tensor(a!) out) -> Tensor(a!)",
        "f.o(int a, int b=1, *, Tensor(a!) out) -> Tensor(a!)",
    ),
    "before an out, without default": (
        "f.o(int a, *, Tensor(a!) out) -> Tensor(a!)",
        "f.o(int a, int b, *, Tensor(a!) out) -> Tensor(a!)",
    ),
    "second out": (
        "f.o(int a, *, Tensor(a!) out) -> Tensor(a!)",
        "f.o(int a, *, Tensor(a!) out, Tensor(b!) second) -> (Tensor(a!), Tensor(b!))",
    ),
    "out renamed": (
        "f.o(int a, *, Tensor(a!) out) -> Tensor(a!)",
        "f.o(int a, *, Tensor(a!) result) -> Tensor(a!)",
    ),
    "removed before an out": (
        "f.o(int a, int b=1, *, Tensor(a!) out) -> Tensor(a!)",
        "f.o(int a, *, Tensor(a!) out) -> Tensor(a!)",
    ),
}


def torch_verdicts(new: str, old: str) -> tuple[bool, bool]:
    """Whether PyTorch finds two schemas backward compatible, and forward compatible."""
    parsed = [torch._C.parse_schema(f"aten::{text}") for text in (new, old)]
    return parsed[0].is_backward_compatible_with(parsed[1]), parsed[0].check_forward_compatible_with(parsed[1])[0]


def verdicts(new: str, old: str) -> tuple[bool, bool]:
    """The same by Opwright."""
    after, before = parse_schema(new), parse_schema(old)
    return not [*backward_faults(after, before)], not [*forward_faults(after, before)]


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("is_undone", [False, True], ids=["done", "undone"])
def test_edits_are_judged_as_pytorch_does(edit: str, is_undone: bool) -> None:
    """Each edit of a schema, and its opposite, has the verdicts of PyTorch."""
    old, new = reversed(EDITS[edit]) if is_undone else EDITS[edit]
    assert verdicts(new, old) == torch_verdicts(new, old)


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["f({} x) -> ()", "f() -> {}"], ids=["argument", "return"])
def test_types_are_judged_as_pytorch_does(form: str) -> None:
    """For each pair of types, an argument and a return that change from one to the other have PyTorch's verdicts."""
    differing = [
        (new, old)
        for new, old in itertools.product(TYPES, TYPES)
        if verdicts(form.format(new), form.format(old)) != torch_verdicts(form.format(new), form.format(old))
    ]
    assert differing == []
    assert len(TYPES) == 112


@pytest.mark.thorough
def test_overloads_are_judged_as_pytorch_does() -> None:
    """Any two overloads of one operator, taken for an edit of the same one, have PyTorch's verdicts."""
    overloads: dict[str, list[str]] = {}
    for function in load_side("auto", None, Diagnostics()).side.catalog:
        overloads.setdefault(function.name.name, []).append(str(function.schema).partition("(")[2])
    differing, compared = [], 0
    for texts in overloads.values():
        for new, old in itertools.permutations([f"f({text}" for text in texts], 2):
            compared += 1
            if verdicts(new, old) != torch_verdicts(new, old):
                differing.append((new, old))
    print(f"{compared} pairs of overloads")
    assert differing == []
    assert compared > 5000


def changed_schemas(old: str, new: str) -> Iterator[tuple[str, str]]:
    """The schemas of the operators that differ between two releases, after and before."""
    before, after = (
        {function.name.text: str(function.schema) for function in load_side(release, None, Diagnostics()).side.catalog}
        for release in (old, new)
    )
    for name, schema in before.items():
        if name in after and after[name] != schema:
            yield after[name], schema


@pytest.mark.network
@pytest.mark.parametrize("pair", [*itertools.pairwise(RELEASES), ("2.9.1", "2.15.0")], ids="-".join)
@pytest.mark.parametrize("is_undone", [False, True], ids=["up", "down"])
def test_releases_are_judged_as_pytorch_does(pair: tuple[str, str], is_undone: bool) -> None:
    """For each schema that differs between two releases, in both directions, the verdicts are PyTorch's."""
    counts: Counter[str] = Counter()
    for new, old in changed_schemas(*(reversed(pair) if is_undone else pair)):
        try:
            expected = torch_verdicts(new, old)
        except RuntimeError:
            # The installed PyTorch does not know the types of all releases (`Dimname`).
            counts["cannot be parsed"] += 1
            continue
        counts["agree" if verdicts(new, old) == expected else "differ"] += 1
        counts[f"{expected[0]} {expected[1]}"] += 1
    print(f"{pair[is_undone]} -> {pair[not is_undone]}: {dict(counts)}")
    assert counts["differ"] == 0
