"""Convention of unboxing: the names of `torchgen.api.unboxing`."""

from __future__ import annotations

from opwright.convention.unboxing import unbox
from opwright.schema.function import make_argument
from opwright.torchgen.api.types.signatures import CppSignatureGroup
from opwright.torchgen.interface.cpp_types import Binding, CType, ctype_of, current_style
from opwright.torchgen.interface.functions import NativeFunction
from opwright.torchgen.interface.types import WRITTEN, Type, model_type


def name(f: NativeFunction) -> str:
    """Name of the function that unboxes."""
    return f.func.name.unambiguous_name()


def convert_arguments(f: NativeFunction) -> tuple[list[Binding], list[str]]:
    """Unboxed arguments, and the statements that make them from a stack."""
    group = CppSignatureGroup.from_native_function(f, method=False)
    bindings = list(group.most_faithful_signature().arguments())
    count = len(bindings)
    code = [
        f"c10::IValue {binding.name} = std::move(peek(stack, {index}, {count}));"
        for index, binding in enumerate(bindings)
    ]
    code.append("")
    unboxed: list[Binding] = []
    for binding, argument in zip(bindings, f.func.arguments.flat_all, strict=True):
        new_name, _, statements, vectors = argumenttype_ivalue_convert(
            argument.type, argument.name, mutable=argument.is_write
        )
        unboxed.append(binding.with_name(new_name))
        code += [*vectors, *statements]
    return unboxed, code


def argumenttype_ivalue_convert(
    t: Type, arg_name: str, *, mutable: bool = False
) -> tuple[str, CType, list[str], list[str]]:
    """Name and type of an unboxed value, the statements that make it, and the vectors that it needs."""
    written = WRITTEN if mutable else None
    value = unbox(make_argument(arg_name, model_type(t), None, written), current_style())
    return value.name, ctype_of(value.type), list(value.statements), list(value.vectors)
