"""Convention of boxed kernels of ExecuTorch: from values of the type `EValue` to the arguments of a kernel.

An `EValue` holds a tensor, a number, a text, an optional of these, or a list of tensors, optional tensors, integers,
floats or booleans. It holds no other list.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from opwright.convention import shared_types
from opwright.cpp.c_types import CType
from opwright.mobile.executorch import convention as executorch
from opwright.model.native_function import TypeStyle
from opwright.schema.base_types import BASE_TYPE_ROWS
from opwright.schema.function import Argument
from opwright.schema.types import BaseType, ListType, OptionalType, Type
from opwright.source.records import NamedTuple

#: The text of the items' type -> the function of `EValue` that gives a list.
_LISTS: Final = {row.name: row.executorch_list for row in BASE_TYPE_ROWS if row.executorch_list}

_OPTIONAL_TENSORS: Final = "toListOptionalTensor"


class ValueChoices(NamedTuple):
    """What decides how values are converted: the style of the entry, and the mode.

    With `names_indices`, lists of booleans have an index of their own each, as a function with several of them needs.
    """

    style: TypeStyle = TypeStyle.PLAIN
    aten_mode: bool = False
    names_indices: bool = False


class ValueConversion(NamedTuple):
    """Conversion of a value: the variable with the result, declarations before all else, and statements."""

    name: str
    declarations: tuple[str, ...]
    statements: tuple[str, ...]


def _ctype(type: Type, mutable: bool, choices: ValueChoices) -> CType:
    if choices.aten_mode:
        return shared_types.argument_type(type, mutable=mutable, symint=False, style=choices.style)
    return executorch.argument_type(type, mutable=mutable, style=choices.style)


@cache
def convert(argument: Argument, choices: ValueChoices) -> ValueConversion:
    """Conversion of the value in the variable with the argument's name. Raises NoCppType.

    >>> from opwright.schema import parse_schema
    >>> argument = parse_schema("f(Scalar by) -> Tensor").arguments.all[0]
    >>> convert(argument, ValueChoices()).statements
    ('const torch::executor::Scalar & by_base = by.to<torch::executor::Scalar>();',)
    """
    return _conversion(argument.type, argument.name, argument.is_write, choices)


def _conversion(type: Type, name: str, mutable: bool, choices: ValueChoices) -> ValueConversion:
    ctype = _ctype(type, mutable, choices)
    if isinstance(type, BaseType):
        out = f"{name}_base"
        return ValueConversion(out, (), (f"{ctype.text} {out} = {name}.to<{ctype.bare}>();",))
    if isinstance(type, OptionalType):
        out = f"{name}_opt_out"
        inner = _ctype(type.elem, False, choices).bare
        declarations = _conversion(type.elem, f"{name}_opt_in", False, choices).declarations
        return ValueConversion(out, declarations, ("", f"    auto {out} = {name}.toOptional<{inner}>();", ""))
    if isinstance(type, ListType):
        return _list(type, name, ctype, choices)
    raise shared_types.NoCppType(type.text)


def _list(type: ListType, name: str, ctype: CType, choices: ValueChoices) -> ValueConversion:
    out, elem = f"{name}_list_out", type.elem
    if elem.text in _LISTS:
        return ValueConversion(out, (), ("", f"    auto {out} = {name}.{_LISTS[elem.text]}();", ""))
    if elem.text == "bool":
        # PyTorch's kernels take an array of the size in the schema.
        index = f"{name}_i" if choices.names_indices else "_i"
        loop = (
            f"std::array<bool, {type.size}> {out};",
            f"auto {name}_list_in = {name}.toBoolList();",
            f"size_t {index} = 0;",
            *_loop(name, f"{out}[{index}++] = {name}_elem;"),
        )
        return ValueConversion(out, (), _by_mode(loop, f"auto {out} = {name}.toBoolList();"))
    if elem.text == "Tensor?":
        loop = (
            f"auto {name}_list_in = {name}.{_OPTIONAL_TENSORS}();",
            f"c10::List<::std::optional<at::Tensor>> {out};",
            *_loop(name, f"{out}.push_back({name}_elem);"),
        )
        return ValueConversion(out, (), _by_mode(loop, f"auto {out} = {name}.{_OPTIONAL_TENSORS}();"))
    return _unheld(elem, name, ctype, choices)


def _loop(name: str, statement: str) -> tuple[str, ...]:
    return (f"for (auto {name}_elem: {name}_list_in) {{", f"    {statement}", "}")


def _by_mode(with_aten: tuple[str, ...], lean: str) -> tuple[str, ...]:
    """Statements in builds with PyTorch's library, and the one in builds without it."""
    return ("", "#ifdef USE_ATEN_LIB", *with_aten, "#else", lean, "#endif", "")


def _unheld(elem: Type, name: str, ctype: CType, choices: ValueChoices) -> ValueConversion:
    """What ExecuTorch's program writes for a list that no value holds: nothing declares the list of the loop."""
    inner = _conversion(elem, f"{name}_elem", False, choices)
    vector = f"{name}_vec"
    declarations = (*inner.declarations, f"std::vector<{_ctype(elem, False, choices).bare}> {vector};")
    first, *more = inner.statements
    statements = (
        "",
        f"    for (EValue {name}_elem: {name}_list_in) {{",
        f"        {first}",
        *more,
        f"        {vector}.push_back({inner.name});",
        "    }",
        f"    {ctype.bare} {name}_list_out({vector});",
        "",
    )
    return ValueConversion(f"{name}_list_out", declarations, statements)


def unheld_list(type: Type) -> str:
    """List that no `EValue` holds, in a type or inside it; empty if there is none.

    >>> from opwright.schema import parse_type
    >>> unheld_list(parse_type("int[]?")), unheld_list(parse_type("Scalar[]")), unheld_list(parse_type("bool[2]"))
    ('', 'Scalar[]', '')
    """
    inner = type.elem if isinstance(type, OptionalType) else type
    if not isinstance(inner, ListType):
        return ""
    return "" if inner.elem.text in _LISTS or inner.elem.text in ("bool", "Tensor?") else inner.text
