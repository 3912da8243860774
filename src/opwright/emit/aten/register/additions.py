"""What plug-ins add to one wrapper: code around the call of its kernel, and other calls."""

from __future__ import annotations

from opwright.cpp.signature import Signature
from opwright.cpp.translation import TypeConversion
from opwright.model.hooks import Hook
from opwright.source.records import NamedTuple, frozen_fields


class KernelCallee(NamedTuple):
    """A kernel that a wrapper calls: the C++ function, its signature, and conversions of types besides PyTorch's.

    `family` is the name by which a selector's statements refer to the kernel.
    """

    function: str
    signature: Signature
    conversions: tuple[TypeConversion, ...] = ()
    family: str = ""


@frozen_fields
class WrapperAdditions:
    """What plug-ins add to a wrapper.

    `hooks` stand inside those of the backend file. `callees` are the kernels in place of the usual one; with several,
    `selection` has the statements that choose. `includes` are the headers that the code needs.
    """

    hooks: tuple[Hook, ...] = ()
    callees: tuple[KernelCallee, ...] = ()
    selection: str = ""
    includes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.hooks or self.callees)
