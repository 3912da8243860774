"""Shape functions: the names of `torchgen.api.meta`."""

from __future__ import annotations

from opwright.torchgen.interface.functions import NativeFunctionsGroup


def name(g: NativeFunctionsGroup) -> str:
    """Name of the class whose method the shape function is."""
    return g.functional.func.name.unambiguous_name()
