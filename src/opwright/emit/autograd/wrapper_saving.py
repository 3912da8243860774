"""Statements of a wrapper that save in the node what the backward formulas need."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from opwright.cpp import c_types
from opwright.cpp.c_types import CType
from opwright.emit.autograd.saved import FLOATS, saved_type
from opwright.emit.autograd.wrappers import Wrapper
from opwright.model.derivatives import Derivative, SavedAttribute, SavedKind
from opwright.schema.types import ListType
from opwright.source.records import NamedTuple

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


class Assignment(NamedTuple):
    """One field of the node: what it is set to, and a statement that has to precede (empty for none)."""

    field: str
    value: str
    before: str


def input_statements(wrapper: Wrapper) -> list[str]:
    """Statements that save inputs."""
    if wrapper.info is None or not wrapper.info.has_derivatives:
        return []
    return _statements(wrapper, wrapper.info.saved_inputs, is_output=False)


def output_statements(wrapper: Wrapper) -> list[str]:
    """Statements that save outputs."""
    if wrapper.info is None or not wrapper.info.has_derivatives:
        return []
    return _statements(wrapper, wrapper.info.saved_outputs, is_output=True)


def _statements(wrapper: Wrapper, attributes: Sequence[SavedAttribute], *, is_output: bool) -> list[str]:
    lines: list[str] = []
    guard_of = _no_guard if is_output else _guards(wrapper)
    for saved in sorted(attributes, key=lambda saved: saved.name):
        assert wrapper.info is not None, "what has no info saves nothing"
        type = saved_type(saved, wrapper.info)
        field, value, before = _assignment(wrapper, saved, type, is_output)
        guard = guard_of(saved, type)
        statements = [f"{before};"] if before else []
        statements.append(f"grad_fn->{field} = {value};")
        if guard:
            lines += [f"if ({guard}) {{", *[f"  {statement}" for statement in statements], "}"]
        else:
            lines += statements
    return lines


def _assignment(wrapper: Wrapper, saved: SavedAttribute, type: CType, is_output: bool) -> Assignment:
    name = saved.name
    item = _item_of(wrapper, name)
    value = saved.expression
    if item is not None:
        value = value.replace(name.partition(_SCALAR_TYPE)[0], item)
    if type in _TENSORS or (is_output and type is c_types.SCALAR):
        return _variable(wrapper, name, item, is_output)
    if type in _LISTS:
        of_results = "true" if wrapper.over_lists and is_output else "false"
        return Assignment(f"{name}_", f"make_saved_variable_list({name}, {of_results})", "")
    if type in _COPIED:
        return Assignment(name, f"{value}.vec()", "")
    if type is c_types.STRING_VIEW:
        return Assignment(name, f"std::string({value})", "")
    if type is _OPTIONAL_STRING:
        string = f"::std::optional<std::string>(std::string({value}.value()))"
        return Assignment(name, f"{value}.has_value() ? {string} : ::std::nullopt", "")
    return Assignment(name, value, "")


def _variable(wrapper: Wrapper, name: str, item: str | None, is_output: bool) -> Assignment:
    """A `SavedVariable`. A tensor that an in-place function overwrites is copied first."""
    flag = "true" if is_output else "false"
    if is_output and any(result.name == name for result in wrapper.kept):
        return Assignment(f"{name}_", f"SavedVariable({name}_kept, true)", "")
    if wrapper.inplace and is_output:
        self = "self[i]" if wrapper.loops else "self"
        return Assignment(f"{name}_", f"SavedVariable({self}, {flag}, {self}.is_view())", "")
    if wrapper.inplace and name == "self":
        original, self = ("original_selfs[i]", "self[i]") if wrapper.loops else ("original_self", "self")
        before = f"if (!{original}.has_value()) {original} = {self}.clone()"
        return Assignment(f"{name}_", f"SavedVariable({original}.value(), {flag})", before)
    return Assignment(f"{name}_", f"SavedVariable({name if item is None else item}, {flag})", "")


def _item_of(wrapper: Wrapper, name: str) -> str | None:
    """Item that an attribute is saved of, where the wrapper loops over lists."""
    argument = wrapper.repeated.get(name.partition(_SCALAR_TYPE)[0])
    if argument is None:
        return None
    return f"{argument.name}[i]" if isinstance(argument.type, ListType) else argument.name


def _no_guard(saved: SavedAttribute, type: CType) -> str:
    """The condition of what is always needed."""
    del saved, type
    return ""


def _guards(wrapper: Wrapper) -> Callable[[SavedAttribute, CType], str]:
    """What gives the condition under which a tensor is needed: that of the only gradient that reads it, or none.

    There may be a thousand of each, so that no tensor looks through all formulas.
    """
    info = wrapper.info
    # The formulas of double backward also read values that they do not name.
    if info is None or len(wrapper.differentiated) <= 1 or "backward" in info.name:
        return _no_guard
    if not wrapper.loops and any(argument.is_list for argument in wrapper.differentiated):
        return _no_guard
    edges = {argument.name: number for number, argument in enumerate(wrapper.differentiated)}
    readers: dict[SavedAttribute, list[Derivative]] = {}
    for derivative in info.derivatives:
        for attribute in dict.fromkeys(derivative.saved_inputs):
            readers.setdefault(attribute, []).append(derivative)

    def guard(saved: SavedAttribute, type: CType) -> str:
        used = readers.get(saved, ())
        if type is not c_types.TENSOR or saved.kind is not SavedKind.VALUE or len(used) != 1:
            return ""
        names = used[0].var_names
        if len(names) != 1:
            return _stated_condition(saved.name, used[0].formula)
        return f"grad_fn->should_compute_output({edges[names[0]]})"

    return guard


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
