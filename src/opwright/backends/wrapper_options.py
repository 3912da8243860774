"""What a backend file says of wrappers besides the names of kernels: of all of them, and of those of one operator."""

from __future__ import annotations

import enum
from typing import Final

from opwright.backends.hooks import Hook, Implementation
from opwright.model.dispatch_key import ANY_DEVICE_GUARD, Allocation
from opwright.model.extra_values import NO_VALUES, ExtraValues
from opwright.model.native_function import Kernel, NativeFunction
from opwright.source.records import NamedTuple


class Fallback(enum.Enum):
    """What runs for operators without a kernel of the backend."""

    none = "nothing: calling the operator is an error"
    cpu = "the CPU's kernel, on copies of the tensors"

    __hash__ = object.__hash__


class Guard(NamedTuple):
    """The C++ type that makes a device the current one, and the header that declares it."""

    type: str = ANY_DEVICE_GUARD
    header: str = "c10/core/DeviceGuard.h"


class FamilyKernel(NamedTuple):
    """A kernel of an operator in one of several families, among which wrappers choose when the operator runs.

    The other fields are those of the options of an entry with this kernel alone.
    """

    family: str
    kernel: Kernel
    callee: str = ""
    class_name: str = ""
    convention: str = ""


class EntryOptions(NamedTuple):
    """How one operator is implemented, as far as the file says more than its name.

    `device_check` and `device_guard` are those of the operator's wrapper, None as the head of the file says. `callee`
    is the C++ function that the wrapper calls in place of a member of a class, and `class_name` is the class that has
    the kernel if it is not the backend's. Kernels of PyTorch have PyTorch's convention, others the dispatcher's.
    With `define_meta` the backend's structured kernel has a shape function of its own, which with `register_meta` also
    replaces PyTorch's for the Meta key. `register_if` is a C++ condition for the registration. With `cpu_on_error`, the
    wrapper runs the CPU's kernel if that of the backend throws. `policy` is the policy of an operator under autocast.
    `convention` is the calling convention of the kernel, which a plug-in defines, and `candidates` are the kernels of
    several families, the first of which is that of the entry. `values` are those of the keys that plug-ins declare.
    """

    implementation: Implementation = Implementation.kernel
    callee: str = ""
    class_name: str = ""
    define_meta: bool = False
    register_meta: bool = False
    device_check: bool | None = None
    device_guard: bool | None = None
    register_if: str = ""
    cpu_on_error: bool = False
    override_composite: bool = False
    policy: str = ""
    convention: str = ""
    candidates: tuple[FamilyKernel, ...] = ()
    values: ExtraValues = NO_VALUES


#: The options of an entry that is only a name.
NO_ENTRY_OPTIONS: Final = EntryOptions()


class HeadOptions(NamedTuple):
    """What a backend file says besides what PyTorch's generator reads.

    `guard` is what structured kernels hold and wrappers open, None for PyTorch's own. `allocation` allocates the
    outputs of structured kernels. `lazy_init` is a C++ statement that initializes the device, in wrappers of functions
    that make tensors. With `device_check`, wrappers check that tensors are on one device, None if wrappers with a guard
    do. `register_macro` registers kernels in place of `m.impl`. `manual` are the operators that the author registers
    without the generator. With `derives_from_out`, functional and in-place overloads without a kernel call the kernel
    of their out overload, if the out overload is primary. Without `derived_overloads`, no overload but those of
    structured kernels follows from another one. With `override_composite`, kernels may replace composite ones, as if
    each entry said so. With `dispatch_headers`, headers declare functions that call the kernels without the dispatcher,
    such as `at::acme::add`. The sections `fallback_sections` of sparse and other tensors fall back to the CPU too. With
    `fallback_warns`, the first fallback of each operator warns, and `fallback_generator` is the C++ function that gives
    the CPU's generator for one of the device. With `autocast_fallthrough`, operators pass through the Autocast key of a
    backend without policies. `values` are those of plug-ins' keys for heads, and `entry_values` what an entry has that
    gives none of plug-ins' keys for entries.
    """

    includes: tuple[str, ...] = ()
    export_macro: str = ""
    default_args: bool = False
    guard: Guard | None = None
    allocation: Allocation | None = None
    lazy_init: str = ""
    device_check: bool | None = None
    register_macro: str = ""
    fallback: Fallback = Fallback.none
    fallback_sections: frozenset[str] = frozenset()
    fallback_copies_views: bool = False
    manual: frozenset[NativeFunction] = frozenset()
    hooks: tuple[Hook, ...] = ()
    derives_from_out: bool = False
    derived_overloads: bool = True
    override_composite: bool = False
    dispatch_headers: bool = False
    values: ExtraValues = NO_VALUES
    entry_values: ExtraValues = NO_VALUES
    fallback_warns: bool = False
    fallback_generator: str = ""
    autocast_fallthrough: bool = True


#: The options of a file that PyTorch's generator reads.
NO_HEAD_OPTIONS: Final = HeadOptions()
