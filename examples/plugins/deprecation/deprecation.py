"""A warning, once in each process, for operators that are deprecated, with the operator to use instead."""

from __future__ import annotations

from opwright.plugin import ExtraKey, Fields, Plugin, WrapperFacts, WrapperHook


def warn(wrapper: WrapperFacts) -> str | None:
    """The warning of an entry with `deprecated: {use: other_operator}`."""
    replacement = wrapper.values.fields("deprecated").text("use")
    if not replacement:
        return None
    return f'TORCH_WARN_ONCE("`{wrapper.name}` is deprecated on this device; use `{replacement}`");'


plugin = Plugin(
    "deprecation",
    api=1,
    extra_keys=[
        ExtraKey(
            "deprecated",
            Fields(ExtraKey("use", str, help="The operator to use instead.")),
            where="backend entry",
            help="Warns of the operator, and names another one.",
        )
    ],
    wrapper_hooks=[WrapperHook("before_check", warn)],
)
