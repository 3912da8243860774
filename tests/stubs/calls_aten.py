"""Calls of PyTorch's operators as users write them; a wrong one has a remark `error` with what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch._ops import HigherOrderOperator, OpOverload, OpOverloadPacket

aten = torch.ops.aten
x = torch.ones(2, 3)
generator = torch.Generator()

# Overloads, with arguments by position and by name.
total: Tensor = aten.add.Tensor(x, x)
total = aten.add.Tensor(x, x, alpha=2)
total = aten.add.Tensor(self=x, other=x, alpha=1.5)
total = torch.ops.aten.add.Tensor(x, 1)
aten.add.Tensor(x)  # error: no `other`
aten.add.Tensor(x, x, 2)  # error: `alpha` is passed by name
aten.add.Tensor(x, "1")  # error: neither tensor nor number
aten.add.Tensor(x, x, beta=2)  # error: no such argument
aten.mm.default(x, 1)  # error: a matrix is no number
aten.maximum.default(x, None)  # error: never None

# Operators choose among their overloads.
total = aten.add(x, x)
total = aten.add(x, 1, 2)
total = aten.add(x, x, alpha=2, out=x)
total = aten.sum(x)
total = aten.sum(x, [0], True, dtype=torch.float64)
total = aten.softmax(x, -1)
aten.add(x, [1])  # error: no overload takes a list
aten.relu(x, x)  # error: one argument
aten.sum(x, dims=[0])  # error: it is called `dim`

# Names that are not there.
aten.add.Tensr(x, x)  # error: misspelt overload
aten.ad.Tensor(x, x)  # error: misspelt operator
aten.relu.out_(x, out=x)  # error: the overload is `out`
aten.addmm.Tensor(x, x, x)  # error: the overload is `default`

# Out variants.
total = aten.add.out(x, x, out=torch.empty(2, 3))
values, indices = aten.max.dim_max(x, 0, max=torch.empty(3), max_values=torch.empty(3, dtype=torch.int64))
aten.add.out(x, x)  # error: no `out`
aten.add.out(x, x, x)  # error: `out` is passed by name
aten.add.out(x, x, out=(x,))  # error: one tensor
aten.sort.values(x, values=x)  # error: no `indices`

# Returns: nothing, one, a tuple, a list.
values, indices = aten.max.dim(x, 0)
mean, variance, rstd = aten.native_layer_norm.default(x, [3], None, None, 1e-5)
parts: list[Tensor] = aten.split.Tensor(x, 1)
same: bool = aten.equal.default(x, x)
number: int = aten.size.int(x, 0)
kind: int = aten.result_type.Tensor(x, x)
count: int | torch.SymInt = aten.sym_size.int(x, 0)
nothing = [aten._foreach_add_.Scalar([x], 1)]
values, indices, more = aten.max.dim(x, 0)  # error: two values
total = aten.split.Tensor(x, 1)  # error: a list
text: str = aten.equal.default(x, x)  # error: a truth value
number = aten.relu.default(x)  # error: a tensor

# Lists, and values that stand for all items of a list of a wished length.
total = aten.permute.default(x, [1, 0])
total = aten.permute.default(x, (1, 0))
total = aten.expand.default(x, x.size())
total = aten.max_pool2d.default(torch.ones(1, 4, 4), 2, [1, 1], padding=0)
total = aten.sum.dim_IntList(x, 0)
total = aten.cat.default((x, x), 1)
total = aten.index.Tensor(x, [None, torch.tensor([0])])
total = aten.upsample_nearest1d.vec(torch.ones(1, 2, 3), None, [2.0])
aten.permute.default(x, 1)  # error: a list without length takes no single value
aten.permute.default(x, ["a"])  # error: numbers
aten.cat.default(x)  # error: a list of tensors
aten.cat.default([x, None])  # error: tensors
aten.max_pool2d.default(x, 2.5)  # error: whole numbers

# Types of tensors, devices, generators, memory formats, text.
total = aten.zeros.default([2, 3], dtype=torch.float32, device="cpu", layout=torch.strided, pin_memory=False)
total = aten.zeros.default([2, count], device=torch.device("cpu"), dtype=None)
total = aten.clone.default(x, memory_format=torch.contiguous_format)
total = aten.bernoulli.p(x, 0.5, generator=generator)
total = aten.div.Tensor_mode(x, x, rounding_mode="floor")
aten.zeros.default([2], dtype="float")  # error: a type of tensors
aten.zeros.default([2], device=0)  # error: devices have names
aten.zeros.default([2], torch.float32)  # error: passed by name
aten.clone.default(x, memory_format=torch.strided)  # error: a layout
aten.bernoulli.p(x, 0.5, generator=0)  # error: a generator
aten.div.Tensor_mode(x, x, rounding_mode=1)  # error: text

# Words of Python's own: passed by position, and reached by name where a dot cannot.
total = aten.uniform_.default(x, 0.0, 1.0)
total = aten.uniform_.default(x, to=2.0)
total = aten.random_(x, 0, 2)
total = getattr(aten.random_, "from")(x, 0, 2)
total = aten.__and__.Tensor(indices, indices)
aten.uniform_.default(x, from_=0.0)  # error: no argument is called so

# What overloads and operators are besides.
name: str = aten.add.Tensor.name()
schema: torch._C.FunctionSchema = aten.add.Tensor._schema
operator: OpOverloadPacket = aten.add.Tensor.overloadpacket
names: list[str] = aten.add.overloads()
tags: Sequence[torch.Tag] = aten.add.Tensor.tags
total = aten.reshape.default.decompose(x, [3, 2])
space: str = aten.add.Tensor.namespace
aten.reshape.default.decompose(x, [3, 2], 1)  # error: two arguments
aten.add.Tensor.nmae()  # error: misspelt
aten.add.Tensor._schema.nmae()  # error: misspelt


def applied(overload: OpOverload[[Tensor, Tensor], Tensor], operand: Tensor) -> Tensor:
    """A call of any overload of two tensors."""
    return overload(operand, operand)


def of_any_operator(operator: OpOverloadPacket, overload: OpOverload, call: Callable[[Tensor], Tensor]) -> str:
    """Operators that nobody knows beforehand are open."""
    call(x)
    return f"{operator.overloads()} {overload.name()}"


table: dict[OpOverload, Callable[..., object]] = {aten.add.Tensor: aten.sub.Tensor, aten.mm.default: torch.mm}
of_any_operator(aten.add, aten.add.Tensor, aten.relu.default)
of_any_operator(aten.relu, aten.relu.default, aten.relu)
of_any_operator(aten.add, aten.add, aten.relu)  # error: an operator is no overload
of_any_operator(aten.add, aten.add.Tensor, aten.mm)  # error: two arguments
table[aten.add] = torch.add  # error: an operator is no overload


def of_nobody_knows_whom(operator: OpOverloadPacket, overload: OpOverload) -> None:
    """Calls of what is not known before the program runs are not checked."""
    operator.default(1, 2, three=3)
    overload(1, 2, three=3)
    torch.ops.nobody.knows.default(x, how=1)
    torch.ops.load_library("libknown.so")


other: HigherOrderOperator = torch.ops.higher_order.cond
