"""The plug-ins that are active in this process: their families, dialects, codes and lints stand in the tables.

Rows that a plug-in adds leave the tables when the next run has other plug-ins.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from opwright.dialects.table import DIALECTS
from opwright.emit.registry import FAMILIES, Family
from opwright.plugins.active import ACTIVE
from opwright.plugins.discovery import PluginName, load_plugin
from opwright.plugins.guard import CallGuard, shown_path
from opwright.plugins.lint import OperatorLint
from opwright.plugins.plugin import Plugin
from opwright.plugins.safe_rows import (
    emit_extensions,
    extra_keys,
    headers_family,
    safe_dialect,
    safe_family,
    safe_reader,
)
from opwright.plugins.sources import folder_of
from opwright.plugins.validation import check_plugin, definition_span
from opwright.source.code_pages import add_plugin_code, find_code, remove_plugin_code
from opwright.source.codes import MISSING_FOLDER, NAME_CLASH
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
    loaded = [load_plugin(PluginName(plugin)) if isinstance(plugin, str) else plugin for plugin in plugins]
    activate(tuple(dict.fromkeys(loaded)))
    return ACTIVE.plugins


def activate(wanted: tuple[Plugin, ...]) -> None:
    """Make these plug-ins the active ones. Raises FaultsFound with all faults of what they add; then none is active."""
    _deactivate()
    sink = Diagnostics()
    try:
        for plugin in wanted:
            if check_plugin(plugin, sink):
                _add(plugin, sink)
        _check_names(wanted, sink)
        named = [plugin for plugin in wanted if plugin.is_named]
        if not sink.has_errors:
            ACTIVE.extra_keys = extra_keys(named, sink)
        sink.raise_if_errors()
        readers = [(plugin, reader) for plugin in named for reader in plugin.backend_readers]
        ACTIVE.backend_readers = tuple([safe_reader(plugin, reader) for plugin, reader in readers])
        extensions = emit_extensions(named)
        ACTIVE.extensions = extensions if any(extensions) else None
    except BaseException:
        _deactivate()
        raise
    ACTIVE.plugins = wanted


def _deactivate() -> None:
    """Remove what the active plug-ins added."""
    for name in ACTIVE.families:
        del FAMILIES[name]
    for _, dialect in ACTIVE.dialects.values():
        DIALECTS.remove(dialect)
    for code in ACTIVE.codes:
        remove_plugin_code(code)
    ACTIVE.clear()


def _check_names(plugins: Sequence[Plugin], sink: Diagnostics) -> None:
    """Report plug-ins with the same name."""
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
    families = [
        safe_family(plugin, row, [f"{plugin.name}_headers"] if headers else [], by_default=_by_default(plugin, row))
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
            add_plugin_code(code)
            ACTIVE.codes[code.code] = plugin
    guard = CallGuard(plugin)
    for lint in plugin.lints if plugin.is_named else ():
        check: Callable[..., None] = guard.function(f"the lint `{lint.lint.code}`", lint.check)
        if isinstance(lint, OperatorLint):
            ACTIVE.operator_lints.append(lint._replace(check=check))
        else:
            ACTIVE.backend_lints.append(lint._replace(check=check))


def _by_default(plugin: Plugin, family: Family) -> bool:
    """Whether a run without a choice of families makes a family of a plug-in."""
    return family.by_default and plugin.is_named


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
    """The texts of the support headers of a plug-in, by their paths below its folder."""
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
    """The template of an active plug-in, whose name is `PLUGIN:FILE`. Raises Fault if there is none."""
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
