"""An entry of a backend file, as the readers of its options fill it, with the names and functions of its kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from opwright.backends.dialect.head_builder import HeadBuilder
from opwright.backends.dialect.operators import OperatorIndex
from opwright.backends.dialect.sections import SectionKind
from opwright.dialects.dialect import LoadContext
from opwright.model.dispatch_key import DispatchKey
from opwright.model.native_function import NativeFunction
from opwright.model.wrapper_options import NO_ENTRY_OPTIONS, EntryOptions
from opwright.source import codes
from opwright.source.diagnostic import Label, Suggestion
from opwright.source.nodes import Node, Scalar
from opwright.source.records import NamedTuple
from opwright.source.span import Span

if TYPE_CHECKING:
    from opwright.dialects.dialect import ExtraKeys
from opwright.backends.dialect.kernel_families import KernelFamily, kernel_name
from opwright.backends.dialect.sections import DENSE
from opwright.model.dispatch_key import KEYS
from opwright.model.hooks import Implementation
from opwright.model.native_function import Kernel
from opwright.model.wrapper_options import FamilyKernel


class SectionContext(NamedTuple):
    """What all entries of a section share.

    `manual` are the operators that the author registers, and `extra_keys` those that plug-ins declare for entries.
    """

    kind: SectionKind
    key: DispatchKey
    head: HeadBuilder
    load: LoadContext
    operators: OperatorIndex
    manual: frozenset[NativeFunction] = frozenset()
    extra_keys: ExtraKeys | None = None


class BackendEntryBuilder:
    """Values of an entry's options.

    `name` is the name of the operator in the file, and `function` the operator. `way` is the option that says how the
    operator is implemented, None if none does. `kernel` is the C++ function that `kernel` names, and `kernel_name` the
    name in place of the usual one. `family` is the family of the kernel, and `families` are those of several kernels.
    `options` has what the model keeps.
    """

    __slots__ = (
        "failed",
        "families",
        "family",
        "function",
        "kernel",
        "kernel_name",
        "keys",
        "name",
        "options",
        "section",
        "source",
        "way",
    )

    def __init__(self, name: Scalar, function: NativeFunction, section: SectionContext) -> None:
        self.name: Final = name
        self.function: Final = function
        self.section: Final = section
        self.keys: Final[dict[str, Scalar]] = {}
        self.way: Scalar | None = None
        self.options: EntryOptions = NO_ENTRY_OPTIONS
        self.kernel = ""
        self.source = ""
        self.kernel_name = ""
        self.family = ""
        self.families: tuple[str, ...] = ()
        self.failed = False

    def fault(
        self, code: str, message: str, at: Span, *, help: str | Suggestion = "", also: tuple[Label, ...] = ()
    ) -> None:
        """Reports a fault; the entry is then left out."""
        self.failed = True
        self.section.load.sink.error(code, message, at, help=help, also=also)

    def warning(self, code: str, message: str, at: Span, *, help: str | Suggestion = "") -> None:
        """Reports a warning."""
        self.section.load.sink.warning(code, message, at, help=help)

    def key_span(self, option: str) -> Span:
        """Span of an option's name; that of the operator if the entry lacks the option."""
        return self.keys.get(option, self.name).span

    def choose_way(self, option: str) -> None:
        """Records the option that says how the operator is implemented. Another one is a fault."""
        key = self.keys[option]
        if self.way is None or self.way.value == option:
            self.way = key
            return
        message = f"`{self.way.value}` and `{option}` are two ways to implement `{self.name.value}`"
        also = (Label(self.way.span, "the other one", primary=False),)
        self.fault(codes.TWO_WAYS, message, key.span, also=also, help="delete one of them")


OptionReader: TypeAlias = Callable[[Node, BackendEntryBuilder], None]
"""Reads the value of an option."""


#: The C++ namespace of PyTorch's kernels, which have the convention of `native_functions.yaml`.
PYTORCH_KERNELS: Final = "at::native"

#: The devices whose kernels backends inherit, and the word for a kernel that all of them have.
DEVICES: Final = ("CPU", "CUDA")
SHARED: Final = "shared"


def kernel_of(entry: BackendEntryBuilder) -> Kernel:
    """Kernel of an entry without faults. Sets what its options say of the function that wrappers call."""
    kind, key, options = entry.section.kind, entry.section.key, entry.options
    is_structured = options.implementation in (Implementation.structured, Implementation.stub)
    prefix = "structured_" if is_structured else ""
    if options.implementation is Implementation.stub or entry.source:
        kernel, _ = inherited_kernel(entry.function, entry.source or SHARED, kind)
        assert kernel is not None, "an entry without the kernel has a fault"
        namespace, name = kernel.namespace, kernel.name
    else:
        namespace, _, name = entry.kernel.rpartition("::")
    if name:
        convention = _convention(entry, KernelFamily())
        entry.options = options._replace(callee=f"{namespace}::{prefix}{name}", convention=convention)
        symint = bool(entry.kernel) and entry.name.value in entry.section.head.symint_names
        return Kernel(key, name, namespace, is_structured, symint=symint)
    kernels = tuple([_family_kernel(entry, family, prefix) for family in entry.families or (entry.family,)])
    first = kernels[0]
    if first.callee or first.class_name or first.convention or entry.families:
        entry.options = options._replace(
            callee=first.callee,
            class_name=first.class_name,
            convention=first.convention,
            candidates=kernels if entry.families else (),
        )
    return first.kernel


def _family_kernel(entry: BackendEntryBuilder, name: str, prefix: str) -> FamilyKernel:
    """Kernel of an entry in a family; the prefix of its name says whether it is structured."""
    head = entry.section.head
    family = head.families.get(name, KernelFamily())
    own_name = _own_name(entry, family)
    namespace = family.namespace or head.cpp_namespace
    is_free = bool(family.namespace) and not family.class_name
    return FamilyKernel(
        name,
        Kernel(entry.section.key, own_name, namespace, bool(prefix)),
        f"{namespace}::{prefix}{own_name}" if is_free else "",
        family.class_name,
        _convention(entry, family),
    )


def _convention(entry: BackendEntryBuilder, family: KernelFamily) -> str:
    """Calling convention of a kernel; empty for PyTorch's kernels and structured ones, which have their own."""
    convention = family.convention or entry.section.head.convention
    is_own = entry.options.implementation is Implementation.kernel and not entry.options.policy
    return "" if convention is None or not is_own else convention.value


def _own_name(entry: BackendEntryBuilder, family: KernelFamily) -> str:
    """Name of a kernel of the backend. Structured kernels take symbolic integers under their plain name."""
    section = entry.section
    name = entry.kernel_name or pattern_name(entry, family)
    is_plain = entry.options.implementation is not Implementation.structured
    is_symint = is_plain and entry.name.value in section.head.symint_names
    return f"{name}_symint" if is_symint and not name.endswith("_symint") else name


def pattern_name(entry: BackendEntryBuilder, family: KernelFamily) -> str:
    """Name that a kernel has if its entry gives it none."""
    pattern = family.kernel_name or entry.section.head.kernel_name
    return kernel_name(pattern, entry.function.schema, entry.section.kind, entry.section.key)


def inherited_kernel(function: NativeFunction, source: str, kind: SectionKind) -> tuple[Kernel | None, str]:
    """Kernel of PyTorch's that a section inherits for a function; if there is none, None with what to do instead.

    The source is a device, or `shared`. Sections for other tensors than dense ones inherit kernels for these tensors.
    Element-wise kernels that PyTorch generates are shared, because they call loops by the device of their tensors.
    """
    kernels = {device: kernel for device in DEVICES if (kernel := _kernel_for(function, kind, device)) is not None}
    if source != SHARED:
        other = next(iter(kernels), "")
        return kernels.get(source), f"write `inherit: {other}`" if other else _absent_help(function)
    names = {f"{kernel.namespace}::{kernel.name}" for kernel in kernels.values()}
    if len(kernels) == len(DEVICES) and (len(names) == 1 or (function.ufunc and kind.is_dense)):
        return kernels[DEVICES[0]], ""
    if len(kernels) == len(DEVICES):
        return None, "; ".join([f"`inherit: {device}` is `{kernel.name}`" for device, kernel in kernels.items()])
    return None, inherited_kernel(function, "", kind)[1]


def shared_kernel(function: NativeFunction) -> Kernel | None:
    """Kernel for dense tensors that PyTorch has for the CPU and CUDA alike; None if it has none."""
    return inherited_kernel(function, SHARED, DENSE)[0]


def _kernel_for(function: NativeFunction, kind: SectionKind, device: str) -> Kernel | None:
    key = KEYS.get(kind.prefix + device)
    return None if key is None else function.kernels.get(key)


def _absent_help(function: NativeFunction) -> str:
    if function.structured_delegate is not None:
        return f"`{function.structured_delegate}` has the kernel"
    if function.has_composite_kernel:
        return "delete the entry: PyTorch implements the operator for all devices"
    return ""
