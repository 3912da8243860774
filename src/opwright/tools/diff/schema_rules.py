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
    yield from _absence_faults(new.arguments, old.arguments)
    for before, after in _pairs(new.arguments, old.arguments):
        yield from _place_faults(before, after, old.arguments)
        if before.name == after.name:
            yield from _argument_faults(before, after, new.arguments, old.arguments)
            if not accepts(after.type, before.type) or list_size(after.type) != list_size(before.type):
                yield type_text(before, after)
            if before.default is not None and not same_default(before, after):
                yield default_text(before, after)
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
    for before, after in _pairs(new.arguments, old.arguments):
        yield from _place_faults(before, after, old.arguments)
        if before.name == after.name:
            yield from _argument_faults(before, after, new.arguments, old.arguments)
            if not accepts(before.type, after.type) or list_size(after.type) != list_size(before.type):
                yield type_text(before, after)
            if not same_default(before, after):
                yield default_text(before, after)
    for added in new.arguments.non_out[len(old.arguments.non_out) :]:
        if added.default is None:
            yield f"new argument `{added.name}` has no default"
        elif isinstance(added.default_value, tuple):
            yield f"the default of new argument `{added.name}` is a list"


def _pairs(new: Arguments, old: Arguments) -> Iterator[tuple[Argument, Argument]]:
    """Arguments at the same places, out arguments counted by themselves."""
    yield from zip(old.non_out, new.non_out, strict=False)
    yield from zip(old.out, new.out, strict=False)


def _absence_faults(new: Arguments, old: Arguments) -> Iterator[str]:
    """Old arguments behind the last new one, except those that have another place."""
    left = {argument.name for argument in new.all}
    for before in (*old.non_out[len(new.non_out) :], *old.out[len(new.out) :]):
        if before.name not in left:
            yield f"argument `{before.name}` is gone"


def _place_faults(before: Argument, after: Argument, old: Arguments) -> Iterator[str]:
    if before.name == after.name:
        return
    if any(argument.name == after.name for argument in old.all):
        yield f"argument `{after.name}` has another place"
    elif before.type is after.type:
        yield f"argument `{before.name}` is replaced by `{after.name}`"
    else:
        yield f"argument `{after.name}` is inserted before `{before.name}`"


def _argument_faults(before: Argument, after: Argument, new: Arguments, old: Arguments) -> Iterator[str]:
    if _alias_sets(before.annotation) != _alias_sets(after.annotation):
        yield f"argument `{before.name}` has another alias annotation"
    if after not in new.positional and before in old.positional:
        yield f"argument `{before.name}` is passed by name only"


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
