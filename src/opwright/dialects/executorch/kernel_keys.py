"""The keys of kernels: the dtypes and dim orders of tensors for which a kernel is registered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Final

from opwright.source.named_tuple import NamedTuple

__all__ = ["DTYPES", "TensorSpec", "kernel_keys"]

#: Name of a dtype -> its number in keys.
DTYPES: Final = {"Byte": 0, "Char": 1, "Short": 2, "Int": 3, "Long": 4, "Float": 6, "Double": 7, "Bool": 11}


class TensorSpec(NamedTuple):
    """What a kernel says of an argument: the alias of its dtypes, and its dim order."""

    type_alias: str
    dim_order: tuple[int, ...]


def kernel_keys(
    specs: Sequence[TensorSpec], aliases: Mapping[str, Sequence[str]], *, as_reference: bool = False
) -> list[str]:
    """The keys of a kernel, one for each combination of the dtypes of its aliases.

    An alias that several arguments have stands for the same dtype in all of them. The last alias varies fastest. With
    `as_reference`, a dim order of one dimension ends in a comma, as in the keys of ExecuTorch's own program.

    >>> kernel_keys([TensorSpec("T0", (0, 1)), TensorSpec("T0", (0, 1))], {"T0": ["Float", "Double"]})
    ['v1/6;0,1|6;0,1', 'v1/7;0,1|7;0,1']
    """
    used = list(dict.fromkeys([spec.type_alias for spec in specs]))
    return [
        _key(specs, dict(zip(used, dtypes, strict=True)), as_reference)
        for dtypes in product(*[aliases[alias] for alias in used])
    ]


def _key(specs: Sequence[TensorSpec], dtypes: Mapping[str, str], as_reference: bool) -> str:
    tensors = [f"{DTYPES[dtypes[spec.type_alias]]};{_dim_order(spec.dim_order, as_reference)}" for spec in specs]
    return f"v1/{'|'.join(tensors)}"


def _dim_order(order: Sequence[int], as_reference: bool) -> str:
    text = ",".join(map(str, order))
    return f"{text}," if as_reference and len(order) == 1 else text
