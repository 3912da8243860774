"""The extra keys and the readers of files that the plug-ins of a run add."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from opwright.dialects.extra_places import BACKEND_ENTRY, BACKEND_HEAD, LIBRARY_ENTRY

if TYPE_CHECKING:
    from opwright.dialects.dialect import BackendReader
    from opwright.dialects.extra_keys import ExtraKey
    from opwright.plugins.plugin import Plugin
    from opwright.source.diagnostic import Diagnostics

__all__ = ["backend_readers_of", "extra_keys_of"]


def backend_readers_of(plugins: Iterable[Plugin]) -> tuple[BackendReader, ...]:
    """The readers of backend files that plug-ins have, each with the name of its plug-in."""
    return tuple([reader.of_plugin(plugin.name) for plugin in plugins for reader in plugin.backend_readers])


def extra_keys_of(plugins: Iterable[Plugin], sink: Diagnostics) -> Mapping[str, tuple[ExtraKey, ...]]:
    """The keys that plug-ins declare, by the place where they stand. Names that are taken go to the sink."""
    keys: dict[str, dict[str, ExtraKey]] = {}
    for plugin in plugins:
        for key in plugin.extra_keys:
            at_place = keys.setdefault(key.where, {})
            if key.name in at_place or key.name in _own_names(key.where):
                _report_taken(key.of_plugin(plugin.name), at_place.get(key.name), sink)
            else:
                at_place[key.name] = key.of_plugin(plugin.name)
    return {where: tuple(at_place.values()) for where, at_place in keys.items()}


def _report_taken(key: ExtraKey, other: ExtraKey | None, sink: Diagnostics) -> None:
    from opwright.dialects.extra_key_codes import KEY_TAKEN

    owner = "Opwright" if other is None else f"the plug-in `{other.plugin}`"
    message = f"the plug-in `{key.plugin}` declares the key `{key.name}` of a {key.where}, which {owner} has"
    sink.error(KEY_TAKEN, message, help="choose another name")


def _own_names(where: str) -> list[str]:
    """The names of Opwright's own keys at a place."""
    from opwright.dialects.native_functions.fields import ENTRY_FIELDS

    if where == BACKEND_HEAD:
        from opwright.dialects.backend.head_fields import HEAD_FIELDS

        fields = HEAD_FIELDS
    elif where == BACKEND_ENTRY:
        from opwright.dialects.backend.entry_fields import ENTRY_FIELDS as BACKEND_FIELDS

        fields = BACKEND_FIELDS
    elif where == LIBRARY_ENTRY:
        from opwright.dialects.library.fields import LIBRARY_FIELDS

        fields = (*ENTRY_FIELDS, *LIBRARY_FIELDS)
    else:
        fields = ENTRY_FIELDS
    return [field.name for field in fields]
