"""PyTorch's rules of compatibility between two schemas of an operator.

PyTorch checks that programs which were saved with an older schema run with a newer one (`backward_faults`), and the
other way round (`forward_faults`). Programs pass arguments by position and by name, and rely on the defaults that they
leave out, so the arguments of the old schema must come first, under their names. The tests compare both rules with
PyTorch's functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

from opwright.schema.base_types import names_where
from opwright.schema.defaults import REDUCTIONS, NamedConstant
from opwright.schema.function import Argument, Arguments, FunctionSchema, Return
from opwright.schema.types import Annotation, BaseType, ListType, OptionalType, Type

#: Base types that programs pass as integers.
_INTEGERS: Final = names_where("is_integer_in_programs")
#: The types that a `Scalar` holds.
_NUMBERS: Final = ("int", "float")


@cache
def _runtime_text(type: Type) -> str:
    """Text of a type as programs see it: without sizes of lists, and with integers for what they stand for."""
    match type:
        case OptionalType(elem=elem):
            return f"{_runtime_text(elem)}?"
        case ListType(elem=elem):
            return f"{_runtime_text(elem)}[]"
        case _:
            return "int" if type.text in _INTEGERS else type.text


@cache
def accepts(wider: Type, narrower: Type) -> bool:
    """Whether each value of one type is a value of another.

    >>> from opwright.schema import parse_type
    >>> accepts(parse_type("Scalar?"), parse_type("int")), accepts(parse_type("Tensor?[]"), parse_type("Tensor[]"))
    (True, False)
    """
    if _runtime_text(wider) == _runtime_text(narrower):
        return True
    if isinstance(wider, OptionalType):
        return accepts(wider.elem, narrower.elem if isinstance(narrower, OptionalType) else narrower)
    is_number = isinstance(narrower, BaseType) and _runtime_text(narrower) in _NUMBERS
    return wider.text == "Scalar" and is_number


def list_size(type: Type) -> int | None:
    """Length of a list for which one item can stand, None for other types."""
    inner = type.elem if isinstance(type, OptionalType) else type
    return inner.size if isinstance(inner, ListType) else None


def same_default(old: Argument, new: Argument) -> bool:
    """Whether two arguments have the same default, or none. The integer 1 is not the number 1.0."""
    if old.default is None or new.default is None:
        return old.default is new.default
    return _with_type(_value(old)) == _with_type(_value(new))


def _value(argument: Argument) -> object:
    value = argument.default_value
    return REDUCTIONS.get(value.name, value.name) if isinstance(value, NamedConstant) else value


def _with_type(value: object) -> object:
    return [_with_type(item) for item in value] if isinstance(value, tuple) else (type(value), value)


def _alias_sets(annotation: Annotation | None) -> object:
    if annotation is None:
        return None
    return frozenset(annotation.before), annotation.is_write, frozenset(annotation.after)


def backward_faults(new: FunctionSchema, old: FunctionSchema) -> Iterator[str]:
    """Why programs that were saved with the old schema do not run with the new one; nothing if they do."""
    yield from _returns_count_faults(new, old)
    if len(new.returns) == len(old.returns):
        for index, (earlier, later) in enumerate(zip(old.returns, new.returns, strict=True)):
            yield from _return_faults(index, earlier, later)
    # Old arguments behind the last new one, except those that have another place.
    left = {argument.name for argument in new.arguments.all}
    count, outs = len(new.arguments.non_out), len(new.arguments.out)
    for before in (*old.arguments.non_out[count:], *old.arguments.out[outs:]):
        if before.name not in left:
            yield f"argument `{before.name}` is gone"
    yield from _argument_faults(new.arguments, old.arguments, is_forward=False)
    for added in new.arguments.non_out[len(old.arguments.non_out) :]:
        if added.default is None:
            yield f"new argument `{added.name}` has no default"


def forward_faults(new: FunctionSchema, old: FunctionSchema) -> Iterator[str]:
    """Why programs that are saved with the new schema do not run with the old one; nothing if they do.

    New arguments are left out of programs where they have their default.
    """
    yield from _returns_count_faults(new, old)
    if len(new.arguments.out) != len(old.arguments.out):
        yield "the number of out arguments differs"
    yield from _argument_faults(new.arguments, old.arguments, is_forward=True)
    for added in new.arguments.non_out[len(old.arguments.non_out) :]:
        if added.default is None:
            yield f"new argument `{added.name}` has no default"
        elif isinstance(added.default_value, tuple):
            yield f"the default of new argument `{added.name}` is a list"


def _argument_faults(new: Arguments, old: Arguments, *, is_forward: bool) -> Iterator[str]:
    """What differs between arguments at the same places, out arguments counted by themselves."""
    for pairs in (zip(old.non_out, new.non_out, strict=False), zip(old.out, new.out, strict=False)):
        for before, after in pairs:
            if before.name != after.name:
                yield _place_fault(before, after, old)
                continue
            if _alias_sets(before.annotation) != _alias_sets(after.annotation):
                yield f"argument `{before.name}` has another alias annotation"
            if after not in new.positional and before in old.positional:
                yield f"argument `{before.name}` is passed by name only"
            wider, narrower = (before.type, after.type) if is_forward else (after.type, before.type)
            if not accepts(wider, narrower) or list_size(wider) != list_size(narrower):
                yield type_text(before, after)
            if (is_forward or before.default is not None) and not same_default(before, after):
                yield default_text(before, after)


def _place_fault(before: Argument, after: Argument, old: Arguments) -> str:
    if any(argument.name == after.name for argument in old.all):
        return f"argument `{after.name}` has another place"
    if before.type is after.type:
        return f"argument `{before.name}` is replaced by `{after.name}`"
    return f"argument `{after.name}` is inserted before `{before.name}`"


def _returns_count_faults(new: FunctionSchema, old: FunctionSchema) -> Iterator[str]:
    if len(new.returns) != len(old.returns):
        yield f"{len(new.returns)} returns instead of {len(old.returns)}"


def _return_faults(index: int, before: Return, after: Return) -> Iterator[str]:
    if before.name != after.name:
        yield f"return {index} is named {_name_text(after)} instead of {_name_text(before)}"
    if _alias_sets(before.annotation) != _alias_sets(after.annotation):
        yield f"return {index} has another alias annotation"
    if not accepts(before.type, after.type) or list_size(before.type) != list_size(after.type):
        yield f"return {index} is `{after.type}` instead of `{before.type}`"


def _name_text(result: Return) -> str:
    return "nothing" if result.name is None else f"`{result.name}`"


def type_text(before: Argument, after: Argument) -> str:
    """Reason of a type that differs."""
    return f"argument `{before.name}` is `{after.type}` instead of `{before.type}`"


def default_text(before: Argument, after: Argument) -> str:
    """Reason of a default that differs."""
    if after.default is None:
        return f"argument `{before.name}` has no default"
    if before.default is None:
        return f"argument `{before.name}` has the default `{after.default}`"
    return f"the default of `{before.name}` is `{after.default}` instead of `{before.default}`"
