"""Kernels of a part's factory functions that choose the backend by the tensor options: no tensor tells it."""

from __future__ import annotations

from opwright.convention import native
from opwright.cpp.namespaces import enclose
from opwright.emit.aten.backend_select import definition
from opwright.emit.emitter import FragmentContext
from opwright.emit.library.meta_kernels import has_meta_kernel
from opwright.emit.library.parts import LibraryPart, has_own_kernel
from opwright.emit.library.section import Section
from opwright.model.native_function import NativeFunction

__all__ = ["section"]

_HEADERS = ("ATen/core/dispatch/DispatchKeyExtractor.h", "c10/core/TensorOptions.h")


def section(part: LibraryPart, context: FragmentContext) -> Section:
    """The kernels under BackendSelect, and their registration."""
    functions = [function for function in part.functions if _chooses_backend(function)]
    if not functions:
        return Section()
    body = ["namespace {", "using namespace at;", *map(definition, functions), "} // namespace", ""]
    body.append(f"TORCH_LIBRARY_IMPL({part.library.namespace}, BackendSelect, m) {{")
    body += [f'  m.impl("{function.name.text}", &{native.name(function.schema)});' for function in functions]
    return Section(_HEADERS, enclose(f"{part.library.api}::chosen_backend", "\n".join([*body, "}"])) + "\n")


def _chooses_backend(function: NativeFunction) -> bool:
    """Whether a factory has kernels of its own for devices."""
    if not function.is_factory or function.has_composite_implicit or has_own_kernel(function, "BackendSelect"):
        return False
    return has_meta_kernel(function) or any(key.device is not None for key in function.kernels)
