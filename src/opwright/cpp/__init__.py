"""The C++ model: interned types, bindings, signatures and translation. Modules are imported on first use."""

from __future__ import annotations

from opwright.source.lazy import import_when_asked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from opwright.cpp import binding, c_types, signature, translation

__all__ = ["binding", "c_types", "signature", "translation"]

# A type checker that sees this function believes that the package has every attribute.
if not TYPE_CHECKING:
    __getattr__ = import_when_asked(__name__, __all__)
