"""Calling conventions of plug-ins: how the kernels of a backend take their arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from opwright.convention import dispatcher
from opwright.cpp import c_types
from opwright.cpp.c_types import CType
from opwright.cpp.signature import Signature
from opwright.cpp.translation import TypeConversion
from opwright.model.native_function import NativeFunction
from opwright.source.copyable import Copyable

__all__ = ["KernelConvention", "cpp_type", "usual_signature"]


class KernelConvention(Copyable):
    """The signature of kernels, and the conversions that wrappers need to call them.

    `signature` gives the signature of an operator's kernel; its name is not used. Wrappers translate their arguments
    as between PyTorch's own conventions, and with `conversions` for types that PyTorch does not have, also that of the
    result. A wrapper of an operator that writes to arguments returns these if the kernel returns nothing.
    """

    __slots__ = ("conversions", "includes", "name", "signature")

    def __init__(
        self,
        name: str,
        signature: Callable[[NativeFunction], Signature],
        *,
        conversions: Iterable[TypeConversion] = (),
        includes: Iterable[str] = (),
    ) -> None:
        self.name: Final = name
        self.signature: Final = signature
        self.conversions: Final = tuple(conversions)
        self.includes: Final = tuple(includes)

    def __repr__(self) -> str:
        return f"<kernel convention {self.name}>"


def cpp_type(text: str) -> CType:
    """The C++ type with this name, spelt with its namespace.

    >>> cpp_type("acme::Tensor").text
    'acme::Tensor'
    """
    return c_types.base(text)


def usual_signature(function: NativeFunction) -> Signature:
    """The signature that the kernel of a backend has without a convention: the dispatcher's, with integers."""
    return dispatcher.concrete_signature(function)
