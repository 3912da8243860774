"""Operators whose kernel fails are logged and run on the CPU, under a switch that is set at run time."""

from __future__ import annotations

from opwright.plugin import Plugin, WrapperFacts, WrapperHook

#: The operators that move tensors between the device and the CPU, so that the CPU cannot take their place.
WITHOUT_FALLBACK = ("_copy_from", "_copy_from_and_resize", "copy_", "_local_scalar_dense")

CALL = """\
return acme::or_on_cpu<{operator}, {symint}>(
    "{name}", [&]() -> {returns} {{ return {{call}}; }}{arguments});"""


def fall_back(wrapper: WrapperFacts) -> str | None:
    """The call of the kernel as a function object, with what runs the operator on the CPU."""
    if wrapper.namespace != "aten" or wrapper.operator in WITHOUT_FALLBACK:
        return None
    return CALL.format(
        operator=f"at::_ops::{wrapper.function.name.unambiguous}",
        # The wrappers of structured kernels take no symbolic integers.
        symint="false" if wrapper.is_structured else "true",
        name=wrapper.name,
        returns=wrapper.returns,
        arguments="".join([f", {argument.name}" for argument in wrapper.arguments]),
    )


plugin = Plugin(
    "cpu_on_failure",
    api=1,
    headers="include",
    wrapper_hooks=[WrapperHook("around", fall_back, includes=["acme/cpu_on_failure.h"])],
)
