"""Convention of unboxing: from boxed values on a stack to arguments of the public C++ API.

Boxed values have no symbolic integers. Lists are copied into vectors that live as long as the call.
"""

from __future__ import annotations

from functools import cache

from opwright.convention import shared_types
from opwright.cpp.c_types import CType
from opwright.model.native_function import TypeStyle
from opwright.schema.function import Argument
from opwright.schema.types import BaseType, ListType, OptionalType, Type
from opwright.source.records import NamedTuple


class Unboxed(NamedTuple):
    """An unboxed value: its C++ name and type, the vectors that it needs, and the statements that make it."""

    name: str
    type: CType
    vectors: tuple[str, ...]
    statements: tuple[str, ...]


@cache
def unbox(argument: Argument, style: TypeStyle) -> Unboxed:
    """Unboxes the value of an argument from the variable with the argument's name.

    >>> from opwright.schema import parse_schema
    >>> argument = parse_schema("f(int dim) -> Tensor").arguments.all[0]
    >>> unbox(argument, TypeStyle.PLAIN).statements
    ('int64_t dim_base = dim.to<int64_t>();',)
    """
    return _value(argument.type, argument.name, argument.is_write, style)


def _value(type: Type, name: str, writes: bool, style: TypeStyle) -> Unboxed:
    ctype = shared_types.argument_type(type, mutable=writes, symint=False, style=style)
    if isinstance(type, BaseType):
        out = f"{name}_base"
        return Unboxed(out, ctype, (), (f"{ctype.bare} {out} = {name}.to<{ctype.bare}>();",))
    if isinstance(type, OptionalType):
        return _optional(ctype, name, _value(type.elem, f"{name}_opt_in", False, style))
    if isinstance(type, ListType):
        return _list(type, ctype, name, _value(type.elem, f"{name}_elem", False, style))
    raise shared_types.NoCppType(type.text)


def _inside(statements: tuple[str, ...]) -> list[str]:
    first, *more = statements
    return [f"    {first}", *[f"\t{statement}" for statement in more]]


def _optional(ctype: CType, name: str, inner: Unboxed) -> Unboxed:
    out = f"{name}_opt_out"
    statements = (
        "",
        f"auto {name}_opt = {name}.toOptional<c10::IValue>();",
        f"{ctype.bare} {out};",
        f"if ({name}_opt.has_value()) {{",
        f"    const c10::IValue {name}_opt_in = {name}_opt.value();",
        *_inside(inner.statements),
        f"    {out} = {ctype.bare}({inner.name});",
        "} else {",
        f"    {out} = {ctype.bare}();",
        "}",
        "",
    )
    return Unboxed(out, ctype, inner.vectors, statements)


def _list(type: ListType, ctype: CType, name: str, elem: Unboxed) -> Unboxed:
    out, items, vector = f"{name}_list_out", f"{name}_list_in", f"{name}_vec"
    taken = f"const c10::List<c10::IValue> {items} = {name}.toList();"
    if type.elem.text == "bool" and type.size:
        array = f"{ctype.bare} {out} = as_array<{elem.type.bare}, {type.size}>({items});"
        return Unboxed(out, ctype, elem.vectors, (taken, "", array, ""))
    is_owned = isinstance(type.elem, OptionalType)
    filled = out if is_owned else vector
    loop = (
        f"for (c10::IValue {name}_elem: {items}) {{",
        *_inside(elem.statements),
        f"    {filled}.push_back({elem.name});",
        "}",
    )
    if is_owned:
        return Unboxed(out, ctype, elem.vectors, (taken, "", f"{ctype.bare} {out};", *loop, ""))
    # The list only refers to its items, so the vector that owns them is declared outside of all blocks.
    vectors = (*elem.vectors, f"std::vector<{elem.type.bare}> {vector};")
    return Unboxed(out, ctype, vectors, (taken, "", *loop, f"{ctype.bare} {out}({vector});", ""))
