"""Model as data: records of operators, with the fields of `fields.py`."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from functools import cache
from typing import TypeAlias

from opwright.libraries.emit.python.sharding import shardy_rule
from opwright.libraries.entry_fields import library_fields
from opwright.libraries.kernels import condition_of, implementations_of
from opwright.model.native_function import (
    DeviceCheck,
    Kernel,
    NativeFunction,
    NativeFunctionsGroup,
    Precomputed,
    UfuncLoop,
    ViewGroup,
)
from opwright.schema.function import Argument, Arguments, Return
from opwright.schema.names import OperatorName
from opwright.schema.types import Annotation, BaseType, ClassType, DispatcherType, ListType, OptionalType, Type
from opwright.tools.dump.fields import RARE_ROWS

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

#: What gives the place of an operator's entry, and of its derivatives, None without any.
Places: TypeAlias = "tuple[Callable[[NativeFunction], JsonValue], Callable[[NativeFunction], JsonValue]]"


def operator_data(function: NativeFunction, places: Places | None = None) -> dict[str, JsonValue]:
    """Record of an operator, without places if nothing gives them."""
    schema = function.schema
    record: dict[str, JsonValue] = {
        "name": function.name.text,
        "namespace": function.namespace,
        "schema": str(schema),
        "kind": schema.kind.name,
        "arguments": _arguments_data(schema.arguments),
        "returns": [_return_data(result) for result in schema.returns],
        "variants": [*["function"] * function.function, *["method"] * function.method],
        "view": function.is_view,
        "tags": [*sorted(function.tags)],
        "kernels": [kernel_data(kernel) for kernel in function.kernels.values()],
        "structured": function.structured,
        "device_check": function.device_check is DeviceCheck.ExactSame,
        "device_guard": function.device_guard,
        "synthesized": function.is_synthesized,
    }
    if places is not None:
        entry, derivative = places
        record["entry"] = entry(function)
        record.update({"derivative": place} if (place := derivative(function)) else {})
    record.update({name: value for name, value in _rare_fields(function) if value})
    return record


def _rare_fields(function: NativeFunction) -> Iterable[tuple[str, JsonValue]]:
    """Fields that most operators lack; those without a value do not apply."""
    for row in RARE_ROWS:
        yield row.attribute, field_data(getattr(function, row.attribute))
    yield "condition", library_fields(function).condition
    yield "sharding_rule", shardy_rule(function)
    yield "group", _group_data(function.group)
    yield "view_group", _view_group_data(function.view_group)


def kernel_data(kernel: Kernel) -> JsonValue:
    """Record of a kernel."""
    record = _kernel_record(kernel)
    if implementations_of(kernel):
        record["implementations"] = [
            {**_kernel_record(implementation), "when": when, "priority": priority, "python": python}
            for implementation, when, priority, python in implementations_of(kernel)
        ]
    return record


def _kernel_record(kernel: Kernel) -> dict[str, JsonValue]:
    record: dict[str, JsonValue] = {
        "key": kernel.key.name,
        "name": kernel.name,
        "namespace": kernel.namespace,
        "structured": kernel.structured,
        "symint": kernel.symint,
    }
    return {**record, "condition": condition_of(kernel)} if condition_of(kernel) else record


# Lists of arguments and returns are interned, so the data of each is made once and shared: nobody changes it.
@cache
def _arguments_data(arguments: Arguments) -> JsonValue:
    kinds = (("positional", arguments.positional), ("keyword", arguments.keyword_only), ("out", arguments.out))
    return [_argument_data(argument, kind) for kind, members in kinds for argument in members]


@cache
def _argument_data(argument: Argument, kind: str) -> JsonValue:
    record: dict[str, JsonValue] = {"name": argument.name, "type": argument.type.text, "kind": kind}
    if argument.default is not None:
        record["default"] = argument.default
    if argument.annotation is not None:
        record["alias"] = _alias_data(argument.annotation)
    return record


@cache
def _return_data(result: Return) -> JsonValue:
    record: dict[str, JsonValue] = {"type": result.type.text}
    if result.name is not None:
        record["name"] = result.name
    if result.annotation is not None:
        record["alias"] = _alias_data(result.annotation)
    return record


def _alias_data(annotation: Annotation) -> JsonValue:
    return {"before": list(annotation.before), "write": annotation.is_write, "after": list(annotation.after)}


def field_data(value: object) -> JsonValue:
    """Value of a field of an entry."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case OperatorName():
            return value.text
        case enum.Enum():
            return value.name
        case Precomputed():
            replaced = {name: field_data(arguments) for name, arguments in value.replace.items()}
            return {"replace": replaced, "add": field_data(value.add)}
        case Argument():
            return _argument_data(value, "positional")
        case UfuncLoop():
            return {"kind": value.key.name, "name": value.name, "dtypes": list(value.dtypes)}
        case dict():
            return list(map(field_data, value.values()))
        case tuple():
            return list(map(field_data, value))
        case frozenset():
            return [*sorted(map(str, value))]
    raise AssertionError(f"no data for a {type(value).__name__}")


@cache
def _group_data(group: NativeFunctionsGroup | None) -> JsonValue:
    if group is None:
        return None
    return _names(
        {"functional": group.functional, "inplace": group.inplace, "out": group.out, "mutable": group.mutable}
    )


@cache
def _view_group_data(group: ViewGroup | None) -> JsonValue:
    if group is None:
        return None
    return _names({"view": group.view, "inplace": group.view_inplace, "copy": group.view_copy})


def _names(members: dict[str, NativeFunction | None]) -> JsonValue:
    return {role: function.name.text for role, function in members.items() if function is not None}


def types_data(functions: Iterable[NativeFunction]) -> dict[str, JsonValue]:
    """Types of all arguments and returns, and the types inside them, by their texts in alphabetical order."""
    types: dict[str, JsonValue] = {}
    for function in functions:
        for argument in function.arguments.all:
            _add_type(argument.type, types)
        for result in function.schema.returns:
            _add_type(result.type, types)
        if function.precomputed is not None:
            for added in (function.precomputed.add, *function.precomputed.replace.values()):
                for argument in added:
                    _add_type(argument.type, types)
    return dict(sorted(types.items()))


def _add_type(type: Type, types: dict[str, JsonValue]) -> None:
    if type.text in types:
        return
    match type:
        case OptionalType(elem=elem):
            types[type.text] = {"kind": "optional", "of": elem.text}
            _add_type(elem, types)
        case ListType(elem=elem, size=size):
            sized: dict[str, JsonValue] = {} if size is None else {"size": size}
            types[type.text] = {"kind": "list", "of": elem.text, **sized}
            _add_type(elem, types)
        case ClassType(class_name=name):
            types[type.text] = {"kind": "class", "class": name}
        case DispatcherType(items=items):
            types[type.text] = {"kind": "dispatcher", **({"of": [item.text for item in items]} if items else {})}
            for item in items:
                _add_type(item, types)
        case BaseType():
            types[type.text] = {"kind": "base"}
        case _:
            raise AssertionError(f"no data for the type {type.text}")
