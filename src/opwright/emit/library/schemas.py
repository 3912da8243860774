"""The operators of a part: their classes' members, and their schemas with tags."""

from __future__ import annotations

from opwright.cpp.namespaces import enclose
from opwright.emit.aten import operators
from opwright.emit.aten.schemas import registrations
from opwright.emit.emitter import FragmentContext
from opwright.emit.library.parts import LibraryPart
from opwright.emit.library.section import Section


def section(part: LibraryPart, context: FragmentContext) -> Section:
    """The definitions of the operator classes, and the registration of the schemas."""
    functions = part.functions
    members = "\n".join([operators.definition(function, context) for function in functions])
    statements = "".join([f"  {statement}" for statement in registrations(functions)])
    registered = f"TORCH_LIBRARY_FRAGMENT({part.library.namespace}, m) {{\n{statements}}}\n"
    return Section(("ATen/core/dispatch/Dispatcher.h",), f"{enclose(part.library.operators, members)}\n\n{registered}")
