"""Chooses between two libraries of kernels when an operator runs: by a switch, and by the formats of its tensors."""

from __future__ import annotations

from opwright.plugin import ExtraKey, KernelCandidate, KernelSelector, Plugin, WrapperFacts

BOTH = """\
if ({conditions}) {{
  return {{op_api}};
}}
return {{acl_op}};"""
ONE = """\
if ({conditions}) {{
  return {{op_api}};
}}
TORCH_CHECK_NOT_IMPLEMENTED(false, "{{name}} has no kernel for tensors in internal formats, and needs JIT mode off");"""


def select(wrapper: WrapperFacts, candidates: tuple[KernelCandidate, ...]) -> str | None:
    """The first library serves operators without JIT mode, and, unless it says otherwise, tensors in base formats."""
    families = [candidate.family for candidate in candidates]
    if families == ["acl_op"]:
        return "return {acl_op};"
    if families not in (["op_api"], ["op_api", "acl_op"]):
        return None
    conditions = [f'acme::runs_without_jit("{wrapper.operator}")']
    if not wrapper.values.flag("internal_format"):
        conditions += [f"acme::is_base_format({argument.name})" for argument in wrapper.tensors]
    return (BOTH if "acl_op" in families else ONE).format(conditions=" && ".join(conditions))


plugin = Plugin(
    "kernel_formats",
    api=1,
    headers="include",
    extra_keys=[
        ExtraKey("internal_format", bool, where="backend entry", help="Whether op_api takes tensors in any format.")
    ],
    kernel_selectors=[KernelSelector("by_format", select, includes=["acme/kernel_formats.h"])],
)
