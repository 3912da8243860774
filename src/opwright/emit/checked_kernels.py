"""Comparison of kernels that an author's headers declare with the types that their schemas need.

Each kernel has an object that exists whatever the headers declare, so a mistake is one error of the compiler.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from opwright.cpp.namespaces import enclose, qualified_name
from opwright.source.named_tuple import NamedTuple
from opwright.syntax.cpp import guard

__all__ = ["CHECK_HEADER", "CheckedKernel", "checks_text", "named_kernels"]

#: The header that the checks need.
CHECK_HEADER: Final = "opwright/kernel_check.h"


class CheckedKernel(NamedTuple):
    """A kernel: its namespace, its name, its type, and the condition of the preprocessor under which it exists."""

    namespace: str
    name: str
    type: str
    condition: str = ""


def named_kernels(kernels: Iterable[tuple[CheckedKernel, str]]) -> dict[str, tuple[CheckedKernel, str]]:
    """The kernels by the names of their objects, each with the C++ class of the first operator that uses it.

    >>> [*named_kernels([(CheckedKernel("a", "add", "int ()"), "A"), (CheckedKernel("b", "add", "int ()"), "B")])]
    ['add', 'add_2']
    """
    objects: dict[str, tuple[CheckedKernel, str]] = {}
    seen: set[CheckedKernel] = set()
    for kernel, operator in kernels:
        if kernel in seen:
            continue
        seen.add(kernel)
        name, number = kernel.name, 1
        while name in objects:
            number += 1
            name = f"{kernel.name}_{number}"
        objects[name] = kernel, operator
    return objects


def checks_text(objects: Mapping[str, tuple[CheckedKernel, str]], scope: str) -> str:
    """The objects, in the namespace `kernels` of a scope."""
    kernels = [kernel for kernel, _ in objects.values()]
    absent = ", ".join([f"{name}{{}}" for name in dict.fromkeys([kernel.name for kernel in kernels])])
    lines = [enclose(f"{scope}::absent_kernels", f"inline constexpr ::opwright::no_kernel {absent};")]
    for namespace in dict.fromkeys([kernel.namespace for kernel in kernels]):
        lines.append(enclose(namespace, f"using namespace ::{scope}::absent_kernels;"))
    checks = [
        guard(
            kernel.condition,
            f"OPWRIGHT_KERNEL({name}, {qualified_name(kernel.namespace, kernel.name)}, {operator}, {kernel.type});",
        )
        for name, (kernel, operator) in objects.items()
    ]
    body = "\n".join(["namespace {", *checks, "} // namespace"])
    return "\n".join([*lines, enclose(f"{scope}::kernels", body)]) + "\n"
