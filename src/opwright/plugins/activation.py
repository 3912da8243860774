"""Checks plug-ins, and makes them the active ones: their families, dialects, codes and lints stand in the tables.

Rows that a plug-in adds leave the tables when the next run has other plug-ins.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from opwright.backends.extensions import KernelConvention, KernelSelector, WrapperHook
from opwright.dialects.dialect import BackendReader, Dialect
from opwright.dialects.table import DIALECTS
from opwright.emit.family import Family
from opwright.emit.registry import FAMILIES
from opwright.plugins.active import ACTIVE
from opwright.plugins.code_pages import PLUGIN_CODES, Code, find_code, is_plugin_code
from opwright.plugins.discovery import load_plugin
from opwright.plugins.extra_keys import ExtraKey
from opwright.plugins.lint import BackendLint, OperatorLint
from opwright.plugins.plugin import API_VERSION, Plugin
from opwright.plugins.plugin_codes import MISSING_FOLDER, NAME_CLASH, WRONG_API, WRONG_ROW
from opwright.plugins.safe_rows import (
    CallGuard,
    emit_extensions,
    extra_keys,
    headers_family,
    safe_dialect,
    safe_family,
    safe_reader,
)
from opwright.plugins.sources import definition_span, folder_of, shown_path
from opwright.source.diagnostic import Diagnostics, Fault, did_you_mean
from opwright.source.text import SourceFile


def use_plugins(*plugins: str | Plugin) -> tuple[Plugin, ...]:
    """Activate plug-ins, given by their names or as objects, in place of those that are active; gives them.

    A request for a run has them as `plugins`. Raises Fault for one that does not load, and FaultsFound for faults of
    what they add.

    >>> use_plugins(Plugin("acme", api=1))
    (<plug-in acme>,)
    >>> use_plugins()
    ()
    """
    loaded = [load_plugin(plugin) if isinstance(plugin, str) else plugin for plugin in plugins]
    activate(tuple(dict.fromkeys(loaded)))
    return ACTIVE.plugins


def activate(wanted: tuple[Plugin, ...]) -> None:
    """Make these plug-ins the active ones. Raises FaultsFound with all faults of what they add; then none is active."""
    _deactivate()
    sink = Diagnostics()
    try:
        for plugin in wanted:
            if _check_plugin(plugin, sink):
                _add(plugin, sink)
        _check_names(wanted, sink)
        named = [plugin for plugin in wanted if plugin.is_named]
        if not sink.has_errors:
            ACTIVE.extra_keys = extra_keys(named, sink)
        sink.raise_if_errors()
        readers = [(plugin, reader) for plugin in named for reader in plugin.backend_readers]
        ACTIVE.backend_readers = tuple([safe_reader(plugin, reader) for plugin, reader in readers])
        ACTIVE.extensions = emit_extensions(named)
    except BaseException:
        _deactivate()
        raise
    ACTIVE.plugins = wanted


def _deactivate() -> None:
    for name in ACTIVE.families:
        del FAMILIES[name]
    for _, dialect in ACTIVE.dialects.values():
        DIALECTS.remove(dialect)
    for code in ACTIVE.codes:
        del PLUGIN_CODES[code]
    ACTIVE.clear()


def _check_names(plugins: Sequence[Plugin], sink: Diagnostics) -> None:
    names: dict[str, Plugin] = {}
    for plugin in plugins:
        earlier = names.setdefault(plugin.name, plugin)
        if earlier is not plugin:
            message = f"two plug-ins are called `{plugin.name}`: {_file(earlier)} and {_file(plugin)}"
            sink.error(NAME_CLASH, message, definition_span(plugin))


def _file(plugin: Plugin) -> str:
    return f"`{shown_path(plugin.file)}`" if plugin.file else "one that is in no file"


def _add(plugin: Plugin, sink: Diagnostics) -> None:
    """Add what a plug-in has to the tables, and report what has a name that is taken."""
    headers = _headers(plugin, sink)
    more = [f"{plugin.name}_headers"] if headers else []
    families = [
        # A run without a choice of families makes those of the plug-ins that it names.
        safe_family(plugin, row, more, by_default=row.by_default and plugin.is_named)
        for row in plugin.families
    ]
    if headers:
        families.append(headers_family(plugin, headers, by_default=plugin.is_named))
    for family in families:
        if _is_free(plugin, f"family `{family.name}`", FAMILIES.get(family.name), ACTIVE.families, sink):
            FAMILIES[family.name] = family
            ACTIVE.families[family.name] = plugin
            if headers and plugin.is_named and family is families[-1]:
                ACTIVE.forced_families.append(family.name)
    for row in plugin.dialects:
        taken = next((dialect for dialect in DIALECTS if dialect.name == row.name), None)
        owners = {name: owner for name, (owner, _) in ACTIVE.dialects.items()}
        if _is_free(plugin, f"dialect `{row.name}`", taken, owners, sink):
            dialect = safe_dialect(plugin, row, is_always_loaded=row.is_always_loaded and plugin.is_named)
            DIALECTS.append(dialect)
            ACTIVE.dialects[row.name] = plugin, dialect
    for code in plugin.codes:
        if _is_free(plugin, f"code `{code.code}`", find_code(code.code), ACTIVE.codes, sink):
            PLUGIN_CODES[code.code] = code
            ACTIVE.codes[code.code] = plugin
    guard = CallGuard(plugin)
    for lint in plugin.lints if plugin.is_named else ():
        check: Callable[..., None] = guard.function(f"the lint `{lint.lint.code}`", lint.check)
        if isinstance(lint, OperatorLint):
            ACTIVE.operator_lints.append(lint._replace(check=check))
        else:
            ACTIVE.backend_lints.append(lint._replace(check=check))


def _is_free(plugin: Plugin, what: str, taken: object, owners: Mapping[str, Plugin], sink: Diagnostics) -> bool:
    """Whether a name is free; if not, report whose it is."""
    if taken is None:
        return True
    owner = owners.get(what.split("`")[1])
    if owner is None:
        whose = "which is Opwright's own"
    else:
        whose = "twice" if owner is plugin else f"which plug-in `{owner.name}` adds too"
    joined = f"plug-in `{plugin.name}` adds the {what}{' ' if whose == 'twice' else ', '}{whose}"
    help = f"give it a name of its own, such as one that begins with `{plugin.name}`"
    sink.error(NAME_CLASH, joined, definition_span(plugin), help=help)
    return False


def _headers(plugin: Plugin, sink: Diagnostics) -> dict[str, str]:
    """Texts of the support headers of a plug-in, by their paths below its folder."""
    if not plugin.headers:
        return {}
    top = folder_of(plugin, plugin.headers)
    texts: dict[str, str] = {}
    for folder, folders, names in os.walk(top):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            try:
                texts[os.path.relpath(path, top).replace(os.sep, "/")] = SourceFile.read(path).text
            except Fault as fault:
                sink.add(fault.diagnostic)
    return texts


def plugin_template(name: str) -> SourceFile:
    """Template of an active plug-in, whose name is `PLUGIN:FILE`. Raises Fault if there is none."""
    owner, _, file = name.partition(":")
    plugin = next((plugin for plugin in ACTIVE.plugins if plugin.name == owner), None)
    if plugin is None:
        help = did_you_mean(owner, [plugin.name for plugin in ACTIVE.plugins])
        raise Fault.at(MISSING_FOLDER, f"no plug-in `{owner}` of this run has a template `{file}`", help=help)
    folder = folder_of(plugin, plugin.templates)
    path = os.path.join(folder, file)
    if not plugin.templates or not os.path.isfile(path):
        message = f"plug-in `{owner}` has no template `{file}`"
        if not plugin.templates:
            raise Fault.at(MISSING_FOLDER, message, definition_span(plugin), help='add `templates="FOLDER"`')
        help = did_you_mean(file, os.listdir(folder))
        raise Fault.at(MISSING_FOLDER, f"{message} in `{shown_path(folder)}`", definition_span(plugin), help=help)
    return SourceFile.read(shown_path(path))


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


def _check_plugin(plugin: Plugin, sink: Diagnostics) -> bool:
    """Report what is wrong with a plug-in by itself. Gives whether nothing is."""
    faults = Diagnostics()
    if type(plugin.api) is not int or plugin.api != API_VERSION:
        message = (
            f"plug-in `{plugin.name}` is written for version {plugin.api!r} of the API of plug-ins; "
            f"this Opwright has version {API_VERSION}"
        )
        faults.error(WRONG_API, message, definition_span(plugin))
    else:
        _Check(plugin, faults).check()
    sink.extend(faults)
    return not faults.has_errors


class _Check:
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
