"""Entries as rows: what loading an entry gave, kept by the text of the entry for later runs.

The function of an entry follows from the text of the entry and from what all entries of its file share. So a run keeps
both for the next one, which then reads neither the YAML nor the fields of an entry whose text it knows. It reads the
schema, because that is fast, and names of files follow from it. Entries with rare fields are not kept.

Rows come from disk, where others may have written them: reading one that no run wrote raises an error, and its values
have the types that they should have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from opwright.model.dispatch_key import KEYS, DispatchKey
from opwright.model.library import NO_LIBRARY_FIELDS
from opwright.model.native_function import DeviceCheck, Kernel, NativeFunction, UnlinkedFunction
from opwright.schema.fault import SchemaFault
from opwright.schema.parser import read_operator_name, read_unchecked_schema
from opwright.source.items import split_items
from opwright.source.span import Span

if TYPE_CHECKING:
    from opwright.model.library import Library
    from opwright.source.items import ItemText
    from opwright.source.span import SourceText

__all__ = ["RowReader", "context_text", "entry_rows"]

_FUNC: Final = "func: "
_SEPARATOR: Final = "|"
_NOTHING: Final[frozenset[str]] = frozenset()

# The flags of a function, as the bits of a number.
_FUNCTION: Final = 1
_METHOD: Final = 2
_STRUCTURED: Final = 4
_DEVICE_GUARD: Final = 8
_NO_DEVICE_CHECK: Final = 16
_MANUAL_BINDING: Final = 32
_MANUAL_REGISTRATION: Final = 64
_IGNORED_KERNELS: Final = 128
_CONST_REF_MUTABLES: Final = 256


def context_text(tags: Iterable[str], ignored_keys: Iterable[DispatchKey]) -> str:
    """What the entries of a file share, as a text: rows hold for runs that have the same tags and ignored keys."""
    return f"{sorted(tags)}|{sorted([key.name for key in ignored_keys])}"


def entry_rows(file: SourceText, functions: Iterable[NativeFunction]) -> dict[str, str]:
    """The rows of a file's functions, which have no faults, by the texts of their entries; some rows are empty.

    The functions may be a part of those of the file.
    """
    written = {
        function.entry.start: function
        for function in functions
        if function.entry.file is file and not function.is_synthesized
    }
    if file.has_anchors:
        return {}
    texts = dict(split_items(file.text))
    if not written.keys() <= texts.keys():
        return {}
    return {texts[start]: _row(function, start, texts[start]) for start, function in written.items()}


def _row(function: UnlinkedFunction, start: int, text: str) -> str:
    """The row of a function; empty if the function has a rare field."""
    is_rare = (
        function.precomputed is not None
        or function.ufunc
        or function.library_fields is not NO_LIBRARY_FIELDS
        or function.namespace != function.library.namespace
        or text.partition("\n")[0] != f"{_FUNC}{function.schema}"
        or not all(map(str.isidentifier, function.tags))
    )
    if is_rare:
        return ""
    flags = (
        _FUNCTION * function.function
        + _METHOD * function.method
        + _STRUCTURED * function.structured
        + _DEVICE_GUARD * function.device_guard
        + _NO_DEVICE_CHECK * (function.device_check is DeviceCheck.NoCheck)
        + _MANUAL_BINDING * function.manual_cpp_binding
        + _MANUAL_REGISTRATION * function.manual_kernel_registration
        + _IGNORED_KERNELS * (function.needs_derivative and not function.is_abstract)
        + _CONST_REF_MUTABLES * function.const_ref_mutables
    )
    delegate = function.structured_delegate
    native = function.library.native
    kernels = []
    for kernel in function.kernels.values():
        name = kernel.name if kernel.namespace == native else f"{kernel.namespace}::{kernel.name}"
        kernels.append(f"{kernel.key.name} {name}")
    fields = (
        str(function.entry.end - start),
        str(flags),
        function.python_module or "",
        delegate.text if delegate is not None else "",
        function.structured_inherits or "",
        " ".join([name.text for name in function.autogen]),
        " ".join(sorted(function.tags)),
        ",".join(kernels),
        function.category_override or "",
        " ".join(sorted(function.cpp_no_default_args)),
    )
    return _SEPARATOR.join(fields)


class RowReader:
    """Reads rows of entries of one file."""

    __slots__ = ("_file", "_flags", "_library", "_rows", "_tags")

    def __init__(self, file: SourceText, rows: Mapping[str, str], library: Library) -> None:
        self._file: Final = file
        self._rows: Final = rows
        self._library: Final = library
        self._tags: Final[dict[str, frozenset[str]]] = {}
        self._flags: Final[dict[str, dict[str, Any]]] = {}

    def functions(self, items: Iterable[ItemText]) -> list[UnlinkedFunction | None]:
        """The function of each item, None for one without a row; no list at all if a row was not written by a run."""
        rows = self._rows
        try:
            return [self._function(start, text, row) if (row := rows.get(text)) else None for start, text in items]
        except (ValueError, KeyError, SchemaFault):
            return []

    def _function(self, start: int, text: str, row: str) -> UnlinkedFunction:
        length, flag_text, module, delegate, inherits, autogen, tag_text, *rest = row.split(_SEPARATOR)
        kernel_text, category, no_defaults = rest
        flags = self._flags.get(flag_text)
        if flags is None:
            flags = self._flags[flag_text] = _flag_fields(int(flag_text))
        tags = self._tags.get(tag_text)
        if tags is None:
            tags = self._tags[tag_text] = frozenset(tag_text.split())
        return UnlinkedFunction(
            namespace=self._library.namespace,
            schema=read_unchecked_schema(text.partition("\n")[0], len(_FUNC)),
            entry=Span(self._file, start, start + int(length)),
            kernels=self._kernels(kernel_text, flags["structured"]) if kernel_text else {},
            structured_delegate=read_operator_name(delegate) if delegate else None,
            structured_inherits=inherits or None,
            python_module=module or None,
            category_override=category or None,
            cpp_no_default_args=frozenset(no_defaults.split()) if no_defaults else _NOTHING,
            autogen=tuple([read_operator_name(name) for name in autogen.split(" ")]) if autogen else (),
            tags=tags,
            library=self._library,
            **flags,
        )

    def _kernels(self, text: str, structured: bool) -> dict[DispatchKey, Kernel]:
        """The kernels of a row. A structured function's are structured for all keys that can have such kernels."""
        native = self._library.native
        kernels: dict[DispatchKey, Kernel] = {}
        for part in text.split(","):
            key_name, name = part.split(" ")
            key = KEYS[key_name]
            namespace = native
            if ":" in name:
                namespace, _, name = name.rpartition("::")
            kernels[key] = Kernel(key, name, namespace or native, structured and key.has_structured)
        return kernels


def _flag_fields(flags: int) -> dict[str, Any]:
    """The fields of a function that its flags give."""
    return {
        "function": bool(flags & _FUNCTION),
        "method": bool(flags & _METHOD),
        "structured": bool(flags & _STRUCTURED),
        "device_check": DeviceCheck.NoCheck if flags & _NO_DEVICE_CHECK else DeviceCheck.ExactSame,
        "device_guard": bool(flags & _DEVICE_GUARD),
        "manual_cpp_binding": bool(flags & _MANUAL_BINDING),
        "manual_kernel_registration": bool(flags & _MANUAL_REGISTRATION),
        "has_ignored_kernels": bool(flags & _IGNORED_KERNELS),
        "const_ref_mutables": bool(flags & _CONST_REF_MUTABLES),
    }
