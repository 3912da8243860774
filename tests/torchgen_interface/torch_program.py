"""A program that runs with Opwright's modules in front: what PyTorch does with its generator when it runs."""

from __future__ import annotations

import sys
import types
from typing import Any

import torch
import torch._custom_op.impl
import torch._functorch._aot_autograd.graph_capture
import torch._library.utils
import torch.utils.data.datapipes.gen_pyi
import torchgen.gen_schema_utils
import torchgen.model
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing._internal.opinfo.core import SampleInput
from torch.testing._internal.two_tensor import TwoTensor
from torch.utils._python_dispatch import get_alias_info

assert torch._library.utils.is_functional_schema("f(Tensor a, int[2] b=1) -> Tensor") is True
assert torch._library.utils.is_functional_schema("f(Tensor(a!) a) -> ()") is False
assert "input=tensor([1.])" in repr(SampleInput(torch.ones(1)))


def _twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


twice = torch.library.custom_op("opwright_demo::twice", _twice, mutates_args=())
twice.register_fake(torch.empty_like)
twice.register_autograd(lambda _, gradient: gradient * 2)


def spread(x: torch.Tensor, by: float) -> torch.Tensor:
    """An operator that is registered in the older way."""
    raise NotImplementedError


older = torch._custom_op.impl.custom_op("opwright_demo::spread")(spread)
older.impl("cpu")(lambda x, by: x * by)
older.impl_abstract()(lambda x, by: torch.empty_like(x))


def function(x: torch.Tensor) -> torch.Tensor:
    """Something to compile: operators with enumerators as defaults, views, writes, and operators of libraries."""
    noise = torch.randint(0, 5, (3,)) + torch.randperm(3) + torch.empty_strided((3,), (1,)).fill_(1)
    table = torch.stack((x, x)).t().contiguous()
    table[0].add_(1)
    rolled = torch.nn.functional.conv1d(table.view(1, 1, -1), torch.ones(1, 1, 4)).flatten()
    return twice(rolled) + torch.ops.opwright_demo.spread(x.detach(), 0.5) + noise


def outcome(call: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """The result of a call and its gradient, with the same random numbers each time."""
    torch.manual_seed(1)
    leaf = torch.arange(3.0).requires_grad_()
    result = call(leaf)
    gradient = torch.autograd.grad(result.sum(), leaf)[0] if torch.is_grad_enabled() else leaf
    return result.detach(), gradient


torch._inductor.config.force_disable_caches = True
torch._inductor.config.fallback_random = True
# With wrappers in C++, Inductor looks for the C functions of operators.
torch._inductor.config.cpp_wrapper = True
for backend in sys.argv[1:]:
    with torch.set_grad_enabled(backend == "aot_eager"):
        compiled = torch.compile(function, backend=backend, fullgraph=True)
        assert all(map(torch.allclose, outcome(function), outcome(compiled))), backend

values = torch.arange(3.0)
torch.library.opcheck(twice, (values.clone().requires_grad_(),))
checks = ("test_schema", "test_faketensor")
torch.library.opcheck(torch.ops.opwright_demo.spread.default, (values, 2.0), test_utils=checks)

branches = torch.compile(lambda x: torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,)), backend="aot_eager")
assert torch.equal(branches(values), values.sin())

pair = TwoTensor(values, values + 1)
doubled = torch.compile(lambda x: x.view(3, 1).mul(2).sin_(), backend="aot_eager")(pair)
assert torch.equal(doubled.b, (values + 1).view(3, 1).mul(2).sin_())

table = torch._decomp.core_aten_decompositions()
traced = make_fx(lambda x: torch.nn.functional.gelu(torch.addcmul(x, x, x)), decomposition_table=table)(values)
assert "addcmul" not in traced.code, traced.code
exported = torch.export.export(torch.nn.Sequential(torch.nn.Conv1d(1, 1, 2), torch.nn.SiLU()), (values.view(1, 3),))
assert "silu" not in exported.run_decompositions(table).graph_module.code

assert len([get_alias_info(getattr(torch.ops.aten.randint, name)) for name in torch.ops.aten.randint.overloads()]) > 5

example = torchgen.gen_schema_utils.FunctionSchemaGen.from_example(
    "cond", (("self", values), ("graph", torch.fx.symbolic_trace(lambda x: x)), ("sizes", [1, 2])), (values, 1)
)
print(example)

# A package has its own name, and the attributes of Opwright's. The table of shims may be PyTorch's, an input.
loaded = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "torchgen"}
for name, module in loaded.items():
    assert isinstance(module, types.ModuleType)
    if name != "torchgen.aoti.fallback_ops":
        assert module.__name__ == f"opwright.{name}" or "opwright" in str(module.__getattr__), name
assert {"torchgen.model", "torchgen.utils", "torchgen.gen_schema_utils", "torchgen.api.python"} <= loaded.keys()
assert ("torchgen.aoti.fallback_ops" in loaded) is ("inductor" in sys.argv)
