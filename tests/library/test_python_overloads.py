"""Overloads that are synthesized in a library with the stable interface do in Python what the written ones do."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest

from opwright.emit.emitter import Job, Options
from opwright.libraries.emit.python.overloads import MODULE
from opwright.libraries.operator_library import RunLibraries
from opwright.model.catalog import Catalog
from tests.dialects.test_library import loaded
from tests.emit.emitting import RULES, slots_of

LIBRARY = """
namespace: acme_forms
abi: stable
operators:
- func: shift_(Tensor(a!) self, float by=1.0) -> Tensor(a!)
  autogen: shift, shift.out
  dispatch: {CPU: shift_}
- func: grow_(Tensor(a!)[] self, float by) -> ()
  autogen: grow, grow.out
  dispatch: {CPU: grow_}
- func: count(Tensor x, Tensor(a!) seen) -> Tensor
  autogen: count_functional, count.out
  dispatch: {CPU: count}
- func: pair(Tensor x) -> (Tensor, Tensor)
  autogen: pair.out
  dispatch: {CPU: pair}
"""


@pytest.fixture(scope="module")
def operators(torch: ModuleType) -> Iterator[ModuleType]:
    """The operators, the written ones with kernels in Python, the others as the generated module defines them."""
    libraries, sink = loaded(LIBRARY)
    sink.raise_if_errors()
    job = Job(Catalog((), (), (), (), {}), RULES, Options(), guests=[RunLibraries(libraries)])
    library = torch.library.Library("acme_forms", "DEF")
    kernels = {
        "shift_": lambda self, by=1.0: self.add_(by),
        "grow_": lambda self, by: [tensor.mul_(by) for tensor in self] and None,
        "count": lambda x, seen: seen.add_(1).sum() + x,
        "pair": lambda x: (x + 1, x * 2),
    }
    for function in libraries[0].catalog.functions:
        if not function.is_synthesized:
            library.define(function.schema.written_text)
            library.impl(function.name.text, kernels[function.name.text], "CPU")
    text = slots_of(lambda _: [MODULE.emitter()], "acme_forms/_overloads.py", job)["text"]
    module: dict[str, ModuleType] = {}
    exec(text if isinstance(text, str) else text[0], module)
    yield torch.ops.acme_forms
    for made in (module.pop("_library"), library):
        made._destroy()


def test_functional_overloads_leave_their_arguments(operators: ModuleType, torch: ModuleType) -> None:
    """They write to copies, and return these after the results."""
    row, other = torch.tensor([1.0, 2.0]), torch.tensor([3.0])
    assert operators.shift(row).tolist() == [2.0, 3.0]
    assert operators.shift(row, 2.0).tolist() == [3.0, 4.0]
    assert [tensor.tolist() for tensor in operators.grow([row, other], 2.0)] == [[2.0, 4.0], [6.0]]
    total, seen = operators.count_functional(other, row)
    assert (total.tolist(), seen.tolist()) == ([8.0], [2.0, 3.0])
    assert (row.tolist(), other.tolist()) == ([1.0, 2.0], [3.0])


def test_out_overloads_copy_results(operators: ModuleType, torch: ModuleType) -> None:
    """They resize what they write to, and return it; what the operator itself writes to is written too."""
    row, out = torch.tensor([1.0, 2.0]), torch.empty(0)
    assert operators.shift.out(row, 2.0, out=out) is out
    assert (out.tolist(), row.tolist()) == ([3.0, 4.0], [1.0, 2.0])
    first, second = torch.empty(0), torch.empty(0)
    results = operators.pair.out(row, out0=first, out1=second)
    assert [tensor.tolist() for tensor in results] == [first.tolist(), second.tolist()] == [[2.0, 3.0], [2.0, 4.0]]
    outs = [torch.empty(0), torch.empty(0)]
    assert operators.grow.out([row, row], 3.0, out=outs) is None
    assert [tensor.tolist() for tensor in outs] == [[3.0, 6.0], [3.0, 6.0]]
    total = torch.empty(0)
    operators.count.out(torch.tensor([3.0]), row, out=total)
    assert (total.tolist(), row.tolist()) == ([8.0], [2.0, 3.0])
