"""Calling conventions: from a schema to a C++ signature, one module per convention.

Each module has the same few functions where they apply: `name`, `argument_type`, `arguments` and `signature`.
"""

from __future__ import annotations
