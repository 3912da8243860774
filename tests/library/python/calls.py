"""Calls of a library's functions; a wrong one has a remark `error`, and each right one has the type that is stated."""

from __future__ import annotations

import acme
import torch
from acme import MomentsResult, _ops
from torch import SymBool, SymFloat, SymInt, Tensor
from typing_extensions import assert_type

x = torch.ones(2, 3)

assert_type(acme.scale(x), Tensor)
assert_type(acme.scale(x, 2, out=x), Tensor)
assert_type(acme.scale(self=x, factor=0.5, out=None), Tensor)
assert_type(acme.scale_(x, 2.0), Tensor)
acme.scale(x, "2")  # error: a number
acme.scale(x, 2.0, x)  # error: `out` is a keyword
acme.scale(x, out=2.0)  # error: a tensor
acme.scale()  # error: no tensor
acme.scle(x)  # error: misspelt

assert_type(acme.pick(x, x), Tensor)
assert_type(acme.pick(x, 1), Tensor)
assert_type(acme.pick(x, 1, out=x), Tensor)
assert_type(acme.pick(x, name="rows", mode="y"), Tensor)
acme.pick(x, x, out=x)  # error: this overload has no `out`
acme.pick(x, None)  # error: no overload

assert_type(acme.moments(x), MomentsResult)
assert_type(acme.moments(x, 1, True).variance, Tensor)
assert_type(acme.moments(x, [0, 1], out=(x, x)), MomentsResult)
mean, variance = acme.moments(x)
assert_type(mean, Tensor)
acme.moments(x, out=x)  # error: two tensors
median = acme.moments(x).median  # error: no such result
assert_type(acme.counts(x), tuple[Tensor, Tensor])
assert_type(acme.halves(x), tuple[Tensor, Tensor])

assert_type(acme.blank([2, acme.size_of(x, 0)], dtype=torch.half, device="cpu"), Tensor)
acme.blank(2)  # error: a list
acme.blank([2], dtype=1)  # error: a dtype
assert_type(acme.cast(x, torch.int), Tensor)
assert_type(acme.cast(x, memory_format=None), Tensor)
acme.cast(x, "int")  # error: a dtype
assert_type(acme.bounds(x, -1.0, 2), Tensor)
assert_type(acme.bounds(x, stride=[1, 2], mode="sum"), Tensor)
assert_type(acme.stack([x], (None, x), weight=x), list[Tensor])
acme.stack(x, [])  # error: a list
assert_type(acme.noise(x, generator=torch.Generator()), Tensor)
assert_type(acme.lambda_(x), Tensor)
assert_type(acme.int(x, 1, 2), int)
assert_type(acme.Tensor(x), Tensor)
assert_type(_ops._hidden(x), Tensor)
assert_type(acme.touch(x, x), None)
assert_type(acme.size_of(x, 0), int | SymInt)
assert_type(acme.total(x), int | float | complex | SymInt | SymFloat | SymBool)
