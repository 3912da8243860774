"""A check of all tensors of an operator before anything else runs, behind a flag that is set at run time."""

from __future__ import annotations

from opwright.plugin import Plugin, WrapperFacts, WrapperHook

CHECK = """\
if (C10_UNLIKELY(acme::TensorChecks::enabled)) {{
  acme::TensorChecks::check("{name}", {tensors});
}}"""


def check(wrapper: WrapperFacts) -> str | None:
    """The check of all arguments with tensors: tensors, optional ones and lists, in the order of their names."""
    tensors = ", ".join(sorted([argument.name for argument in wrapper.tensors]))
    return CHECK.format(name=wrapper.name, tensors=tensors) if tensors else None


plugin = Plugin(
    "tensor_checks",
    api=1,
    headers="include",
    wrapper_hooks=[WrapperHook("before_check", check, includes=["acme/tensor_checks.h"])],
)
