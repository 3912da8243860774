"""Makes plug-ins the active ones. Every command imports this, so it imports the rest only where there are any."""

from __future__ import annotations

from opwright.plugins.active import ACTIVE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from opwright.plugins.plugin import Plugin


def ensure_active(plugins: Iterable[Plugin]) -> None:
    """Make these plug-ins the active ones. Raises FaultsFound with all faults of what they add."""
    wanted = tuple(dict.fromkeys(plugins))
    if wanted != ACTIVE.plugins:
        from opwright.plugins.activation import activate

        activate(wanted)
