"""A macro registers all kernels, through a template that traces calls; an environment variable leaves out some."""

from __future__ import annotations

from opwright.plugin import Plugin, Registration, WrapperFacts

HEADERS = ("acme/register.h", "cstdlib", "string_view")
#: The operators that the variable leaves out, so that PyTorch composes them of others or they fall back.
MATMULS = ("matmul", "mm", "bmm", "addmm")
CONDITION = 'std::getenv("ACME_NO_MATMUL") == nullptr || std::getenv("ACME_NO_MATMUL") != std::string_view("1")'


def register(registration: Registration, wrapper: WrapperFacts | None) -> Registration:
    """The registration of a wrapper by the macro; policies of autocast and fallbacks stay as they are."""
    if wrapper is None:
        return registration
    changed = registration._replace(macro="ACME_REGISTER", kernel=wrapper.wrapper, includes=HEADERS)
    if wrapper.operator not in MATMULS:
        return changed
    conditions = [f"({text})" for text in (registration.condition, CONDITION) if text]
    return changed._replace(condition=" && ".join(conditions))


plugin = Plugin("register_macro", api=1, headers="include", registration_changes=[register])
