"""Calling conventions: the rules that turn a schema into a C++ signature, one module per convention.

Each module defines those of `name`, `argument_type`, `arguments` and `signature` that apply. Modules are imported on
first use.
"""

from __future__ import annotations

from opwright.source.lazy import import_when_asked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from opwright.convention import dispatcher, native, public_api, structured

__all__ = ["dispatcher", "native", "public_api", "structured"]

# A type checker that sees this function believes that the package has every attribute.
if not TYPE_CHECKING:
    __getattr__ = import_when_asked(__name__, __all__)
