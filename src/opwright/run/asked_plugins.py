"""What runs ask of their plug-ins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

if TYPE_CHECKING:
    from opwright.dialects.dialect import LoadContext

    # Every run imports this module, and few have plug-ins.
    from opwright.source.text import SourceFile

PluginType = TypeVar("PluginType")


class RunPlugins(Generic[PluginType]):
    """What a run asks of plug-ins. These are the answers where there are none; the room of plug-ins has its own."""

    __slots__ = ()

    def activate(self, plugins: Sequence[PluginType]) -> None:
        """Make these plug-ins the active ones. Raises FaultsFound with all faults of what they add."""

    def with_their_keys(self, context: LoadContext) -> LoadContext:
        """Context of a loader with what the active plug-ins declare and read."""
        return context

    @property
    def guests(self) -> tuple[object, ...]:
        """Records of what the active plug-ins add to the files of guests."""
        return ()

    def template(self, name: str) -> SourceFile:
        """Template of an active plug-in, whose name is `PLUGIN:FILE`. Raises Fault if there is none."""
        raise AssertionError(f"there are no plug-ins, and so no template `{name}`")

    def sources(self, plugins: Sequence[PluginType]) -> list[str]:
        """Paths of the sources of plug-ins."""
        del plugins
        return []

    def identities(self, plugins: Sequence[PluginType]) -> list[list[str]]:
        """What identifies plug-ins: their names, and fingerprints of their sources."""
        del plugins
        return []


#: Defaults without plug-ins.
NO_PLUGINS: Final[RunPlugins[Any]] = RunPlugins()
