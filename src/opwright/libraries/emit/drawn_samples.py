"""Samples of operators whose entries say the sizes of all tensors: texts of the arguments of calls that tests make."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from math import prod
from typing import Final, TypeAlias

from opwright.libraries.declared_outputs import (
    DTYPE_CLASSES,
    TORCH_DTYPES,
    OutputExpression,
    OutputOperation,
    dtype_codes,
    dtype_names,
)
from opwright.libraries.dialect.sample_sizes import SizeValue, Unknown, chosen_sizes, value_of
from opwright.libraries.emit.drawn_values import Limits, integers_text, limits_of, numbers_text
from opwright.libraries.emit.requirements import message_parts, operator_name
from opwright.libraries.entry_fields import library_fields, requirements_of
from opwright.libraries.requirements import (
    DimKind,
    Requirement,
    Requirements,
    argument_names,
    index_name,
    item_name,
)
from opwright.model.native_function import NativeFunction

#: For each sample, the sizes of dimensions that patterns do not number, and the sizes that names get, one after the
#: other: small ones, 1, odd ones, none, and larger ones.
_Choice: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
_CHOICES: Final[tuple[_Choice, ...]] = (
    ((2, 3), (4, 6, 2, 8)),
    ((), (1,)),
    ((3,), (3, 5, 7)),
    ((0,), (4, 6)),
    ((2,), (33, 34)),
)

#: The same where no gradients are computed: no elements in one dimension or another, a prime that is no power of two,
#: and more than 2^16 elements.
_WIDE: Final[tuple[_Choice, ...]] = (
    ((2,), (0, 3)),
    ((2,), (3, 0)),
    ((3,), (257, 3)),
    ((3,), (5, 257)),
    ((257, 2), (6, 130)),
    ((), (520, 260)),
)
_MOST_WIDE: Final = 1 << 19

#: The values of arguments without a default, of which the first is taken that the entry allows.
_INTEGERS: Final = (2, 1, 4, 8, 16, 32, 64, 128, 3, 0, -1)
_CANDIDATES: Final[Mapping[str, tuple[SizeValue, ...]]] = {
    "int": _INTEGERS,
    "SymInt": _INTEGERS,
    "float": (0.5, 1.0, 2.0, 0.125, 0.0, -0.5),
    "bool": (False, True),
}

#: The dtypes in which kernels are compared with references: half, float, double, bfloat16.
_COMPARED: Final = (5, 6, 7, 15)

#: How many elements a tensor of a sample has at most: tests compute gradients of each.
_MOST_ELEMENTS: Final = 10_000

#: Stands for a value in a message.
_VALUE: Final = "\0"


def wide_samples(function: NativeFunction) -> tuple[str, ...]:
    """Samples with sizes of 0, odd ones and many elements, with which no gradients are computed."""
    return drawn_samples(function, _WIDE, most=_MOST_WIDE)


def drawn_samples(
    function: NativeFunction, choices: Sequence[_Choice] = _CHOICES, *, most: int = _MOST_ELEMENTS
) -> tuple[str, ...]:
    """Samples of an operator, for some choices of sizes; none if its entry does not say enough.

    Where an entry does not say which integers a tensor may have, such as those of an index, the operator has the
    samples of its author alone, if there are any.
    """
    requirements = requirements_of(function)
    if requirements is None or not requirements.dims or not library_fields(function).draws_samples:
        return ()
    dtypes = AllowedDtypes(requirements)
    valued = {value.name for value in requirements.values}
    if library_fields(function).samples and any(
        dtypes.are_integers(name) and name not in valued for name, _ in requirements.dims
    ):
        return ()
    sampler = _Sampler(function, requirements, dtypes)
    samples = [sampler.sample(*choice, most) for choice in choices]
    return tuple(dict.fromkeys([sample for sample in samples if sample is not None]))


class _Sampler:
    """What an operator takes whatever the sizes are, and samples of it for some sizes."""

    __slots__ = ("_arguments", "_chosen", "_conditions", "_dims", "_dtypes", "_lists", "_ordered", "_requirements")

    def __init__(self, function: NativeFunction, requirements: Requirements, dtypes: AllowedDtypes) -> None:
        self._requirements: Final = requirements
        self._dtypes: Final = dtypes
        self._arguments: Final = function.arguments
        self._lists: Final = {argument.name for argument in function.arguments.all if "[" in argument.type.text}
        self._dims: Final = dict(requirements.dims)
        self._ordered: Final = sorted(
            self._dims, key=lambda name: any(item.kind is DimKind.size for item in self._dims[name].items)
        )
        self._chosen: Final = _chosen_values(function, requirements)
        self._conditions: Final = requirements.values_by_tensor()

    def sample(self, pack: tuple[int, ...], sizes: tuple[int, ...], most: int) -> str | None:
        """Arguments with some sizes; None if the operator does not take them, or nothing says what it takes."""
        names: dict[str, int | tuple[int, ...]] = {}
        for dims in self._dims.values():
            for item in dims.items:
                if item.kind is DimKind.pack:
                    names.setdefault(item.text, pack)
                elif item.kind is DimKind.named:
                    names.setdefault(item.text, sizes[len(names) % len(sizes)])
        values: dict[str, SizeValue] = {}
        texts: dict[str, str] = {}
        for argument in self._arguments.all:
            if argument.name in self._dims or argument.default is not None:
                values[argument.name] = argument.default_value
            elif argument.name in self._chosen:
                values[argument.name] = self._chosen[argument.name]
                texts[argument.name] = repr(self._chosen[argument.name])
            else:
                return None
        shapes: dict[str, tuple[int, ...]] = {}
        for name in self._ordered:
            try:
                own = chosen_sizes(name, self._dims[name], names, values)
            except Unknown:
                return None
            if prod(own) > most:
                return None
            values[name] = (own, own) if name in self._lists else own
            shapes[name] = own
        for name, own in shapes.items():
            try:
                limits = limits_of(self._conditions.get(name, ()), ChainMap({item_name(name): own}, values))
                tensor = _tensor(own, self._dtypes.of(name), names, limits)
            except Unknown:
                return None
            texts[name] = f"[{tensor}, {tensor}]" if name in self._lists else tensor
        if any(_is_broken(requirement, values) for requirement in self._requirements.checks):
            return None
        by_place = {*takewhile(texts.__contains__, [argument.name for argument in self._arguments.positional])}
        return ", ".join(
            [
                text if name in by_place else f"{name}={text}"
                for argument in self._arguments.all
                for name in [argument.name]
                if (text := texts.get(name)) is not None
            ]
        )


def _chosen_values(function: NativeFunction, requirements: Requirements) -> dict[str, SizeValue]:
    """Values of arguments without a default, of which nothing but sizes is asked that others have."""
    chosen: dict[str, SizeValue] = {}
    # There may be a thousand of both.
    checks_of: dict[str, list[Requirement]] = {}
    for check in requirements.checks:
        names = argument_names(check.condition)
        if len(names) == 1:
            checks_of.setdefault(min(names), []).append(check)
    for argument in function.arguments.all:
        checks = checks_of.get(argument.name, [])
        texts = [
            check.condition.text.split("\n") for check in checks if check.condition.operation is OutputOperation.text_in
        ]
        candidates = texts[0] if texts else _CANDIDATES.get(argument.type.text, ())
        for value in candidates if argument.default is None else ():
            if not any(_is_broken(check, {argument.name: value}) for check in checks):
                chosen[argument.name] = value
                break
    return chosen


def _is_broken(requirement: Requirement, values: dict[str, SizeValue]) -> bool:
    given: list[dict[str, SizeValue]] = [{}]
    if requirement.each:
        items = values.get(requirement.each) or ()
        names = item_name(requirement.each), index_name(requirement.each)
        given = [dict(zip(names, (item, index), strict=True)) for index, item in enumerate(items)]
    for more in given:
        try:
            if not value_of(requirement.condition, ChainMap(more, values)):
                return True
        except Unknown:
            pass
    return False


class AllowedDtypes:
    """Codes of the dtypes that the tensors of an operator may have.

    The conditions are kept by the tensors that they are about: there may be a thousand of both.
    """

    __slots__ = ("_conditions", "_found")

    def __init__(self, requirements: Requirements | None) -> None:
        self._found: Final[dict[str, tuple[int, ...] | None]] = {}
        self._conditions: Final[dict[str, list[Requirement]]] = {}
        for requirement in () if requirements is None else requirements.checks:
            for name in _dtypes_read(requirement.condition):
                is_item = bool(requirement.each) and name == item_name(requirement.each)
                self._conditions.setdefault(requirement.each if is_item else name, []).append(requirement)

    def of(self, name: str) -> tuple[int, ...] | None:
        """Those of one tensor; None if it may have all."""
        same: set[str] = set()
        while name not in same and name not in self._found:
            same.add(name)
            for requirement in self._conditions.get(name, ()):
                condition, names = requirement.condition, requirement.arguments()
                if requirement.message and names == {name}:
                    self._found[name] = dtype_codes(condition.text)
                    break
                if condition.operation is OutputOperation.equal and names - same:
                    name = min(names - same)
                    break
        codes = self._found.get(name)
        self._found.update(dict.fromkeys(same, codes))
        return codes

    def can_be_floating(self, name: str) -> bool:
        """Whether a tensor may have floating-point numbers, which have gradients."""
        codes = self.of(name)
        return codes is None or not set(DTYPE_CLASSES["floating"]).isdisjoint(codes)

    def are_integers(self, name: str) -> bool:
        """Whether a tensor has integers, and may have no other numbers."""
        codes = self.of(name)
        return codes is not None and set(codes).issubset(DTYPE_CLASSES["integral"])


def _dtypes_read(condition: OutputExpression) -> Iterator[str]:
    """The tensors whose dtype a condition is about."""
    first = condition.operands[0] if condition.operands else None
    if first is None or first.operation is not OutputOperation.dtype_of:
        return
    while first is not None and first.operation in (OutputOperation.dtype_of, OutputOperation.value):
        first = first.operands[0]
        if first is not None:
            yield first.text


def _tensor(
    sizes: tuple[int, ...],
    codes: tuple[int, ...] | None,
    named: Mapping[str, int | tuple[int, ...]],
    limits: Limits,
) -> str:
    """Text of a tensor of some sizes, with one of its dtypes and values that it may have. Raises Unknown.

    Integers without limits are places in every named dimension.
    """
    shape = tuple(sizes)
    names = [TORCH_DTYPES[dtype] for dtype in dtype_names(codes or (6,)) if dtype in TORCH_DTYPES]
    dtype = "float32" if "float32" in names else names[0] if names else "float32"
    if dtype.startswith(("int", "uint")):
        counts = [size for size in named.values() if isinstance(size, int) and size > 0]
        return integers_text(limits, shape, dtype, (0, min([3, *counts]) - 1))
    if dtype == "bool":
        return f"torch.rand({shape}) < 0.5"
    return numbers_text(limits, shape, dtype)


def floating_dtypes(function: NativeFunction) -> tuple[str, ...]:
    """Dtypes that all tensors of floating-point numbers may have; none if the entry does not say which."""
    dtypes = AllowedDtypes(requirements_of(function))
    codes = [
        allowed
        for argument in function.arguments.all
        if argument.type.is_tensor_like
        for allowed in [dtypes.of(argument.name)]
        if allowed is not None and not set(DTYPE_CLASSES["floating"]).isdisjoint(allowed)
    ]
    common = set(_COMPARED).intersection(*codes) if codes else ()
    return tuple([TORCH_DTYPES[name] for name in dtype_names(tuple(sorted(common)))])


def refusals(function: NativeFunction) -> tuple[str, ...]:
    """What is the same in all messages about calls that break a requirement, for each requirement."""
    requirements = requirements_of(function)
    if requirements is None:
        return ()
    operator = operator_name(function)
    messages = [message_parts(operator, requirement) for requirement in requirements.checks]
    texts = ["".join([part if isinstance(part, str) else _VALUE for part in message]) for message in messages]
    return tuple(dict.fromkeys(texts))
