"""The macros that export declared symbols. Each library has its own."""

from __future__ import annotations

from typing import Final

from opwright.model.dispatch_key import DispatchKey
from opwright.model.native_function import Kernel
from opwright.release.operator_names.libraries import IN_MAIN_LIBRARY
from opwright.release.rules import Rules

PLAIN: Final = "TORCH_API"
"""The macro of the main library. Older releases use it for all libraries."""


def key_macro(key: DispatchKey, rules: Rules) -> str:
    """The macro of a dispatch key's functions.

    >>> from opwright.model.dispatch_key import CUDA
    >>> from opwright.release.version import Version
    >>> key_macro(CUDA, Rules(Version(2, 14))), key_macro(CUDA, Rules(Version(2, 15)))
    ('TORCH_API', 'TORCH_CUDA_CPP_API')
    """
    return (key.export_macro or PLAIN) if rules.device_export_macros else PLAIN


def kernel_macro(kernel: Kernel, rules: Rules) -> str:
    """The macro of a kernel function."""
    macro = key_macro(kernel.key, rules)
    return PLAIN if macro != PLAIN and kernel.name in IN_MAIN_LIBRARY.in_release(rules) else macro


def class_macro(kernel: Kernel, rules: Rules) -> str:
    """The macro of the class of a structured kernel."""
    rule = kernel.key.class_export_rule
    if rule and rules.value(rule):
        return kernel.key.export_macro
    return kernel_macro(kernel, rules)
