"""Overloads of one Python function: which share a signature, and the order in which the parser tries them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import cache
from typing import Final

from opwright.convention.python.signature import PythonSignature
from opwright.model.native_function import NativeFunction
from opwright.schema.types import Type
from opwright.source.records import NamedTuple


class Overload(NamedTuple):
    """A native function with one of its Python signatures; deprecated signatures are further overloads."""

    signature: PythonSignature
    function: NativeFunction


class Pair(NamedTuple):
    """Overloads that one signature of the parser calls: one without `out`, and one with it."""

    signature: PythonSignature
    base: NativeFunction
    out: NativeFunction | None


class Repeated(Exception):
    """Two overloads have the same signature in Python."""

    def __init__(self, first: Overload, second: Overload) -> None:
        super().__init__(second.signature.text)
        self.first: Final = first
        self.second: Final = second


class OutAlone(Exception):
    """An overload with `out` has no counterpart without it; `candidates` are overloads that are similar."""

    def __init__(self, out: Overload, candidates: Sequence[Overload]) -> None:
        super().__init__(out.signature.text)
        self.out: Final = out
        self.candidates: Final = tuple(candidates)


def pair_overloads(overloads: Sequence[Overload]) -> list[Pair]:
    """Pairs each overload with its out form, in the order of the overloads without `out`.

    Raises Repeated and OutAlone.
    """
    if len(overloads) == 1 and not overloads[0].function.arguments.out:
        return [Pair(*overloads[0], None)]
    bases: dict[str, Overload] = {}
    outs: dict[str, Overload] = {}
    for overload in overloads:
        signatures = outs if overload.function.arguments.out else bases
        first = signatures.setdefault(overload.signature.text_without_out, overload)
        if first is not overload:
            raise Repeated(first, overload)
    for text, overload in outs.items():
        if text not in bases or not _takes_same(overload, bases[text]):
            deprecated = overload.signature.deprecated
            raise OutAlone(overload, [base for base in bases.values() if base.signature.deprecated is deprecated])
    return [_pair(overload, outs.get(text)) for text, overload in bases.items()]


def _takes_same(out: Overload, base: Overload) -> bool:
    # The parser calls a function's `self` `input`, so one text may stand for two names.
    names = [parameter.name for parameter in base.signature.without_out]
    return [parameter.name for parameter in out.signature.without_out] == names


def _pair(base: Overload, out: Overload | None) -> Pair:
    if out is None:
        return Pair(base.signature, base.function, None)
    # The signature with `out` has all parameters of the other one, which has the tensor options.
    return Pair(out.signature.with_options(base.signature.options), base.function, out.function)


#: Pairs of types: the parser must try the second type first, because the first one takes its values too.
_YIELDS_TO: Final = frozenset(
    (
        # The parser converts numbers to tensors, and tensors without dimensions to numbers.
        ("Scalar", "Tensor"), ("Scalar?", "Tensor?"), ("SymInt", "Tensor"), ("int", "Tensor"),
        # The parser takes one integer as a list.
        ("int[]", "int"), ("int[]", "int?"),
        ("SymInt[]", "int[]"),
    )
)  # fmt: skip


@cache
def _yields(type: Type, other: Type) -> bool:
    if "Dimname" in type.text:
        # Dimension names are strings, which no other type takes, so they come last.
        return "Dimname" not in other.text
    # The parser fails on a list with items other than tensors, so lists of tensors come last.
    return (type.text, other.text) in _YIELDS_TO or (type.text == "Tensor[]" and "[]" in other.text)


def _types(signature: PythonSignature) -> tuple[Type, ...]:
    return tuple([parameter.type for parameter in signature.without_out])


def _comes_after(types: tuple[Type, ...], others: tuple[Type, ...]) -> bool:
    """Whether the parser must try another signature with as many parameters first, since it would never reach it.

    That is so if each parameter has the same type as there, or one that takes the other's values too.
    """
    return types != others and all(
        type is other or _yields(type, other) for type, other in zip(types, others, strict=True)
    )


def sort_pairs(pairs: Sequence[Pair]) -> list[Pair]:
    """Pairs in the order in which the parser tries them: by text, but after the pairs that must come first."""
    if len(pairs) == 1:
        return list(pairs)
    by_text = sorted(pairs, key=lambda pair: pair.signature.text)
    waiting = _waiting(by_text)
    if not waiting:
        return by_text
    followers: dict[int, list[int]] = {}
    for index, first in waiting.items():
        for number in first:
            followers.setdefault(number, []).append(index)
    pairs_in_order: list[Pair] = []
    ready = deque(index for index in range(len(by_text)) if index not in waiting)
    while ready:
        index = ready.popleft()
        pairs_in_order.append(by_text[index])
        # Pairs that wait only for this one follow, in the order of their texts.
        for number in followers.get(index, ()):
            waiting[number].discard(index)
            if not waiting[number]:
                ready.append(number)
    return pairs_in_order


def _waiting(by_text: Sequence[Pair]) -> dict[int, set[int]]:
    """Index of each pair that must come after others, with the indices of these."""
    indexes: dict[tuple[Type, ...], list[int]] = {}
    all_types = [_types(pair.signature) for pair in by_text]
    for index, types in enumerate(all_types):
        indexes.setdefault(types, []).append(index)
    by_length: dict[int, list[tuple[Type, ...]]] = {}
    for types in indexes:
        by_length.setdefault(len(types), []).append(types)
    # Signatures of different functions, which stubs sort together, often have the same types.
    first = {
        types: [index for others in by_length[len(types)] if _comes_after(types, others) for index in indexes[others]]
        for types in indexes
    }
    return {index: set(first[types]) for index, types in enumerate(all_types) if first[types]}
