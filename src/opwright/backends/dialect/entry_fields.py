"""Options of entries of backend files, each with its reader; an entry as these fill it, and its kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, TypeAlias

from opwright.backends import backend_codes
from opwright.backends.dialect.head_fields import HeadBuilder
from opwright.backends.dialect.inherited import SHARED, SOURCES, inherited_kernel
from opwright.backends.dialect.kernel_families import KernelFamily, kernel_name
from opwright.backends.dialect.operators import OperatorIndex
from opwright.backends.dialect.sections import SectionKind
from opwright.backends.dialect.texts import read_code, read_identifier, read_qualified_name, read_word
from opwright.backends.hooks import Implementation
from opwright.backends.wrapper_options import NO_ENTRY_OPTIONS, EntryOptions, FamilyKernel
from opwright.dialects.dialect import LoadContext
from opwright.dialects.field import FLAG, TEXT, TEXTS, Field, choice
from opwright.dialects.names import AUTOCAST_POLICIES, IDENTIFIER
from opwright.dialects.values import RELEASE_FIELDS
from opwright.model.dispatch_key import DispatchKey
from opwright.model.native_function import DeviceCheck, Kernel, NativeFunction
from opwright.source.diagnostic import Label, Suggestion
from opwright.source.expect import expect_boolean
from opwright.source.nodes import Node, Scalar, SequenceNode
from opwright.source.records import NamedTuple
from opwright.source.span import Span

if TYPE_CHECKING:
    from opwright.dialects.dialect import ExtraKeys


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

    def __init__(self, name: Scalar, function: NativeFunction, section: SectionContext) -> None:
        self.name: Final = name
        self.function: Final = function
        self.section: Final = section
        self.head: Final = section.head
        self.sink: Final = section.load.sink
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
        self.sink.error(code, message, at, help=help, also=also)

    def warning(self, code: str, message: str, at: Span, *, help: str | Suggestion = "") -> None:
        """Reports a warning."""
        self.sink.warning(code, message, at, help=help)

    def set_options(self, **options: object) -> None:
        """Sets options by their names."""
        self.options = self.options._replace(**options)  # type: ignore[arg-type]

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
        self.fault(backend_codes.TWO_WAYS, message, key.span, also=also, help="delete one of them")


OptionReader: TypeAlias = Callable[[Node, BackendEntryBuilder], None]
"""Reads the value of an option."""


#: The C++ namespace of PyTorch's kernels, which have the convention of `native_functions.yaml`.
PYTORCH_KERNELS: Final = "at::native"


def kernel_of(entry: BackendEntryBuilder) -> Kernel:
    """Kernel of an entry without faults. Sets what its options say of the function that wrappers call."""
    implementation = entry.options.implementation
    is_structured = implementation.is_structured
    prefix = "structured_" if is_structured else ""
    if implementation is Implementation.stub or entry.source:
        kernel, _ = inherited_kernel(entry.function, entry.source or SHARED, entry.section.kind)
        assert kernel is not None, "an entry without the kernel has a fault"
        namespace, name = kernel.namespace, kernel.name
    else:
        namespace, _, name = entry.kernel.rpartition("::")
    if name:
        entry.set_options(callee=f"{namespace}::{prefix}{name}", convention=_convention(entry, KernelFamily()))
        symint = bool(entry.kernel) and entry.name.value in entry.head.symint_names
        return Kernel(entry.section.key, name, namespace, is_structured, takes_symint=symint)
    kernels = tuple([_family_kernel(entry, family, prefix) for family in entry.families or (entry.family,)])
    first = kernels[0]
    if first.callee or first.class_name or first.convention or entry.families:
        entry.set_options(
            callee=first.callee,
            class_name=first.class_name,
            convention=first.convention,
            candidates=kernels if entry.families else (),
        )
    return first.kernel


def _family_kernel(entry: BackendEntryBuilder, name: str, prefix: str) -> FamilyKernel:
    """Kernel of an entry in a family; the prefix of its name says whether it is structured."""
    family = entry.head.families.get(name, KernelFamily())
    own_name = entry.kernel_name or pattern_name(entry, family)
    # Structured kernels take symbolic integers under their plain name.
    is_plain = entry.options.implementation is not Implementation.structured
    if is_plain and entry.name.value in entry.head.symint_names and not own_name.endswith("_symint"):
        own_name = f"{own_name}_symint"
    namespace = family.namespace or entry.head.cpp_namespace
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
    convention = family.convention or entry.head.convention
    is_own = entry.options.implementation is Implementation.kernel and not entry.options.policy
    return "" if convention is None or not is_own else convention.value


def pattern_name(entry: BackendEntryBuilder, family: KernelFamily) -> str:
    """Name that a kernel has if its entry gives it none."""
    pattern = family.kernel_name or entry.head.kernel_name
    return kernel_name(pattern, entry.function.schema, entry.section.kind, entry.section.key)


#: The option with a schema.
FUNC: Final = "func"

_FALLBACKS: Final = ("cpu", "cpu_on_error", "error")
_WAYS: Final = {"cpu": Implementation.fallback, "error": Implementation.refused}
_CHECKS: Final = {DeviceCheck.ExactSame.value: True, DeviceCheck.NoCheck.value: False}


class _Row(NamedTuple):
    field: Field
    reader: OptionReader


def _flag(name: str, help: str) -> _Row:
    def read_flag(node: Node, entry: BackendEntryBuilder) -> None:
        entry.set_options(**{name: _read_flag(node, name, entry)})

    return _Row(Field(name, "flag", FLAG, help), read_flag)


def _way(name: str, help: str, implementation: Implementation) -> _Row:
    """A row of a flag that says how the operator is implemented."""

    def read_way(node: Node, entry: BackendEntryBuilder) -> None:
        if _read_flag(node, name, entry):
            entry.choose_way(name)
            entry.set_options(implementation=implementation)

    return _Row(Field(name, "flag", FLAG, help), read_way)


def _read_flag(node: Node, name: str, entry: BackendEntryBuilder) -> bool:
    value = expect_boolean(node, f"`{name}`", entry.sink)
    entry.failed |= value is None
    return bool(value)


def _read_word(node: Node, name: str, words: Iterable[str], entry: BackendEntryBuilder) -> str:
    word = read_word(node, name, words, entry.sink)
    entry.failed |= not word
    return word


def _read_device_check(node: Node, entry: BackendEntryBuilder) -> None:
    if isinstance(node, Scalar) and node.value in _CHECKS:
        check = _CHECKS[node.value]
    else:
        check = _read_flag(node, "device_check", entry)
    entry.set_options(device_check=check)


def _read_kernel(node: Node, entry: BackendEntryBuilder) -> None:
    entry.choose_way("kernel")
    entry.kernel = read_qualified_name(node, "kernel", entry.sink).removeprefix("::")
    entry.failed |= not entry.kernel


def _read_inherit(node: Node, entry: BackendEntryBuilder) -> None:
    entry.choose_way("inherit")
    entry.source = _read_word(node, "inherit", SOURCES, entry)


def _read_fallback(node: Node, entry: BackendEntryBuilder) -> None:
    word = _read_word(node, "fallback", _FALLBACKS, entry)
    if word in _WAYS:
        entry.choose_way("fallback")
        entry.set_options(implementation=_WAYS[word])
    elif word:
        entry.set_options(cpu_on_error=True)


def _read_register_if(node: Node, entry: BackendEntryBuilder) -> None:
    condition = read_code(node, "register_if", entry.sink)
    entry.failed |= not condition
    entry.set_options(register_if=condition)


def _read_family(node: Node, entry: BackendEntryBuilder) -> None:
    words = entry.head.families
    if not isinstance(node, SequenceNode):
        entry.family = _read_word(node, "family", words, entry)
        return
    families = [_read_word(item, "family", words, entry) for item in node.items]
    for item, family in zip(node.items, families, strict=True):
        if family and not IDENTIFIER.fullmatch(family):
            # The text of a selector names it in braces.
            message = f"a list of families cannot have `{family}`, which is not a C++ identifier"
            entry.fault(backend_codes.FAMILY, message, item.span, help="give the family another name")
        elif families.count(family) > 1:
            entry.fault(backend_codes.FAMILY, f"`{family}` is in the list twice", item.span, help="delete one of them")
            break
    if not families:
        entry.fault(backend_codes.FAMILY, "the list of families is empty", node.span, help="delete `family`")
    entry.families = tuple(families)


def _read_kernel_name(node: Node, entry: BackendEntryBuilder) -> None:
    entry.kernel_name = read_identifier(node, "kernel_name", entry.sink)
    entry.failed |= not entry.kernel_name


def _read_policy(node: Node, entry: BackendEntryBuilder) -> None:
    entry.set_options(policy=_read_word(node, "policy", AUTOCAST_POLICIES, entry))


_ROWS: Final = (
    _way(
        "structured",
        "The backend's own `impl` after PyTorch's shape function, see [structured kernels](#structured-kernels).",
        Implementation.structured,
    ),
    _flag("define_meta", "The structured kernel has a shape function of its own."),
    _flag("register_meta", "That shape function replaces PyTorch's for the Meta key, in every process."),
    _way(
        "stub",
        "PyTorch's structured kernel, whose loop the backend binds with `REGISTER_PRIVATEUSE1_DISPATCH`.",
        Implementation.stub,
    ),
    _Row(
        Field("kernel", "text", TEXT, "A C++ function: one of PyTorch's, such as `at::native::view`, or another one."),
        _read_kernel,
    ),
    _Row(
        Field("inherit", "text", choice(*SOURCES), "PyTorch's kernel for `CPU` or `CUDA`, or the one that they share."),
        _read_inherit,
    ),
    _Row(
        Field(
            "fallback",
            "text",
            choice(*_FALLBACKS),
            "`cpu` runs the CPU's kernel; `cpu_on_error` does if the backend's throws; `error` raises.",
        ),
        _read_fallback,
    ),
    _flag("override_composite", "The kernel replaces a [composite one](#composite-operators) of PyTorch."),
    _flag("device_guard", "Whether the wrapper sets the device."),
    _Row(Field("device_check", "flag", FLAG, "Whether the wrapper checks that devices agree."), _read_device_check),
    _Row(Field("register_if", "C++", TEXT, "A condition under which the kernel is registered."), _read_register_if),
    _Row(
        Field("family", "text or list of texts", TEXTS, "The [family](#kernel-families) of the kernel, or several."),
        _read_family,
    ),
    _Row(Field("kernel_name", "text", TEXT, "The name of the kernel in its class or namespace."), _read_kernel_name),
    _Row(
        Field("policy", "text", choice(*AUTOCAST_POLICIES), "The policy of the operator; in `autocast` alone."),
        _read_policy,
    ),
)

#: The readers of the options, by name.
READERS: Final[dict[str, OptionReader]] = {row.field.name: row.reader for row in _ROWS}

#: The options that have one value for all releases, and are read before the operator is looked up.
LASTING_FIELDS: Final = (
    Field(FUNC, "schema", TEXT, "The schema of an [operator of another library](#operators-of-other-libraries)."),
    *RELEASE_FIELDS,
)

#: The options, in the order of the documentation.
ENTRY_FIELDS: Final = (*tuple([row.field for row in _ROWS]), *LASTING_FIELDS)
