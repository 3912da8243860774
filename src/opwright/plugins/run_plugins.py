"""Plug-ins of a run: makes them the active ones, and answers what runs ask of them.

Imports what that needs only for runs that have any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from opwright.plugins.active import ACTIVE, with_plugins
from opwright.plugins.sources import source_paths, sources_fingerprint
from opwright.plugins.use import ensure_active
from opwright.run.asked_plugins import RunPlugins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.dialects.dialect import LoadContext
    from opwright.plugins.plugin import Plugin
    from opwright.source.text import SourceFile


class _Plugins(RunPlugins["Plugin"]):
    """Answers to runs where there are plug-ins."""

    __slots__ = ()

    def activate(self, plugins: Sequence[Plugin]) -> None:
        ensure_active(plugins)

    def with_their_keys(self, context: LoadContext) -> LoadContext:
        return with_plugins(context)

    @property
    def guests(self) -> tuple[object, ...]:
        return () if ACTIVE.extensions is None else (ACTIVE.extensions,)

    def template(self, name: str) -> SourceFile:
        from opwright.plugins.activation import plugin_template

        return plugin_template(name)

    def sources(self, plugins: Sequence[Plugin]) -> list[str]:
        return source_paths(plugins) if plugins else []

    def identities(self, plugins: Sequence[Plugin]) -> list[list[str]]:
        if not plugins:
            return []
        return [[plugin.name, sources_fingerprint(plugin)] for plugin in plugins]


#: What runs ask.
PLUGINS: Final[RunPlugins[Plugin]] = _Plugins()
