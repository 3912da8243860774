"""Calls functions of the generated package in the folder that is named, whose operators are written in Python here."""

from __future__ import annotations

import sys
import typing

import torch

sys.path.insert(0, sys.argv[1])

# The functions can be imported before their operators are there.
import acme  # type: ignore[import-not-found]

library = torch.library.Library("acme", "DEF")


def _define(schema: str, kernel: object) -> None:
    library.define(schema)
    library.impl(schema.partition("(")[0], kernel, "CompositeExplicitAutograd")


def _moments(x: torch.Tensor, dim: object = None, keepdim: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    return x.mean(dim, keepdim=keepdim), x.var(dim, keepdim=keepdim)


def _moments_out(
    x: torch.Tensor, dim: object = None, keepdim: bool = False, *, mean: torch.Tensor, variance: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    first, second = _moments(x, dim, keepdim)
    return mean.copy_(first), variance.copy_(second)


_OUTS = "*, Tensor(a!) mean, Tensor(b!) variance) -> (Tensor(a!) mean, Tensor(b!) variance)"
_define("scale(Tensor self, float factor=1.0) -> Tensor", lambda x, factor=1.0: x * factor)
_define(
    "scale.out(Tensor self, float factor=1.0, *, Tensor(a!) out) -> Tensor(a!)",
    lambda x, factor=1.0, *, out: out.copy_(x * factor),
)
_define("pick(Tensor self, Tensor index) -> Tensor", lambda x, index: x[index])
_define("pick.Scalar(Tensor self, Scalar index) -> Tensor", lambda x, index: x[index])
_define("pick.from(Tensor self, str name, *, str mode='x') -> Tensor", lambda x, name, mode="x": x + len(name + mode))
_define(
    "pick.Scalar_out(Tensor self, Scalar index, *, Tensor(a!) out) -> Tensor(a!)",
    lambda x, index, out: out.copy_(x[index]),
)
_define("moments(Tensor self, int[1]? dim=None, bool keepdim=False) -> (Tensor mean, Tensor variance)", _moments)
_define(f"moments.out(Tensor self, int[1]? dim=None, bool keepdim=False, {_OUTS}", _moments_out)
_define("lambda(Tensor self) -> Tensor", lambda x: x + 1)
_define("int(Tensor self, int str, float list=0.5) -> int", lambda *values: values[1])
_define(
    "cast(Tensor self, ScalarType dtype=long, *, MemoryFormat? memory_format=contiguous_format) -> Tensor",
    lambda x, dtype=torch.long, memory_format=None: x.to(dtype, memory_format=memory_format),
)
_define(
    'bounds(Tensor self, float low=-1e-3, int[2] stride=1, str mode="me\\"an") -> Tensor',
    # The dispatcher passes no argument that equals the default of the schema.
    lambda x, low=7.0, stride=(8, 9), mode="": x.new_tensor([low, *stride, len(mode)]),
)

x = torch.arange(6.0).reshape(2, 3)
results = {
    "scale": acme.scale(x, 2.0).equal(x * 2),
    "scale, default": acme.scale(x).equal(x),
    "scale, out": acme.scale(x, 3.0, out=(out := torch.empty(2, 3))) is out and out.equal(x * 3),
    "pick, tensor": acme.pick(x, torch.tensor([1])).equal(x[[1]]),
    "pick, number": acme.pick(x, 1).equal(x[1]),
    "pick, names": acme.pick(self=x, name="ab").equal(x + 3),
    "pick, no out": acme.pick(x, 1, out=None).equal(x[1]),
    "pick, out": acme.pick(x, 1, out=(row := torch.empty(3))) is row and row.equal(x[1]),
    "moments": acme.moments(x, 1)._fields == ("mean", "variance") and acme.moments(x, 1).mean.equal(x.mean(1)),
    "moments, out": acme.moments(x, out=(first := torch.empty(()), torch.empty(()))).mean is first,
    "lambda": acme.lambda_(x).equal(x + 1),
    "int": acme.int(x, 4) == 4,
    "cast": acme.cast(x).dtype is torch.long and acme.cast(x, torch.half).dtype is torch.half,
    "bounds": acme.bounds(x).allclose(torch.tensor([7.0, 8.0, 9.0, 0.0])),
    "hints": typing.get_type_hints(acme.scale)["return"] is torch.Tensor,
    "hints of int": typing.get_type_hints(acme.int)["return"] is int,
    "star": not hasattr(acme, "_library") and acme.MomentsResult is not None,
    "compile": torch.compile(
        lambda x: acme.scale(acme.moments(x, 0).mean, 2.0), fullgraph=True, backend="eager", dynamic=True
    )(x).equal(x.mean(0) * 2),
    "compile, chosen": torch.compile(lambda x: acme.pick(x, 1), fullgraph=True, backend="eager")(x).equal(x[1]),
}
print("\n".join([name for name, is_right in results.items() if not is_right]))
