"""What is wrong with the values of a plug-in, before anything of it is used."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Final

from opwright.dialects.dialect import BackendReader, Dialect
from opwright.dialects.extra_keys import ExtraKey
from opwright.emit.extensions import KernelConvention, KernelSelector, WrapperHook
from opwright.emit.registry import Family
from opwright.plugins.guard import shown_path
from opwright.plugins.lint import BackendLint, OperatorLint
from opwright.plugins.plugin import API_VERSION, Plugin
from opwright.plugins.sources import folder_of
from opwright.source.code_pages import Code, is_plugin_code
from opwright.source.codes import MISSING_FOLDER, WRONG_API, WRONG_ROW
from opwright.source.diagnostic import Diagnostics
from opwright.source.span import Span
from opwright.source.text import SourceFile

_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")

#: A part that is empty, `.` or `..`, the folder of Opwright's state, and what is a separator or a drive somewhere.
_NO_PLACE: Final = re.compile(r"(?:^|/)\.{0,2}(?:/|$)|^\.opwright(?:/|$)|[\\:\0\ud800-\udfff]", re.IGNORECASE)

#: Field of a plug-in -> the types of its rows.
_ROW_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "families": (Family,),
    "dialects": (Dialect,),
    "codes": (Code,),
    "lints": (OperatorLint, BackendLint),
    "extra_keys": (ExtraKey,),
    "backend_readers": (BackendReader,),
    "wrapper_hooks": (WrapperHook,),
    "kernel_selectors": (KernelSelector,),
    "kernel_conventions": (KernelConvention,),
}


def check_plugin(plugin: Plugin, sink: Diagnostics) -> bool:
    """Report what is wrong with a plug-in by itself. Gives whether nothing is."""
    own = Diagnostics()
    if type(plugin.api) is not int or plugin.api != API_VERSION:
        message = (
            f"plug-in `{plugin.name}` is written for version {plugin.api!r} of the API of plug-ins; "
            f"this Opwright has version {API_VERSION}"
        )
        own.error(WRONG_API, message, definition_span(plugin))
    else:
        _Check(plugin, own).check()
    sink.extend(own)
    return not own.has_errors


def definition_span(plugin: Plugin) -> Span | None:
    """The place where a module makes a plug-in; None if it is in no file."""
    if not os.path.isfile(plugin.file):
        return None
    file = SourceFile.read(shown_path(plugin.file))
    match = re.search(rf"\bPlugin\(\s*[\"']{re.escape(str(plugin.name))}[\"']", file.text)
    if match is None:
        return file.span(0)
    end = match.start() + len("Plugin") if "\n" in match.group() else match.end()
    return file.span(match.start(), end)


class _Check:
    """Checks the values of a plug-in."""

    def __init__(self, plugin: Plugin, sink: Diagnostics) -> None:
        self._plugin: Final = plugin
        self._sink: Final = sink

    def check(self) -> None:
        """Report all that is wrong."""
        plugin = self._plugin
        self._check_name("the name of the plug-in", plugin.name)
        for field in ("version", "templates", "headers"):
            if not isinstance(getattr(plugin, field), str):
                self._wrong(f"`{field}` is {_a(getattr(plugin, field))}, not a text")
        for field, types in _ROW_TYPES.items():
            self._check_rows(field, types)
        for change in _items(plugin.registration_changes):
            self._check_function("an item of `registration_changes`", change)
        if self._sink.has_errors:
            return
        for family in plugin.families:
            self._check_family(family)
        for dialect in plugin.dialects:
            self._check_name("the name of a dialect", dialect.name)
            self._check_function(f"`loader` of the dialect `{dialect.name}`", dialect.loader, is_optional=True)
        for code in plugin.codes:
            if not is_plugin_code(code.code):
                self._wrong(f"the code `{code.code}` is not two or more upper-case letters and four digits")
        for lint in plugin.lints:
            self._check_function(f"`check` of the lint `{lint.lint.code}`", lint.check)
        for reader in plugin.backend_readers:
            self._check_function(f"`recognizes` of the reader `{reader.name}`", reader.recognizes)
            self._check_function(f"`rewrite` of the reader `{reader.name}`", reader.rewrite)
        for hook in plugin.wrapper_hooks:
            self._check_function(f"`code` of a wrapper hook `{hook.position.name}`", hook.code)
        for selector in plugin.kernel_selectors:
            self._check_function(f"`select` of the kernel selector `{selector.name}`", selector.select)
        for convention in plugin.kernel_conventions:
            self._check_function(f"`signature` of the kernel convention `{convention.name}`", convention.signature)
        for field in ("templates", "headers"):
            folder = folder_of(plugin, getattr(plugin, field))
            if getattr(plugin, field) and not os.path.isdir(folder):
                message = f"plug-in `{plugin.name}` has no folder `{shown_path(folder)}`, which `{field}` names"
                self._sink.error(MISSING_FOLDER, message, definition_span(plugin))

    def _check_rows(self, field: str, types: tuple[type, ...]) -> None:
        rows = getattr(self._plugin, field)
        wanted = " or ".join([f"`{row_type.__name__}`" for row_type in types])
        if not isinstance(rows, (list, tuple)):
            self._wrong(f"`{field}` is {_a(rows)}, not a list of {wanted}")
            return
        for row in rows:
            if not isinstance(row, types):
                self._wrong(f"`{field}` has {_a(row)}, not a {wanted}")

    def _check_family(self, family: Family) -> None:
        self._check_name("the name of a family", family.name)
        for source in _items(family.emitters):
            if not isinstance(source, str) and not callable(source):
                what = f"`emitters` of the family `{family.name}` has {_a(source)}"
                self._wrong(f"{what}, not a function or the name of a module")
        if not isinstance(family.emitters, (list, tuple)):
            self._wrong(f"`emitters` of the family `{family.name}` is {_a(family.emitters)}, not a list")
        if not isinstance(family.folders, dict) or not family.folders:
            self._wrong(f"`folders` of the family `{family.name}` is no mapping from names to folders")
        for folder, place in family.folders.items() if isinstance(family.folders, dict) else ():
            if not isinstance(place, str) or (place not in ("", ".") and _NO_PLACE.search(place)):
                self._wrong(f"the folder `{folder}` of the family `{family.name}` is {place!r}, no place below `--out`")
        if family.programs:
            self._wrong(f"the family `{family.name}` has `programs`: a plug-in adds nothing to other programs")

    def _check_function(self, what: str, value: object, *, is_optional: bool = False) -> None:
        if not callable(value) and not (is_optional and value is None):
            self._wrong(f"{what} is {_a(value)}, not a function")

    def _check_name(self, what: str, name: object) -> None:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            self._wrong(f"{what} is `{name}`, and not made of lower-case letters, digits and underscores")

    def _wrong(self, text: str) -> None:
        self._sink.error(WRONG_ROW, f"plug-in `{self._plugin.name}`: {text}", definition_span(self._plugin))


def _items(rows: object) -> Iterable[object]:
    return rows if isinstance(rows, (list, tuple)) else ()


def _a(value: object) -> str:
    return f"a `{type(value).__name__}`"
