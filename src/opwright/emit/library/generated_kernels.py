"""Kernels of a library that call another form of their operator: of synthesized overloads, and of copies of views."""

from __future__ import annotations

from opwright.cpp.namespaces import enclose
from opwright.emit.aten.composite_kernels import functional_kernel, out_kernel, view_copy_kernel
from opwright.emit.emitter import FragmentContext
from opwright.emit.library.parts import LibraryPart
from opwright.emit.library.section import Section
from opwright.model.dispatch_key import COMPOSITE_EXPLICIT_NON_FUNCTIONAL
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup, ViewGroup

__all__ = ["generated_kernel", "section"]


def generated_kernel(function: NativeFunction) -> str | None:
    """The kernel of a function that calls another form of its operator; None if its kernels are the author's."""
    group, views = function.group, function.view_group
    if isinstance(group, NativeFunctionsGroup) and function.is_synthesized:
        return out_kernel(group) if function is group.out else functional_kernel(group)
    if isinstance(views, ViewGroup) and function is views.view_copy:
        return view_copy_kernel(views) if COMPOSITE_EXPLICIT_NON_FUNCTIONAL in function.kernels else None
    return None


def section(part: LibraryPart, context: FragmentContext) -> Section:
    """The kernels that are generated."""
    kernels = [kernel for function in part.functions if (kernel := generated_kernel(function)) is not None]
    if not kernels:
        return Section()
    body = "\n".join(
        ["namespace {", "using at::Tensor;", "using namespace ::opwright::copies;", *kernels, "} // namespace"]
    )
    return Section(("ATen/InferSize.h", "opwright/copies.h"), enclose(part.library.native, body) + "\n")
