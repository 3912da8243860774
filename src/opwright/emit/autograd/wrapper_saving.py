"""Statements of a wrapper that save in the node what the backward formulas need."""

from __future__ import annotations

import re
from typing import Final

from opwright.cpp import c_types
from opwright.cpp.c_types import CType
from opwright.emit.autograd.saved import FLOATS, saved_type
from opwright.emit.autograd.wrappers import Wrapper, item_of
from opwright.model.derivatives import Derivative, DifferentiabilityInfo, SavedAttribute, SavedKind

_MASK: Final = re.compile(r"grad_input_mask\[(\d+)\]")
_SCALAR_TYPE: Final = "_scalar_type"

_TENSORS: Final = (c_types.TENSOR, c_types.optional(c_types.TENSOR))
_LISTS: Final = (
    c_types.TENSOR_LIST,
    c_types.ITENSOR_LIST_REF,
    c_types.vector(c_types.TENSOR),
    c_types.c10_list(c_types.optional(c_types.TENSOR)),
)
_OPTIONAL_STRING: Final = c_types.optional(c_types.STRING_VIEW)
_COPIED: Final = (c_types.INT_ARRAY_REF, c_types.SYMINT_ARRAY_REF, c_types.array_ref(c_types.SCALAR), FLOATS)


def saving_statements(wrapper: Wrapper, *, is_output: bool) -> list[str]:
    """Statements that save outputs, or inputs."""
    info = wrapper.info
    if info is None or not info.has_derivatives:
        return []
    lines: list[str] = []
    conditions = {} if is_output else _conditions(wrapper, info)
    for saved in sorted(info.saved_outputs if is_output else info.saved_inputs, key=lambda saved: saved.name):
        type = saved_type(saved, info)
        statements = _assignment(wrapper, saved, type, is_output)
        condition = conditions.get(saved) if type is c_types.TENSOR else None
        lines += [f"if ({condition}) {{", *[f"  {line}" for line in statements], "}"] if condition else statements
    return lines


def _assignment(wrapper: Wrapper, saved: SavedAttribute, type: CType, is_output: bool) -> list[str]:
    name = saved.name
    # The wrapper may loop over lists, and save of their items.
    repeated = name.partition(_SCALAR_TYPE)[0]
    argument = wrapper.repeated.get(repeated)
    item = name if argument is None else item_of(argument)
    if type in _TENSORS or (is_output and type is c_types.SCALAR):
        return _variable(wrapper, name, item, is_output)
    field, value = name, saved.expression if argument is None else saved.expression.replace(repeated, item)
    if type in _LISTS:
        of_results = "true" if wrapper.over_lists and is_output else "false"
        field, value = f"{name}_", f"make_saved_variable_list({name}, {of_results})"
    elif type in _COPIED:
        value = f"{value}.vec()"
    elif type is c_types.STRING_VIEW:
        value = f"std::string({value})"
    elif type is _OPTIONAL_STRING:
        string = f"::std::optional<std::string>(std::string({value}.value()))"
        value = f"{value}.has_value() ? {string} : ::std::nullopt"
    return [f"grad_fn->{field} = {value};"]


def _variable(wrapper: Wrapper, name: str, item: str, is_output: bool) -> list[str]:
    """Statements that save a `SavedVariable`. A tensor that an in-place function overwrites is copied first."""
    before: list[str] = []
    passed = f"{item}, {'true' if is_output else 'false'}"
    self, original = ("self[i]", "original_selfs[i]") if wrapper.loops else ("self", "original_self")
    if is_output and any(result.name == name for result in wrapper.kept):
        passed = f"{name}_kept, true"
    elif wrapper.inplace and is_output:
        passed = f"{self}, true, {self}.is_view()"
    elif wrapper.inplace and name == "self":
        before = [f"if (!{original}.has_value()) {original} = {self}.clone();"]
        passed = f"{original}.value(), false"
    return [*before, f"grad_fn->{name}_ = SavedVariable({passed});"]


def _conditions(wrapper: Wrapper, info: DifferentiabilityInfo) -> dict[SavedAttribute, str]:
    """Conditions under which tensors are needed: that of the only gradient that reads one, if there is one alone.

    There may be a thousand of each, so that no tensor looks through all formulas.
    """
    # The formulas of double backward also read values that they do not name.
    if len(wrapper.differentiated) <= 1 or "backward" in info.name:
        return {}
    if not wrapper.loops and any(argument.is_list for argument in wrapper.differentiated):
        return {}
    edges = {argument.name: number for number, argument in enumerate(wrapper.differentiated)}
    readers: dict[SavedAttribute, list[Derivative]] = {}
    for derivative in info.derivatives:
        for attribute in dict.fromkeys(derivative.saved_inputs):
            readers.setdefault(attribute, []).append(derivative)
    conditions = {}
    for saved, (reader, *others) in readers.items():
        if saved.kind is SavedKind.VALUE and not others:
            name, *more = reader.var_names
            only = f"grad_fn->should_compute_output({edges[name]})"
            conditions[saved] = _stated_condition(saved.name, reader.formula) if more else only
    return conditions


def _stated_condition(name: str, formula: str) -> str:
    """Condition that a formula for several gradients states in `wrap_opt_if(name, condition)`.

    >>> _stated_condition("other", "f(grad, wrap_opt_if(other, grad_input_mask[0] || grad_input_mask[2]))")
    'grad_fn->should_compute_output(0) || grad_fn->should_compute_output(2)'
    """
    opening = f"wrap_opt_if({name},"
    start = formula.find(opening)
    end = formula.find(")", start)
    if start < 0 or end < 0:
        return ""
    # A blank follows the comma.
    condition = formula[start + len(opening) + 1 : end].strip()
    return _MASK.sub(r"grad_fn->should_compute_output(\1)", condition)
