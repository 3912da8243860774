"""C++ types and signatures: the names of `torchgen.api.types`."""

from __future__ import annotations

from opwright.torchgen.api.types import types, types_base
from opwright.torchgen.api.types.signatures import (
    CppSignature,
    CppSignatureGroup,
    DispatcherSignature,
    NativeSignature,
    StructuredImplSignature,
    ViewInverseSignature,
    kernel_signature,
)
from opwright.torchgen.api.types.types import *  # noqa: F403
from opwright.torchgen.api.types.types_base import *  # noqa: F403
from opwright.torchgen.interface.cpp_types import NAMED_TYPES

globals().update(NAMED_TYPES)

__all__ = [
    "CppSignature", "CppSignatureGroup", "DispatcherSignature", "NativeSignature", "StructuredImplSignature",
    "ViewInverseSignature", "kernel_signature",
]  # fmt: skip
__all__ += types.__all__
__all__ += types_base.__all__
__all__ += list(NAMED_TYPES)
