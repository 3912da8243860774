"""Module `_sharding.py` of a library: how the operators compute distributed tensors.

An operator that computes each element of some dimensions alone computes parts of them on each device. The rules are
registered when PyTorch's distributed tensors are imported, which takes longer than all else that the package does.
"""

from __future__ import annotations

from typing import Final

from opwright.libraries.emit.python.batch_rules import mapped_loops
from opwright.libraries.emit.python.registrations import functions_module, operator_expression
from opwright.libraries.emit.requirements import has_checks
from opwright.libraries.entry_fields import requirements_of
from opwright.libraries.requirements import DimItem, DimKind, LoopPlace, TensorDims
from opwright.model.native_function import NativeFunction
from opwright.schema.function import SchemaKind
from opwright.schema.types import TENSOR, ListType


def _is_sharded(function: NativeFunction) -> bool:
    """Whether a function only computes tensors from tensors, and the entry says the sizes of all results."""
    requirements, schema = requirements_of(function), function.schema
    if requirements is None or not has_checks(function) or function.has_composite_implicit:
        return False
    if schema.kind is not SchemaKind.functional or any(argument.annotation for argument in schema.arguments.all):
        return False
    types = [argument.type for argument in schema.arguments.all]
    return (
        bool(requirements.results)
        and None not in requirements.results
        and not any(type.is_tensor_like and isinstance(type, ListType) for type in types)
        and all(result.type is TENSOR for result in schema.returns)
    )


def _rule(function: NativeFunction) -> tuple[str]:
    loops = mapped_loops(function)
    arguments: dict[str, LoopPlace] = {} if loops is None else loops.arguments
    places = {name: tuple(place) for name, place in arguments.items()}
    results = () if loops is None else tuple([None if place is None else place.before for place in loops.results])
    requirements = requirements_of(function)
    linear = () if requirements is None else requirements.linear
    return (f"_rules.append(({operator_expression(function)}, {places!r}, {results!r}, {linear!r}))\n",)


_CLOSING: Final = """

if _DISTRIBUTED in _sys.modules:
    _register_all()
else:
    _sys.meta_path.insert(0, _Importing())
"""


def shardy_rule(function: NativeFunction) -> str:
    """The rule as text of Shardy's `op_sharding_rule`, with names of sizes in place of numbers; empty if there is none.

    A factor for `*b` stands for one of these dimensions. Shardy has no results that are sums beside others that are
    not, and no operators that are linear: there, the dimensions are replicated.
    """
    requirements = requirements_of(function)
    if requirements is None or not _is_sharded(function):
        return ""
    dims = dict(requirements.dims)
    operands = [dims.get(argument.name) for argument in function.arguments.all if argument.type.is_tensor_like]
    factors = _Factors()
    mappings = [
        [None if pattern is None else factors.mapping(pattern) for pattern in patterns]
        for patterns in (operands, requirements.results)
    ]
    if not operands or None in mappings[0]:
        return ""
    loops = mapped_loops(function)
    places = () if loops is None else loops.results
    arguments = () if loops is None else loops.arguments
    packs = [item for name in arguments for item in dims[name].items if item.kind is DimKind.pack]
    looped = {_factor_name(pack) for pack in packs}
    reduced = looped if places and not any(places) else set()
    replicated = set(factors.symbols) - (looped if all(places) or reduced else set())
    sides = ["({})".format(", ".join(map(str, side))) for side in mappings]
    sizes = ", ".join([f"{symbol}={size}" for symbol, size in factors.sizes.items()])
    text = f"{sides[0]}->{sides[1]} {{{sizes}}}"
    for word, names in (("reduction", reduced), ("need_replication", replicated)):
        symbols = [symbol for name, symbol in factors.symbols.items() if name in names]
        text += f" {word}={{{', '.join(symbols)}}}" if symbols else ""
    return text


class _Factors:
    """The factors of a rule: `symbols` by their names, and their sizes."""

    def __init__(self) -> None:
        self.symbols: Final[dict[str, str]] = {}
        self.sizes: Final[dict[str, str]] = {}

    def mapping(self, dims: TensorDims) -> str:
        """The factor of each dimension of a tensor. Dimensions of the same name have the same one."""
        return f"[{', '.join([self._symbol(item) for item in dims.items])}]"

    def _symbol(self, item: DimItem) -> str:
        count = len(self.symbols)
        name = _factor_name(item) if item.kind in (DimKind.pack, DimKind.named) else f"{item.text} {count}"
        # The letters from i to z, then numbers.
        symbol = chr(ord("i") + count) if count < _LETTERS else f"z_{count - _LETTERS + 1}"
        self.sizes.setdefault(self.symbols.setdefault(name, symbol), item.text)
        return self.symbols[name]


_LETTERS: Final = 18


def _factor_name(item: DimItem) -> str:
    return f"*{item.text}" if item.kind is DimKind.pack else item.text


MODULE: Final = functions_module("sharding", _is_sharded, _rule, closing=_CLOSING)
