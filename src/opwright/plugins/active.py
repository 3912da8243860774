"""Which plug-ins are active in this process, and what they added to the tables.

Most runs use none, and import nothing else about plug-ins.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final

    from opwright.backends.extensions import EmitExtensions
    from opwright.dialects.dialect import BackendReader, Dialect, LoadContext
    from opwright.plugins.extra_keys import ExtraKey, ExtraKeyReader
    from opwright.plugins.lint import BackendLint, OperatorLint
    from opwright.plugins.plugin import Plugin


class ActivePlugins:
    """Active plug-ins, and what each added. `forced_families` are those of every run."""

    def __init__(self) -> None:
        self.plugins: tuple[Plugin, ...] = ()
        self.families: Final[dict[str, Plugin]] = {}
        self.forced_families: Final[list[str]] = []
        self.dialects: Final[dict[str, tuple[Plugin, Dialect[Any]]]] = {}
        self.codes: Final[dict[str, Plugin]] = {}
        self.operator_lints: Final[list[OperatorLint]] = []
        self.backend_lints: Final[list[BackendLint]] = []
        self.extra_keys: Mapping[str, tuple[ExtraKey, ...]] = {}
        self.backend_readers: tuple[BackendReader, ...] = ()
        self.extensions: EmitExtensions | None = None

    def clear(self) -> None:
        """Forget all."""
        vars(self).update(vars(ActivePlugins()))


ACTIVE: Final = ActivePlugins()


def with_plugins(context: LoadContext) -> LoadContext:
    """Context of a loader with what the active plug-ins declare and read."""
    if not ACTIVE.extra_keys and not ACTIVE.backend_readers:
        return context
    return context._replace(extra_keys=_extra_keys_at, backend_readers=ACTIVE.backend_readers)


def _extra_keys_at(where: str) -> ExtraKeyReader | None:
    """What reads the keys that plug-ins declare for a place; None if there are none."""
    keys = ACTIVE.extra_keys.get(where, ())
    if not keys:
        return None
    from opwright.plugins.extra_keys import ExtraKeyReader

    return ExtraKeyReader(keys)
