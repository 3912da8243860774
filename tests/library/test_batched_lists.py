"""Operators that take lists and compute the elements of `*b` alone, below `vmap`, with kernels in Python."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.compile.conftest import torch
from tests.library.conftest import generated_code

__all__ = ["torch"]

SCHEMAS = {
    "scaled": "(Tensor x, int[] factors, Tensor? weight=None) -> Tensor",
    "summed": "(Tensor[] tensors, Tensor weight) -> Tensor",
    "given": "(Tensor?[] tensors, Tensor x) -> Tensor",
}
DIMS = {
    "scaled": '{x: "*b d", weight: d, return: "*b d"}',
    "summed": '{tensors: "*b d", weight: d, return: "*b d"}',
    "given": '{x: "*b d", return: "*b d"}',
}


@pytest.fixture(scope="session")
def operators(torch: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The operators, with the rules that are generated for them."""
    entries = [
        f'- func: "{name}{schema}"\n  dispatch: {{CPU: f}}\n  dims: {DIMS[name]}\n' for name, schema in SCHEMAS.items()
    ]
    path = tmp_path_factory.mktemp("listed") / "listed.yaml"
    path.write_text(f"namespace: listed\nabi: stable\noperators:\n{''.join(entries)}")
    out = generated_code(path, tmp_path_factory)
    library = torch.library.Library("listed", "DEF")
    for name, schema in SCHEMAS.items():
        library.define(f"{name}{schema}")
    library.impl("scaled", lambda x, factors, weight=None: x * factors[0] * (1 if weight is None else weight), "CPU")
    library.impl("summed", lambda tensors, weight: sum(tensors) * weight, "CPU")
    library.impl("given", lambda tensors, x: sum(tensor for tensor in tensors if tensor is not None) * x, "CPU")
    package = ModuleType("listed")
    package.__path__ = [str(Path(out / "python/listed"))]
    package.__dict__["library"] = library
    sys.modules["listed"] = package
    importlib.import_module("listed._vmap")
    namespace: ModuleType = torch.ops.listed
    return namespace


def test_lists_of_numbers_are_not_mapped(torch: ModuleType, operators: ModuleType) -> None:
    """A list of integers passes as it is, also where the operator is called for each element."""
    x, weight = torch.randn(5, 2, 3), torch.randn(5, 3)
    assert torch.equal(torch.vmap(operators.scaled, (0, None))(x, [2, 3]), x * 2)
    mapped = torch.vmap(operators.scaled, (0, None, 0))(x, [2, 3], weight)
    torch.testing.assert_close(mapped, x * 2 * weight[:, None])


def test_each_tensor_of_a_list_has_its_dimension(torch: ModuleType, operators: ModuleType) -> None:
    """Tensors of a list are mapped along different dimensions, or not at all."""
    first, second, weight = torch.randn(5, 2, 3), torch.randn(2, 5, 3), torch.randn(5, 3)
    both = first + second.movedim(1, 0)
    run = torch.vmap(operators.summed, ([0, 1], None))
    torch.testing.assert_close(run([first, second], weight[0]), both * weight[0])
    torch.testing.assert_close(
        torch.vmap(operators.summed, ([0, 1], 0))([first, second], weight), both * weight[:, None]
    )
    run = torch.vmap(operators.summed, ([0, None], None))
    torch.testing.assert_close(run([first, first[0]], weight[0]), (first + first[0]) * weight[0])
    twice = torch.vmap(torch.vmap(operators.summed, ([0, 0], None)), ([0, 0], None))
    torch.testing.assert_close(twice([torch.ones(4, 5, 3)] * 2, torch.ones(3)), torch.full((4, 5, 3), 2.0))
    run = torch.vmap(operators.given, ([0, None], 0))
    torch.testing.assert_close(run([first, None], first), first * first)
