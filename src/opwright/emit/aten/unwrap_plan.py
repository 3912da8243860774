"""How kernels of functionalization take their arguments out of functional wrappers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from opwright.convention import dispatcher
from opwright.cpp import c_types
from opwright.cpp.binding import Binding, Expression
from opwright.cpp.c_types import CType
from opwright.release.rules import Rules
from opwright.source.named_tuple import NamedTuple

IMPL: Final = "at::functionalization::impl::"
OUTPUT: Final = "tmp_output"


class UnwrapPlan(NamedTuple):
    """How a kernel passes on one argument.

    `inner` is the argument without its functional wrapper, and `meta` the argument as a meta tensor. `unwrap`,
    `unwrap_synced` and `to_meta` are the statements that define them; they are empty for arguments without tensors.
    """

    inner: Expression
    meta: Expression
    unwrap: str = ""
    unwrap_synced: str = ""
    to_meta: str = ""


def reference_condition(condition: str, rules: Rules) -> str:
    """The condition under which a kernel runs the operator on meta tensors first.

    >>> from opwright.release.version import Version
    >>> reference_condition("true", Rules(Version(2, 7)))
    'true && !disable_meta_reference()'
    """
    return f"{condition} && !disable_meta_reference()" if rules.meta_reference_is_optional else condition


@cache
def unwrap_plan(argument: Binding) -> UnwrapPlan:
    """How a kernel passes on the argument."""
    name, role, type = argument.name, argument.role, argument.type
    if not dispatcher.is_tensor_like(argument):
        same = Expression(name, role, type)
        return UnwrapPlan(same, same)
    return UnwrapPlan(
        Expression(f"{name}_", role, type),
        Expression(f"{name}_meta", role, type),
        _unwrapping(name, type, ""),
        _unwrapping(name, type, f"        {IMPL}sync({name});"),
        f"auto {name}_meta = to_meta({name});",
    )


def _unwrapping(name: str, type: CType, sync: str) -> str:
    """The statements that remove the functional wrapper. Lists of tensors are copied into a vector."""
    value = type.value
    owned, plain = value, name
    if value is c_types.TENSOR_LIST:
        owned, plain = c_types.vector(c_types.TENSOR), f"{name}.vec()"
    elif value is c_types.ITENSOR_LIST_REF:
        owned, plain = c_types.vector(c_types.TENSOR), f"{{{name}.begin(), {name}.end()}}"
    return f"""
      {owned.text} {name}_;
      if ({IMPL}isFunctionalTensor({name})) {{
{sync}
        {name}_ = {IMPL}from_functional_tensor({name});
      }} else {{
        {name}_ = {plain};
      }}"""


def join_lines(statements: Sequence[str], indent: int) -> str:
    """The statements that are not empty, each on a line of its own."""
    return f"\n{' ' * indent}".join([statement for statement in statements if statement])
