"""Merged selections are those of PyTorch's selector library."""

from __future__ import annotations

import random
from functools import reduce

import pytest
import yaml

from opwright.dialects.selection import load_selection
from opwright.mobile.selective.merging import union_of
from opwright.mobile.selective.writer import write_selection
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile

NAMES = ("aten::add", "aten::add.Tensor", "aten::mul.out", "prim::device", "quantized::linear")
DTYPES = ("Float", "Int", "Double", "all")


def any_selection(choice: random.Random) -> dict[str, object]:
    """The values of a selection file."""

    def some(values: tuple[str, ...]) -> list[str]:
        return choice.sample(values, choice.randint(0, len(values)))

    fields = {
        "include_all_operators": choice.random() < 0.2,
        "include_all_non_op_selectives": choice.random() < 0.3,
        "operators": {name: any_operator(choice) for name in some(NAMES)},
        "kernel_metadata": {tag: some(DTYPES) for tag in some(("add_kernel", "mul_kernel"))},
        "et_kernel_metadata": {name: some(("default", "v1/6;0,1", "v1/3;1,0")) for name in some(NAMES)},
        "custom_classes": some(("A", "B")),
        "build_features": some(("x", "y")),
        "debug_info": some(("model_b@2", "model_a@1")),
    }
    return {name: value for name, value in fields.items() if choice.random() < 0.8}


def any_operator(choice: random.Random) -> dict[str, object]:
    """The fields of an operator."""
    flags = ("is_root_operator", "is_used_for_training", "include_all_overloads")
    fields: dict[str, object] = {flag: choice.random() < 0.5 for flag in flags if choice.random() < 0.7}
    if choice.random() < 0.6:
        fields["debug_info"] = choice.sample(("model_b@2", "model_a@1", "None"), choice.randint(0, 2))
    return fields


@pytest.mark.parametrize("count", [0, 1, 2, 3])
@pytest.mark.parametrize("seed", range(12))
def test_merged_selections_are_written_as_the_library_writes_them(seed: int, count: int) -> None:
    """The text of merged selections is that of the library, where it does not depend on the hash seed."""
    selector = pytest.importorskip("torchgen.selective_build.selector")
    choice = random.Random(seed * 7 + count)
    data = [any_selection(choice) for _ in range(count)]
    builders = [selector.SelectiveBuilder.from_yaml_dict(fields) for fields in data]
    start = selector.SelectiveBuilder.from_yaml_dict({})
    union = reduce(selector.combine_selective_builders, builders[1:], builders[0]) if builders else start
    expected = union.to_dict()
    if count > 1:
        for fields in expected["operators"].values():
            if "debug_info" in fields:
                fields["debug_info"] = sorted(fields["debug_info"])
    sink = Diagnostics()
    files = [SourceFile("selected.yaml", yaml.safe_dump(fields)) for fields in data]
    ours = write_selection(union_of([load_selection(file, sink) for file in files]))
    assert not len(sink)
    if count > 1:
        # Operators of a single selection keep the order of their `debug_info`.
        again = yaml.safe_load(ours)
        for fields in again["operators"].values():
            if "debug_info" in fields:
                fields["debug_info"] = sorted(fields["debug_info"])
        ours = yaml.safe_dump(again, default_flow_style=False)
    assert ours == yaml.safe_dump(expected, default_flow_style=False)
