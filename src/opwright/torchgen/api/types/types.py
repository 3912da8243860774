"""C++ types of PyTorch: the names of `torchgen.api.types.types`."""

from __future__ import annotations

from opwright.torchgen.interface.cpp_types import (
    NAMED_TYPES,
    TENSOR_LIST_LIKE_CTYPES,
    ArrayRefCType,
    BaseTypeToCppMapping,
    ListCType,
    OptionalCType,
    ScalarTypeToCppMapping,
    VectorizedCType,
)

globals().update(NAMED_TYPES)

__all__ = [
    "TENSOR_LIST_LIKE_CTYPES", "ArrayRefCType", "BaseTypeToCppMapping", "ListCType", "OptionalCType",
    "ScalarTypeToCppMapping", "VectorizedCType",
]  # fmt: skip
