"""C++ types and signatures: the names of `torchgen.api.types`."""

from __future__ import annotations

from opwright.torchgen.api.types.signatures import (
    CppSignature,
    CppSignatureGroup,
    DispatcherSignature,
    NativeSignature,
    StructuredImplSignature,
    ViewInverseSignature,
    kernel_signature,
)
from opwright.torchgen.api.types.types import (
    TENSOR_LIST_LIKE_CTYPES,
    ArrayRefCType,
    BaseTypeToCppMapping,
    ListCType,
    OptionalCType,
    ScalarTypeToCppMapping,
    VectorizedCType,
)
from opwright.torchgen.api.types.types_base import (
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
from opwright.torchgen.interface.cpp_types import NAMED_TYPES

globals().update(NAMED_TYPES)

__all__ = [
    "TENSOR_LIST_LIKE_CTYPES", "ArgName", "ArrayCType", "ArrayRefCType", "BaseCType", "BaseCppType",
    "BaseTypeToCppMapping", "Binding", "CType", "ConstRefCType", "CppSignature", "CppSignatureGroup",
    "DispatcherSignature", "Expr", "ListCType", "MutRefCType", "NamedCType", "NativeSignature", "OptionalCType",
    "ScalarTypeToCppMapping", "SpecialArgName", "StructuredImplSignature", "TupleCType", "VectorCType",
    "VectorizedCType", "ViewInverseSignature", "kernel_signature",
]  # fmt: skip
__all__ += list(NAMED_TYPES)
