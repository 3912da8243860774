"""A program for the hook of `opwright.torchgen.run`: what PyTorch does with its generator when it runs."""

from __future__ import annotations

import torch
import torch._custom_op.impl
import torch._functorch._aot_autograd.graph_capture
import torch._library.utils
import torchgen.gen_schema_utils
import torchgen.model
from torch.testing._internal.opinfo.core import SampleInput

assert torchgen.model.__name__.startswith("opwright.")
assert torch._library.utils.is_functional_schema("f(Tensor a, int[2] b=1) -> Tensor") is True
assert torch._library.utils.is_functional_schema("f(Tensor(a!) a) -> ()") is False
assert "input=tensor([1.])" in repr(SampleInput(torch.ones(1)))


def _twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


twice = torch.library.custom_op("opwright_demo::twice", _twice, mutates_args=())
twice.register_fake(torch.empty_like)


def function(x: torch.Tensor) -> torch.Tensor:
    """Something to compile."""
    return twice(x) + torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))


values = torch.arange(3.0)
compiled = torch.compile(function, backend="aot_eager", fullgraph=True)
assert torch.equal(compiled(values), function(values))
example = torchgen.gen_schema_utils.FunctionSchemaGen.from_example(
    "cond", (("self", values), ("graph", torch.fx.symbolic_trace(lambda x: x)), ("sizes", [1, 2])), (values, 1)
)
print(example)
