"""Checks of written arguments: that they share no memory with what else an operator gets.

An operator without them would depend on how often and in which order its kernel reads and writes. Programs that
`torch.compile` makes read everything first, so the results would differ from those of eager calls without a word.
"""

from __future__ import annotations

from typing import Final

from opwright.cpp.text import string_literal
from opwright.libraries.entry_fields import library_fields
from opwright.model.dispatch_key import META, DispatchKey
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup
from opwright.schema.function import Argument

#: What checks tensors of each C++ interface.
OVERLAP_HEADER: Final = "opwright/overlap.h"
STABLE_OVERLAP_HEADER: Final = "opwright/stable_overlap.h"


def checks_overlap(function: NativeFunction) -> bool:
    """Whether calls of an overload are checked.

    Overloads that are synthesized copy results. `TensorIterator` checks what it gets, and an operator that changes only
    sizes and strides writes to no memory.
    """
    fields, group = library_fields(function), function.group
    if fields.allows_overlap or not function.arguments.writes or "inplace_view" in function.tags:
        return False
    if fields.returned_from is not None or (function.is_synthesized and fields.contract_of is None):
        return False
    if isinstance(group, NativeFunctionsGroup) and group.structured:
        return "TensorIterator" not in (group.out.structured_inherits or "")
    return True


def may_be_written(function: NativeFunction, argument: Argument) -> bool:
    """Whether an argument that is read may be exactly the written tensor: what an in-place overload passes."""
    if argument.is_write or argument.name != "self":
        return False
    group = function.group
    if isinstance(group, NativeFunctionsGroup) and group.structured:
        return group.inplace is not None
    return library_fields(function).serves_inplace


def is_checked_under(key: DispatchKey) -> bool:
    """Whether the kernels of a key compute, so that they are the ones with checks.

    >>> from opwright.model.dispatch_key import CPU, key_named
    >>> is_checked_under(CPU), is_checked_under(key_named("AutogradCPU"))
    (True, False)
    """
    return key.is_composite or (key.device is not None and not key.name.startswith("Autograd")) or key is META


def overlap_check(function: NativeFunction, more: str = "") -> str:
    """Statement that checks the arguments of a call; `more` is what the operands are made from beside the name."""
    name = string_literal(f"{function.namespace}::{function.name.text}")
    text = f"::opwright::Operands({name}{more})"
    for argument in function.arguments.all:
        if argument.type.is_tensor_like:
            access = "writes" if argument.is_write else "reads"
            access = "reads_or_is_written" if may_be_written(function, argument) else access
            text += f".{access}({string_literal(argument.name)}, {argument.name})"
    return f"{text}.check();"
