"""C++ types that need nothing of PyTorch: the names of `torchgen.api.types.types_base`."""

from __future__ import annotations

from opwright.torchgen.interface.cpp_types import (
    NAMED_TYPES,
    ArgName,
    ArrayCType,
    BaseCppType,
    BaseCType,
    Binding,
    ConstRefCType,
    CType,
    Expr,
    MutRefCType,
    NamedCType,
    SpecialArgName,
    TupleCType,
    VectorCType,
)

globals().update(NAMED_TYPES)

__all__ = [
    "ArgName", "ArrayCType", "BaseCType", "BaseCppType", "Binding", "CType", "ConstRefCType", "Expr", "MutRefCType",
    "NamedCType", "SpecialArgName", "TupleCType", "VectorCType",
]  # fmt: skip
