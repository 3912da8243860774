"""Module `_vmap.py` of a library: the batching rules of its operators, where C++ cannot register them.

A rule is a C++ function of the author's. The binary has it as a composite operator, so it runs at each level of
`torch.func`, and this module tells `vmap` to call that. Operators that compute each element of some dimensions alone
need no function: the batch is one more of these dimensions.
"""

from __future__ import annotations

from typing import Final

from opwright.emit.aten.vmap import Plumbing, plumbing_kind
from opwright.libraries.emit.python.registrations import functions_module, operator_expression, parameters_of
from opwright.libraries.entry_fields import library_fields, requirements_of
from opwright.libraries.requirements import LoopDims
from opwright.libraries.stable_convention import rule_schema
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Argument, SchemaKind
from opwright.schema.types import TENSOR, ListType
from opwright.syntax.python import variable_name


def mapped_loops(function: NativeFunction) -> LoopDims | None:
    """Dimensions of which an operator that only computes tensors from tensors computes each element alone.

    It takes no list of tensors.
    """
    return None if any(map(_is_list, function.schema.arguments.all)) else _computed_loops(function)


def _computed_loops(function: NativeFunction) -> LoopDims | None:
    requirements, schema = requirements_of(function), function.schema
    if requirements is None or function.is_synthesized or function.has_composite_implicit:
        return None
    if schema.kind is not SchemaKind.functional or any(result.type is not TENSOR for result in schema.returns):
        return None
    if any(argument.annotation is not None for argument in schema.arguments.all):
        return None
    return requirements.loops()


def _is_list(argument: Argument) -> bool:
    return argument.type.is_tensor_like and isinstance(argument.type, ListType)


def batched_loops(function: NativeFunction) -> LoopDims | None:
    """Dimensions of loops for an operator without a rule of the author's, where `vmap` can get one for all tensors."""
    arguments = function.schema.arguments
    if library_fields(function).batch_rule or function.is_view:
        return None
    if any(argument.type.is_tensor_like and argument not in arguments.positional for argument in arguments.all):
        return None
    loops = _computed_loops(function)
    # A sum would add what belongs to different elements of the batch.
    return None if loops is None or None in loops.results else loops


def rule_refusal(function: NativeFunction) -> str:
    """Why Python cannot register the batching rule of a function; empty if it can."""
    arguments = function.arguments
    if plumbing_kind(function) is None:
        return "changes the sizes of its argument"
    names = {argument.name for argument in arguments.all}
    for argument in arguments.all:
        if argument.type.is_tensor_like and f"{argument.name}_bdim" in names:
            return f"has an argument with the name of the batch dimension of `{argument.name}`"
        if argument.type.is_tensor_like and isinstance(argument.type, ListType):
            return f"takes the list `{argument.name}` of tensors"
        if argument.type.is_tensor_like and argument not in arguments.positional:
            return f"takes the tensor `{argument.name}` by name alone"
    return ""


def _rules(function: NativeFunction) -> tuple[str]:
    """Function that PyTorch calls with plain tensors, and its registration."""
    loops = batched_loops(function)
    if loops is not None:
        places = [
            None if place is None else tuple(place)
            for argument in function.arguments.all
            for place in [loops.arguments.get(argument.name)]
        ]
        operator, name = operator_expression(function), f"{function.namespace}::{function.name.text}"
        results = tuple([place.before for place in loops.results if place is not None])
        return (f'_add_rule("{name}", {operator}, {places!r}, {results!r})\n',)
    parameters, renaming = parameters_of(function)
    arguments = function.arguments.all
    passed = []
    for index, argument in enumerate(arguments):
        passed += [variable_name(argument.name), *([f"_dims[{index}]"] if argument.type.is_tensor_like else [])]
    name = f"_{function.name.unambiguous}_rule"
    lines = [
        f"def {name}(_info, _dims, {parameters}):",
        *[line.rstrip() for line in renaming],
        f"    _dims = (*_dims, {', '.join(['None'] * len(arguments))})",
        f"    _results = _torch.ops.{function.namespace}.{rule_schema(function).name}.default({', '.join(passed)})",
        f"    return {_returned(function)}",
        "",
        "",
        f'_torch.library.register_vmap("{function.namespace}::{function.name.text}", {name}, lib=_library)',
        "",
    ]
    return ("\n".join(lines),)


def _returned(function: NativeFunction) -> str:
    """The results and their batch dimensions; PyTorch knows an argument that is returned again."""
    kind = plumbing_kind(function)
    if kind is Plumbing.RETURNS_NOTHING:
        return "None, None"
    if kind is Plumbing.WRITES_SELF:
        return f"{variable_name(function.arguments.all[0].name)}, _dims[0]"
    if len(function.schema.returns) == 1:
        return "_results[0], _results[1]"
    return "tuple(_results[::2]), tuple(_results[1::2])"


def _has_rule(function: NativeFunction) -> bool:
    is_of_author = function.library.is_stable and library_fields(function).batch_rule
    return bool(is_of_author) or batched_loops(function) is not None


MODULE: Final = functions_module("vmap", _has_rule, _rules)
