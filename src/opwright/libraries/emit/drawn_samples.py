"""Samples of operators whose entries say the sizes of all tensors: texts of the arguments of calls that tests make."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Final

from opwright.libraries.dialect.sample_sizes import SizeValue, Unknown, chosen_sizes, value_of
from opwright.libraries.emit.requirements import message_parts, operator_name
from opwright.model.declared_outputs import (
    DTYPE_CLASSES,
    TORCH_DTYPES,
    OutputExpression,
    OutputOperation,
    dtype_codes,
    dtype_names,
)
from opwright.model.native_function import NativeFunction
from opwright.model.requirements import DimKind, Requirement, Requirements
from opwright.schema.function import Argument

#: For each sample, the sizes of dimensions that patterns do not number, and the sizes that names get, one after the
#: other: small ones, 1, odd ones, none, and larger ones.
_CHOICES: Final = (
    ((2, 3), (4, 6, 2, 8)),
    ((), (1,)),
    ((3,), (3, 5, 7)),
    ((0,), (4, 6)),
    ((2,), (33, 34)),
)

#: The texts of numbers for arguments without a default.
_NUMBERS: Final = {"int": "2", "SymInt": "2", "float": "0.5", "bool": "False"}

#: The dtypes in which kernels are compared with references: half, float, double, bfloat16.
_COMPARED: Final = (5, 6, 7, 15)

#: How many elements a tensor of a sample has at most: tests compute gradients of each.
_MOST_ELEMENTS: Final = 10_000

#: Stands for a value in a message.
_VALUE: Final = "\0"


def drawn_samples(function: NativeFunction) -> tuple[str, ...]:
    """Samples of an operator; none if its entry does not say enough."""
    requirements = function.requirements
    if requirements is None or not requirements.dims:
        return ()
    samples = [_sample(function, requirements, *choice) for choice in _CHOICES]
    return tuple(dict.fromkeys([sample for sample in samples if sample is not None]))


def _sample(
    function: NativeFunction, requirements: Requirements, pack: tuple[int, ...], sizes: tuple[int, ...]
) -> str | None:
    """Arguments with some sizes; None if the operator does not take them, or nothing says what it takes."""
    names: dict[str, int | tuple[int, ...]] = {}
    for _, dims in requirements.dims:
        for item in dims.items:
            if item.kind is DimKind.pack:
                names.setdefault(item.text, pack)
            elif item.kind is DimKind.named:
                names.setdefault(item.text, sizes[len(names) % len(sizes)])
    dims_of = dict(requirements.dims)
    values: dict[str, SizeValue] = {}
    texts: dict[str, str] = {}
    for argument in function.arguments.all:
        if argument.name in dims_of or argument.default is not None:
            values[argument.name] = _default(argument)
        elif argument.type.text in _NUMBERS:
            texts[argument.name] = _NUMBERS[argument.type.text]
            values[argument.name] = 2 if "Int" in argument.type.text or argument.type.text == "int" else 0.5
        else:
            return None
    ordered = sorted(dims_of, key=lambda name: any(item.kind is DimKind.size for item in dims_of[name].items))
    for name in ordered:
        try:
            own = chosen_sizes(name, dims_of[name], names, values)
        except Unknown:
            return None
        if prod(own) > _MOST_ELEMENTS:
            return None
        is_list = any(argument.name == name and "[" in argument.type.text for argument in function.arguments.all)
        values[name] = (own, own) if is_list else own
        tensor = _tensor(name, own, requirements)
        texts[name] = f"[{tensor}, {tensor}]" if is_list else tensor
    if any(_is_broken(requirement, values) for requirement in requirements.checks):
        return None
    positional = [argument.name for argument in function.arguments.positional]
    return ", ".join(
        [
            text if _is_passed_by_place(name, positional, texts) else f"{name}={text}"
            for argument in function.arguments.all
            for name in [argument.name]
            if (text := texts.get(name)) is not None
        ]
    )


def _is_passed_by_place(name: str, positional: list[str], texts: Mapping[str, str]) -> bool:
    return name in positional and all(other in texts for other in positional[: positional.index(name)])


def _default(argument: Argument) -> SizeValue:
    text = str(argument.default)
    try:
        return None if text == "None" else float(text) if "." in text or "e" in text else int(text)
    except ValueError:
        return text


def _is_broken(requirement: Requirement, values: Mapping[str, SizeValue]) -> bool:
    try:
        return not value_of(requirement.condition, values)
    except Unknown:
        return False


def allowed_dtypes(name: str, requirements: Requirements, same: tuple[str, ...] = ()) -> tuple[int, ...] | None:
    """Codes of the dtypes that a tensor may have, which `same` have too; None if all."""
    for requirement in requirements.checks:
        condition = requirement.condition
        if requirement.message and requirement.arguments() == {name} and _is_dtype_of(condition, name):
            return dtype_codes(condition.text)
        if condition.operation is OutputOperation.equal and _is_dtype_of(condition, name):
            others = requirement.arguments() - {name, *same}
            if others:
                return allowed_dtypes(min(others), requirements, (*same, name))
    return None


def _is_dtype_of(condition: OutputExpression, name: str) -> bool:
    """Whether a condition is about the dtype of a tensor."""
    first = condition.operands[0] if condition.operands else None
    while first is not None and first.operation in (OutputOperation.dtype_of, OutputOperation.value):
        if first.operands[0] is not None and first.operands[0].text == name:
            return True
        first = first.operands[0]
    return False


def _tensor(name: str, sizes: tuple[int, ...], requirements: Requirements) -> str:
    """Text of a tensor of some sizes, with a dtype that it may have."""
    codes, shape = allowed_dtypes(name, requirements), repr(tuple(sizes))
    names = [TORCH_DTYPES[dtype] for dtype in dtype_names(codes or (6,)) if dtype in TORCH_DTYPES]
    dtype = "float32" if "float32" in names else names[0] if names else "float32"
    if dtype.startswith(("int", "uint")):
        return f"torch.randint(0, 3, {shape}, dtype=torch.{dtype})"
    if dtype == "bool":
        return f"torch.rand({shape}) < 0.5"
    return f"torch.rand({shape}, dtype=torch.{dtype}) + 0.5"


def can_be_floating(name: str, requirements: Requirements | None) -> bool:
    """Whether a tensor may have floating-point numbers, which have gradients."""
    codes = None if requirements is None else allowed_dtypes(name, requirements)
    return codes is None or not set(DTYPE_CLASSES["floating"]).isdisjoint(codes)


def floating_dtypes(function: NativeFunction) -> tuple[str, ...]:
    """Dtypes that all tensors of floating-point numbers may have; none if the entry does not say which."""
    requirements = function.requirements
    codes = [
        allowed
        for argument in function.arguments.all
        if requirements is not None and argument.type.is_tensor_like
        for allowed in [allowed_dtypes(argument.name, requirements)]
        if allowed is not None and not set(DTYPE_CLASSES["floating"]).isdisjoint(allowed)
    ]
    common = set(_COMPARED).intersection(*codes) if codes else ()
    return tuple([TORCH_DTYPES[name] for name in dtype_names(tuple(sorted(common)))])


def refusals(function: NativeFunction) -> tuple[str, ...]:
    """What is the same in all messages about calls that break a requirement, for each requirement."""
    requirements = function.requirements
    if requirements is None:
        return ()
    operator = operator_name(function)
    messages = [message_parts(operator, requirement) for requirement in requirements.checks]
    texts = ["".join([part if isinstance(part, str) else _VALUE for part in message]) for message in messages]
    return tuple(dict.fromkeys(texts))
