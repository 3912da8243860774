"""`torchgen.aoti`: the C shims of AOTInductor."""

from __future__ import annotations
