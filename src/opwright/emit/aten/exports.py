"""The macros that export declared symbols. Each shared object has its own, and PyTorch several."""

from __future__ import annotations

from opwright.model.dispatch_key import DispatchKey
from opwright.model.library import PYTORCH, Library
from opwright.model.native_function import Kernel
from opwright.release.operator_names.kernels import IN_MAIN_LIBRARY
from opwright.release.rules import Rules


def key_macro(key: DispatchKey, rules: Rules, library: Library = PYTORCH) -> str:
    """The macro of a dispatch key's functions. Only PyTorch has libraries for devices, and older releases one macro.

    >>> from opwright.model.dispatch_key import CUDA
    >>> from opwright.release.version import Version
    >>> key_macro(CUDA, Rules(Version(2, 14))), key_macro(CUDA, Rules(Version(2, 15)))
    ('TORCH_API', 'TORCH_CUDA_CPP_API')
    >>> key_macro(CUDA, Rules(Version(2, 15)), Library("acme", "acme", "acme", "ACME_API"))
    'ACME_API'
    """
    if library is PYTORCH and rules.device_export_macros:
        return key.export_macro or library.export
    return library.export


def kernel_macro(kernel: Kernel, rules: Rules, library: Library = PYTORCH) -> str:
    """The macro of a kernel function."""
    macro = key_macro(kernel.key, rules, library)
    is_of_main = macro != library.export and kernel.name in IN_MAIN_LIBRARY.in_release(rules)
    return library.export if is_of_main else macro


def class_macro(kernel: Kernel, rules: Rules, library: Library = PYTORCH) -> str:
    """The macro of the class of a structured kernel."""
    rule = kernel.key.class_export_rule
    if rule and library is PYTORCH and rules.value(rule):
        return kernel.key.export_macro
    return kernel_macro(kernel, rules, library)
