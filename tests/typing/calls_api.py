"""A user's program for type checkers; lines that must be refused end in a remark that says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import opwright
from opwright import convention
from opwright.convention import dispatcher, native

if TYPE_CHECKING:
    from typing_extensions import assert_type

catalog = opwright.load(torch="auto")
assert_type(catalog, opwright.Catalog)
add = catalog["add.Tensor"]
assert_type(add, opwright.NativeFunction)
assert_type(opwright.convention.dispatcher.signature(add), opwright.Signature)
assert_type(convention.native.signature(add), opwright.Signature)
assert_type(dispatcher.signature(add).declaration(), str)
assert_type(opwright.cpp.c_types.BOOL.text, str)
assert_type(opwright.__version__, str)

schema = opwright.parse_schema("f(int[2] size=1) -> Tensor")
argument = schema.arguments.all[0]
assert_type(argument, opwright.Argument)
assert_type(argument.default, str | None)
assert_type(argument.default_value, opwright.DefaultValue)


def depth(type: opwright.Type) -> int:
    """How many lists and optionals a type has."""
    if isinstance(type, opwright.ListType):
        assert_type(type.size, int | None)
        return depth(type.elem) + 1
    return depth(type.elem) + 1 if isinstance(type, opwright.OptionalType) else 0


def total(value: opwright.DefaultValue) -> int:
    """A default value as one integer."""
    if isinstance(value, tuple):
        return sum(item for item in value if isinstance(item, int))
    return value if isinstance(value, int) else 0


def planned(inputs: opwright.Inputs) -> opwright.Plan:
    """The plan of a run."""
    request = opwright.Request(inputs=inputs, folders=opwright.build_folders("build"))
    return opwright.Generation(request).plan()


keys: list[opwright.DispatchKey] = list(add.kernels)
paths = [output.path for output in planned(opwright.open_inputs()).outputs]
assert_type(paths, list[str])

print(opwright.nope)  # error: no such name
print(opwright.convention.nope)  # error: no such module
print(opwright.convention.dispatcher.nope)  # error: no such function
print(opwright.cpp.nope)  # error: no such module
print(opwright.convention.dispatcher.signature("add"))  # error: an overload is no text
print(opwright.convention.dispatcher.signature(add).nope)  # error: no such attribute
print(native.signature(add, 1))  # error: one argument too many
print(opwright.load(torch=2.13))  # error: a version is a text
print(argument.default_value + 1)  # error: not each value is a number
print(schema.nope)  # error: no such attribute
