"""Batching rules: vmap calls the author's function once for all examples, with plain tensors and batch dimensions."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from tests.library.conftest import GenerateLibrary

if TYPE_CHECKING:
    from torch import Tensor

RULES = """
namespace: acme
operators:
  - func: pair(Tensor self, Tensor? other, float factor) -> (Tensor, Tensor[])
    batch_rule: pair_rule
    dispatch: {CPU: pair_cpu, Meta: pair_meta}
  - func: push(Tensor self, Tensor(a!) other) -> ()
    batch_rule: mine::push_rule
    dispatch: {CPU: push_cpu}
"""


def test_rules_are_declared(generate_library: GenerateLibrary) -> None:
    """A rule takes and gives a batch dimension after each tensor."""
    out = generate_library(RULES)
    header = (out / "include" / "acme" / "kernels.h").read_text()
    dimension = "::std::optional<int64_t>"
    assert (
        f"ACME_API ::std::tuple<at::Tensor, {dimension}, ::std::vector<at::Tensor>, {dimension}> pair_rule("
        f"const at::Tensor & self, {dimension} self_bdim, "
        f"const ::std::optional<at::Tensor> & other, {dimension} other_bdim, double factor);"
    ) in header
    assert (
        f"ACME_API void push_rule(const at::Tensor & self, {dimension} self_bdim, "
        f"at::Tensor & other, {dimension} other_bdim);"
    ) in header
    source = (out / "src" / "acme" / "register_0.cpp").read_text()
    pointer = "&acme::batching::push_generated_plumbing<decltype(&mine::push_rule), &mine::push_rule>"
    assert f'm.impl("push", {pointer});' in source.partition("FuncTorchBatched, m)")[2]


@pytest.mark.thorough
def test_a_rule_is_called_once_for_all_examples(acme: ModuleType, torch: ModuleType) -> None:
    """The result is that of the operator on each example, wherever the batch dimension is."""
    batch, other = torch.randn(3, 4, 5), torch.randn(5, 4)

    def expected(first: Tensor, second: Tensor) -> list[Tensor]:
        results = [acme.pair(first[:, index], second, 2.0) for index in range(4)]
        return [torch.stack(part) for part in zip(*results, strict=True)]

    before = acme.count_batches()
    found = torch.vmap(lambda first, second: acme.pair(first, second, 2.0), in_dims=(1, None))(batch, other[:, 0])
    assert acme.count_batches() == before + 1
    torch.testing.assert_close(list(found), expected(batch, other[:, 0]))
    rows = torch.randn(4, 5)
    _, sums = torch.vmap(lambda first, second: acme.pair(first, second, 2.0), in_dims=(0, 1))(rows, other)
    torch.testing.assert_close(sums, rows + other.t())


@pytest.mark.thorough
def test_rules_under_nested_vmap(acme: ModuleType, torch: ModuleType) -> None:
    """Each level of vmap calls the rule for its own batches."""
    batch = torch.randn(3, 4, 5)
    nested = torch.vmap(torch.vmap(lambda tensor: acme.pair(tensor, None, 3.0)[0]))
    torch.testing.assert_close(nested(batch), batch * 3)
    outer = torch.randn(3, 5)
    mixed = torch.vmap(lambda row: torch.vmap(lambda tensor: acme.pair(row, None, 3.0)[0] + tensor)(batch[0]))
    torch.testing.assert_close(mixed(outer), outer[:, None] * 3 + batch[0])


@pytest.mark.thorough
def test_rules_of_operators_that_write(acme: ModuleType, torch: ModuleType) -> None:
    """The rule of an in-place operator writes to the tensors of all examples."""
    batch, other = torch.zeros(3, 2), torch.randn(3, 2)
    assert torch.vmap(acme.lift_)(batch, other) is not None
    torch.testing.assert_close(batch, other)
    with pytest.raises(RuntimeError, match="an example cannot change what all examples share"):
        torch.vmap(lambda tensor: acme.lift_(torch.zeros(2), tensor))(other)
