"""Members of operator classes whose arguments are boxed by generated code.

A typed call of the dispatcher compiles only if `c10::IValue` has a constructor for each argument: it may find a boxed
kernel. For `c10::List<c10::List<c10::SymInt>>`, say, there is none, though the dispatcher holds such values and kernels
take them.
"""

from __future__ import annotations

import re
from typing import Final

from opwright.convention import dispatcher, shared_types
from opwright.emit.aten.units import KEY_SET, key_set_parameter, own_name
from opwright.model.native_function import NativeFunction
from opwright.schema.types import DispatcherType, ListType, OptionalType, Type

BOXED_CALL_HEADER: Final = "opwright/boxed_call.h"


def is_boxed(function: NativeFunction) -> bool:
    """Whether generated code boxes the arguments of an operator."""
    return not all(has_constructor(argument.type) for argument in function.arguments.all)


#: What makes lists that are no values of `c10::IValue` if it is inside of their items.
_IN_ITEMS: Final = re.compile(r"\b(SymInt|Scalar|DeviceIndex)\b")


def has_constructor(type: Type) -> bool:
    """Whether `c10::IValue` has a constructor for the C++ type of an argument that kernels can take.

    It has none for lists of indices, and of symbols or scalars that are not in the list themselves.

    >>> from opwright.schema import parse_schema
    >>> schema = parse_schema("f(SymInt[] a, SymInt[2]? b, SymInt?[] c, DeviceIndex[] d, Scalar?[] e) -> ()")
    >>> [has_constructor(argument.type) for argument in schema.arguments.all]
    [True, True, False, False, False]
    """
    whole = type.elem if isinstance(type, OptionalType) else type
    if not isinstance(whole, ListType) or whole.elem.text in ("SymInt", "Scalar"):
        return True
    return not _IN_ITEMS.search(whole.elem.text)


def has_kernels(type: Type, holder: str = "") -> bool:
    """Whether kernels in C++ can take an argument of a type, or such values of a `list`, `Dict` or `tuple`.

    PyTorch refuses scalars in a list inside of another value, and reads no lists of indices from one, and no lists of
    symbols from a tuple.

    >>> from opwright.schema import parse_type
    >>> [has_kernels(parse_type(text)) for text in ("Scalar?[]", "SymInt[][]", "Scalar[][]", "DeviceIndex[]?[]")]
    [True, True, False, False]
    """
    match type:
        case OptionalType(elem=elem):
            return has_kernels(elem, holder)
        case ListType(elem=elem) if elem.text == "SymInt":
            return holder != "tuple"
        case ListType(elem=elem) if elem.text in ("Scalar", "DeviceIndex", "DeviceIndex?"):
            return not holder
        case ListType(elem=elem):
            return has_kernels(elem, holder or "list")
        case DispatcherType(name="Dict" | "", items=items):
            return all(has_kernels(item, type.name or "tuple") for item in items)
    return True


def definition(function: NativeFunction) -> str:
    """Members of the class of such an operator."""
    signature, name = dispatcher.signature(function), function.name.unambiguous
    stack, keys = own_name(function, "stack"), own_name(function, KEY_SET)
    call, redispatch = signature.definition(f"{name}::call"), f"{name}::redispatch"
    return f"""
// {function.library.namespace}::{function.schema}
{call} {{
{_body(function, f"callBoxed(&{stack})")}}}

// {function.library.namespace}::{function.schema}
{signature.definition(redispatch, first=key_set_parameter(function))} {{
{_body(function, f"redispatchBoxed({keys}, &{stack})")}}}
"""


def _body(function: NativeFunction, call: str) -> str:
    operator, stack = own_name(function, "op"), own_name(function, "stack")
    name = function.name.unambiguous
    arguments = dispatcher.signature(function).arguments
    result = dispatcher.return_statement(function.schema.returns, _results(function, stack), function.style)
    returned = f"    {result}\n" if result else ""
    return f"""\
    static auto {operator} = c10::Dispatcher::singleton().findSchemaOrThrow({name}::name, {name}::overload_name);
    torch::jit::Stack {stack} = ::opwright::boxed_arguments({arguments});
    {operator}.{call};
{returned}"""


def _results(function: NativeFunction, stack: str) -> list[str]:
    """What a call returns: arguments that are returned by reference, and what the kernel left on the stack."""
    types = [shared_types.return_type(result, function.style) for result in function.schema.returns]
    returned = dispatcher.returned_arguments(function.schema)
    references = ("const_ref", "mut_ref")
    return [
        name if name is not None and type.kind in references else f"::std::move({stack}[{index}]).to<{type.text}>()"
        for index, (type, name) in enumerate(zip(types, returned, strict=True))
    ]
