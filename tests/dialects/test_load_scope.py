"""The scope of a run chooses whole operations, and loading them gives what loading all entries gives."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from opwright.dialects.native_functions.loader import load_catalog
from opwright.dialects.native_functions.scope import LoadScope
from opwright.model.catalog import Catalog, PartialCatalog
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup, ViewGroup
from opwright.schema.signature import base_of_operation
from opwright.source.diagnostic import Diagnostics
from opwright.source.items import split_items
from opwright.source.text import SourceFile

ENTRIES = """\
- func: twice(Tensor self) -> Tensor
  dispatch:
    CPU: twice_cpu

- func: twice_(Tensor(a!) self) -> Tensor(a!)
- func: twice.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
- func: part_copy.int(Tensor self, int dim) -> Tensor
- func: acme::half.Tensor(Tensor self) -> Tensor
  dispatch:
    ZeroTensor: half_zero
- variants: method
  func: late(Tensor self) -> Tensor
"""


def chosen_names(scope: LoadScope) -> list[str]:
    """The names of the entries that a scope chooses."""
    return [text.partition("func: ")[2].partition("(")[0] for _, text in scope.choose(split_items(ENTRIES))]


@pytest.mark.parametrize(
    ("scope", "names"),
    [
        (LoadScope(), []),
        (LoadScope(["supported: [twice]"]), ["twice", "twice_", "twice.out"]),
        (LoadScope(["- twice_", "- half.Tensor"]), ["twice", "twice_", "twice.out", "acme::half.Tensor"]),
        (LoadScope(["- part.int"]), ["part_copy.int"]),
        (LoadScope(["backend: ZeroTensor\n- part"]), ["part_copy.int", "acme::half.Tensor"]),
        (LoadScope(selects=lambda schema: schema.startswith("twice.out(")), ["twice", "twice_", "twice.out"]),
    ],
)
def test_a_scope_chooses_whole_operations(scope: LoadScope, names: list[str]) -> None:
    """All overloads of an operation are chosen, the copying form of a view, kernels for a key, and unnamed entries."""
    assert chosen_names(scope) == [*names, "late"]


def summary(function: NativeFunction) -> tuple[object, ...]:
    """What is known of a function, with the names of those in its groups."""
    group, view_group = function.group, function.view_group
    return (
        str(function.schema),
        function.entry.start,
        {key.name: (kernel.name, kernel.namespace, kernel.structured) for key, kernel in function.kernels.items()},
        function.is_synthesized,
        sorted(function.tags),
        None if group is None else [member.name.text for member in group.functions()],
        None if view_group is None else [member.name.text for member in view_group.functions()],
    )


@pytest.fixture(scope="module")
def tags(reference_inputs: Path) -> SourceFile:
    """The tags of the installed PyTorch."""
    return SourceFile.read(reference_inputs / "native" / "tags.yaml")


@pytest.fixture(scope="module")
def native(reference_inputs: Path) -> SourceFile:
    """The entries of the installed PyTorch."""
    return SourceFile.read(reference_inputs / "native" / "native_functions.yaml")


@pytest.fixture(scope="module")
def whole(native: SourceFile, tags: SourceFile) -> Catalog:
    """All operators of the installed PyTorch."""
    return load_catalog(native, tags, Diagnostics())


def load_part(file: SourceFile, tags: SourceFile, scope: LoadScope) -> Catalog:
    """The operators of a file that are in a scope."""
    items, sink = scope.items(file), Diagnostics()
    assert items is not None
    catalog = load_catalog(items, tags, sink)
    assert not len(sink)
    return catalog


def test_groups_of_pytorch_are_in_one_operation(whole: Catalog) -> None:
    """All functions of a group, and of a view group, have one base name, so a scope never splits a group."""
    for unit in (*whole.groups, *whole.view_groups):
        if not isinstance(unit, NativeFunction):
            assert len({base_of_operation(member.name.text) for member in unit.functions()}) == 1
    for function in whole.functions:
        if function.structured_delegate is not None:
            assert function.structured_delegate.base == function.name.base


@pytest.mark.parametrize("seed", range(3))
def test_operators_in_a_scope_are_those_of_the_whole_file(
    native: SourceFile, whole: Catalog, tags: SourceFile, seed: int
) -> None:
    """What is loaded for a few names is what loading everything gives for their operations, in the same order."""
    names = random.Random(seed).sample([function.name.text for function in whole.functions], 60)
    bases = {base_of_operation(name) for name in names}
    words = {word for name in names for word in name.split(".")}
    part = load_part(native, tags, LoadScope(names))
    loaded = {base_of_operation(function.name.text) for function in part.functions}
    assert bases <= loaded <= {base_of_operation(word) for word in words}
    expected = [function for function in whole.functions if base_of_operation(function.name.text) in loaded]
    assert list(map(summary, part.functions)) == list(map(summary, expected))
    for units, others in ((part.groups, whole.groups), (part.view_groups, whole.view_groups)):
        in_scope = [unit for unit in others if base_of_operation(root_of(unit)) in loaded]
        assert list(map(root_of, units)) == list(map(root_of, in_scope))


def root_of(unit: NativeFunction | NativeFunctionsGroup | ViewGroup) -> str:
    """The name of a function, or of the first one in a group."""
    return unit.name.text if isinstance(unit, NativeFunction) else unit.functions()[0].name.text


def test_a_part_does_not_answer_for_all(native: SourceFile, whole: Catalog, tags: SourceFile) -> None:
    """Whether an operator is missing, and which ones there are, a part of the operators cannot tell."""
    part = load_part(native, tags, LoadScope(["relu"]))
    assert part["relu_"].name.inplace
    for ask in (part.require_all, lambda: part.may_lack("relu6")):
        with pytest.raises(PartialCatalog):
            ask()
    whole.require_all()
    assert not whole.may_lack("relu6")
