"""Functions before and after every operator, and a guard for the profiler; an operator without either pays one test."""

from __future__ import annotations

from opwright.plugin import ExtraKey, Plugin, WrapperFacts, WrapperHook

HEADER = "acme/op_hooks.h"
#: The operators that the functions themselves call.
WITHOUT_HOOKS = ("is_pinned", "_pin_memory")

GUARD = """\
#ifndef BUILD_LIBTORCH
const acme::ProfilerGuard profiler_guard("{name}");
#endif"""

HOOKED = """\
if (C10_UNLIKELY(acme::OpHooks::enabled)) {{
  acme::OpHooks::before({arguments});
  {body}
}}
return {{call}};"""
WITH_RESULT = "decltype(auto) acme_result = {call};\n  acme::OpHooks::after(acme_result);\n  return acme_result;"
WITHOUT_RESULT = "{call};\n  acme::OpHooks::after();\n  return;"


def guard(wrapper: WrapperFacts) -> str | None:
    """The profiler sees all operators but those that say otherwise."""
    return GUARD if wrapper.values.flag("profiled") else None


def hooks(wrapper: WrapperFacts) -> str | None:
    """The name of the operator and its arguments go to the first function, the result to the second."""
    if wrapper.operator in WITHOUT_HOOKS:
        return None
    name = f"{wrapper.operator}.{wrapper.overload}".rstrip(".")
    arguments = ", ".join([f'"{name}"', *[argument.name for argument in wrapper.arguments]])
    return HOOKED.format(arguments=arguments, body=WITH_RESULT if wrapper.has_result else WITHOUT_RESULT)


plugin = Plugin(
    "op_hooks",
    api=1,
    headers="include",
    extra_keys=[
        ExtraKey("profiled", bool, where="backend entry", default=True, help="Whether the profiler sees the operator.")
    ],
    wrapper_hooks=[WrapperHook("before", guard, includes=[HEADER]), WrapperHook("around", hooks, includes=[HEADER])],
)
