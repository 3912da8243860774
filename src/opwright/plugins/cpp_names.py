"""What plug-ins say of C++: types by their names, and what PyTorch calls a kernel and the function of an operator."""

from __future__ import annotations

from opwright.convention import dispatcher, public_api
from opwright.cpp import c_types
from opwright.cpp.c_types import CType
from opwright.cpp.signature import Signature
from opwright.model.native_function import NativeFunction


def cpp_type(text: str) -> CType:
    """The C++ type with this name, spelt with its namespace.

    >>> cpp_type("acme::Tensor").text
    'acme::Tensor'
    """
    return c_types.base(text)


def usual_signature(function: NativeFunction) -> Signature:
    """Signature that the kernel of a backend has without a convention: the dispatcher's, with integers."""
    return dispatcher.concrete_signature(function)


def cpp_name(function: NativeFunction) -> str:
    """The C++ name of an overload's function in the public API, such as `add_out` for `add.out`."""
    return public_api.name(function.schema)
