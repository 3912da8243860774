"""Checks that static runtime can call the operators that get generated code. They run before Opwright writes files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from opwright.emit.emitter import Job
from opwright.mobile.static_runtime.support import KERNEL_NAMESPACE, blocks, own_kernel, view_blocks
from opwright.model.native_function import NativeFunction
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics
from opwright.source.span import Span

_HELP: Final = "give the out overload another name than `out`, and the operator gets no code in static runtime"


def check_static_runtime(job: Job, sink: Diagnostics) -> None:
    """Report operators whose code would have the wrong name or call the wrong kernel."""
    for registered, function, structured in _functions(job):
        _check_name(registered, function, sink)
        if not structured:
            _check_kernel(function, sink)


def _functions(job: Job) -> Iterator[tuple[bool, NativeFunction, bool]]:
    """Functions that generated code calls: is its schema registered, the function, is its kernel structured."""
    for block in blocks(job):
        for group in block:
            yield True, group.functional, group.structured
            yield False, group.out, group.structured
    for views in view_blocks(job):
        for view_group in views:
            yield True, view_group.view, False


def _check_name(registered: bool, function: NativeFunction, sink: Diagnostics) -> None:
    if not registered:
        return
    name, base = function.name, function.root_name
    if name.dunder:
        sink.error(
            codes.UNNAMED_TEST,
            f"static runtime would register `{name}` as `aten::{base}`",
            _place(function, name.name),
            help=_HELP,
        )
    elif function.namespace != "aten" or name.name != base:
        sink.warning(
            codes.OTHER_NAME,
            f"static runtime registers `{function.namespace}::{name}` as `aten::{base}`, where nothing looks for it",
            _place(function, name.name),
            help=_HELP,
        )


def _check_kernel(function: NativeFunction, sink: Diagnostics) -> None:
    kernel = own_kernel(function)
    if kernel is not None and kernel.namespace != KERNEL_NAMESPACE:
        sink.warning(
            codes.OTHER_NAMESPACE,
            f"static runtime calls `{KERNEL_NAMESPACE}::{kernel.name}` for `{function.name}`, "
            f"but its kernel is `{kernel.namespace}::{kernel.name}`",
            _place(function, kernel.name, after="dispatch:"),
            help=_HELP,
        )


def _place(function: NativeFunction, word: str, after: str = "func:") -> Span:
    """The first place of a word in the entry of a function, after another word; the whole entry if it is not there."""
    entry = function.entry
    match = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)").search(entry.text, max(entry.text.find(after), 0))
    if match is None:
        return entry
    return Span(entry.file, entry.start + match.start(), entry.start + match.end())
