"""Options of entries of backend files, each with its reader."""

from __future__ import annotations

from typing import Final

from opwright.backends.dialect.entry_builder import BackendEntryBuilder, OptionReader
from opwright.backends.dialect.inherited import SOURCES
from opwright.dialects.field import FLAG, TEXT, TEXTS, Field, choice
from opwright.dialects.names import AUTOCAST_POLICIES, IDENTIFIER
from opwright.dialects.values import RELEASE_FIELDS, read_code, read_identifier, read_qualified_name, read_word
from opwright.model.hooks import Implementation
from opwright.model.native_function import DeviceCheck
from opwright.source import codes
from opwright.source.expect import expect_boolean
from opwright.source.nodes import Node, Scalar, SequenceNode
from opwright.source.records import NamedTuple

#: The option with a schema.
FUNC: Final = "func"

_FALLBACKS: Final = ("cpu", "cpu_on_error", "error")
_WAYS: Final = {"cpu": Implementation.fallback, "error": Implementation.refused}
_CHECKS: Final = {DeviceCheck.ExactSame.value: True, DeviceCheck.NoCheck.value: False}


class _Row(NamedTuple):
    field: Field
    reader: OptionReader


def _flag(node: Node, name: str, entry: BackendEntryBuilder) -> bool:
    value = expect_boolean(node, f"`{name}`", entry.section.load.sink)
    entry.failed |= value is None
    return bool(value)


def _word(node: Node, name: str, words: tuple[str, ...], entry: BackendEntryBuilder) -> str:
    word = read_word(node, name, words, entry.section.load.sink)
    entry.failed |= not word
    return word


def _read_structured(node: Node, entry: BackendEntryBuilder) -> None:
    if _flag(node, "structured", entry):
        entry.choose_way("structured")
        entry.options = entry.options._replace(implementation=Implementation.structured)


def _read_stub(node: Node, entry: BackendEntryBuilder) -> None:
    if _flag(node, "stub", entry):
        entry.choose_way("stub")
        entry.options = entry.options._replace(implementation=Implementation.stub)


def _read_define_meta(node: Node, entry: BackendEntryBuilder) -> None:
    entry.options = entry.options._replace(define_meta=_flag(node, "define_meta", entry))


def _read_register_meta(node: Node, entry: BackendEntryBuilder) -> None:
    entry.options = entry.options._replace(register_meta=_flag(node, "register_meta", entry))


def _read_device_guard(node: Node, entry: BackendEntryBuilder) -> None:
    entry.options = entry.options._replace(device_guard=_flag(node, "device_guard", entry))


def _read_device_check(node: Node, entry: BackendEntryBuilder) -> None:
    if isinstance(node, Scalar) and node.value in _CHECKS:
        check = _CHECKS[node.value]
    else:
        check = _flag(node, "device_check", entry)
    entry.options = entry.options._replace(device_check=check)


def _read_kernel(node: Node, entry: BackendEntryBuilder) -> None:
    entry.choose_way("kernel")
    entry.kernel = read_qualified_name(node, "kernel", entry.section.load.sink).removeprefix("::")
    entry.failed |= not entry.kernel


def _read_inherit(node: Node, entry: BackendEntryBuilder) -> None:
    entry.choose_way("inherit")
    entry.source = _word(node, "inherit", tuple(SOURCES), entry)


def _read_fallback(node: Node, entry: BackendEntryBuilder) -> None:
    word = _word(node, "fallback", _FALLBACKS, entry)
    if word in _WAYS:
        entry.choose_way("fallback")
        entry.options = entry.options._replace(implementation=_WAYS[word])
    elif word:
        entry.options = entry.options._replace(cpu_on_error=True)


def _read_override_composite(node: Node, entry: BackendEntryBuilder) -> None:
    entry.options = entry.options._replace(override_composite=_flag(node, "override_composite", entry))


def _read_register_if(node: Node, entry: BackendEntryBuilder) -> None:
    condition = read_code(node, "register_if", entry.section.load.sink)
    entry.failed |= not condition
    entry.options = entry.options._replace(register_if=condition)


def _read_family(node: Node, entry: BackendEntryBuilder) -> None:
    words = tuple(entry.section.head.families)
    if not isinstance(node, SequenceNode):
        entry.family = _word(node, "family", words, entry)
        return
    families = [_word(item, "family", words, entry) for item in node.items]
    for item, family in zip(node.items, families, strict=True):
        if family and not IDENTIFIER.fullmatch(family):
            # The text of a selector names it in braces.
            message = f"a list of families cannot have `{family}`, which is not a C++ identifier"
            entry.fault(codes.FAMILY, message, item.span, help="give the family another name")
        elif families.count(family) > 1:
            entry.fault(codes.FAMILY, f"`{family}` is in the list twice", item.span, help="delete one of them")
            break
    if not families:
        entry.fault(codes.FAMILY, "the list of families is empty", node.span, help="delete `family`")
    entry.families = tuple(families)


def _read_kernel_name(node: Node, entry: BackendEntryBuilder) -> None:
    entry.kernel_name = read_identifier(node, "kernel_name", entry.section.load.sink)
    entry.failed |= not entry.kernel_name


def _read_policy(node: Node, entry: BackendEntryBuilder) -> None:
    entry.options = entry.options._replace(policy=_word(node, "policy", tuple(AUTOCAST_POLICIES), entry))


_ROWS: Final = (
    _Row(
        Field(
            "structured",
            "flag",
            FLAG,
            "The backend's own `impl` after PyTorch's shape function, see [structured kernels](#structured-kernels).",
        ),
        _read_structured,
    ),
    _Row(
        Field("define_meta", "flag", FLAG, "The structured kernel has a shape function of its own."), _read_define_meta
    ),
    _Row(
        Field(
            "register_meta", "flag", FLAG, "That shape function replaces PyTorch's for the Meta key, in every process."
        ),
        _read_register_meta,
    ),
    _Row(
        Field(
            "stub",
            "flag",
            FLAG,
            "PyTorch's structured kernel, whose loop the backend binds with `REGISTER_PRIVATEUSE1_DISPATCH`.",
        ),
        _read_stub,
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
    _Row(
        Field(
            "override_composite",
            "flag",
            FLAG,
            "The kernel replaces a [composite one](#composite-operators) of PyTorch.",
        ),
        _read_override_composite,
    ),
    _Row(Field("device_guard", "flag", FLAG, "Whether the wrapper sets the device."), _read_device_guard),
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
