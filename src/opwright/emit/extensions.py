"""What plug-ins add to the code around the kernels of backends, and what runs ask of their plug-ins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from opwright.source.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from opwright.dialects.dialect import LoadContext

    # Every run imports this module, and few have plug-ins.
    from opwright.emit.backend_extensions import KernelConvention, KernelSelector, RegistrationChange, WrapperHook
    from opwright.source.text import SourceFile

Part = TypeVar("Part")
PluginType = TypeVar("PluginType")


class Extension(Generic[Part]):
    """A value of a plug-in, with the plug-in's name."""

    __slots__ = ("plugin", "value")

    def __init__(self, plugin: str, value: Part) -> None:
        self.plugin: Final = plugin
        self.value: Final = value

    def __repr__(self) -> str:
        return f"<extension of {self.plugin}: {self.value!r}>"


class EmitExtensions(NamedTuple):
    """What the plug-ins of a run add, each in the order in which the run names the plug-ins."""

    wrapper_hooks: tuple[Extension[WrapperHook], ...] = ()
    kernel_selectors: tuple[Extension[KernelSelector], ...] = ()
    registration_changes: tuple[Extension[RegistrationChange], ...] = ()
    kernel_conventions: tuple[Extension[KernelConvention], ...] = ()


#: What a run without plug-ins adds.
NO_EXTENSIONS: Final = EmitExtensions()


class RunPlugins(Generic[PluginType]):
    """What a run asks of plug-ins. These are the answers where there are none; the room of plug-ins has its own."""

    __slots__ = ()

    def with_those_of_heads(
        self, plugins: tuple[PluginType, ...], files: Iterable[SourceFile]
    ) -> tuple[PluginType, ...]:
        """The plug-ins of a run, and those that the heads of its files name. Raises Fault if one is not allowed."""
        del files
        return plugins

    def activate(self, plugins: Sequence[PluginType]) -> None:
        """Make these plug-ins the active ones. Raises FaultsFound with all faults of what they add."""

    def with_their_keys(self, context: LoadContext) -> LoadContext:
        """The context of a loader with what the active plug-ins declare and read."""
        return context

    @property
    def extensions(self) -> EmitExtensions:
        """What the active plug-ins add to wrappers and registrations."""
        return NO_EXTENSIONS

    def template(self, name: str) -> SourceFile:
        """The template of an active plug-in, whose name is `PLUGIN:FILE`. Raises Fault if there is none."""
        raise AssertionError(f"there are no plug-ins, and so no template `{name}`")

    def sources(self, plugins: Sequence[PluginType]) -> list[str]:
        """The paths of the sources of plug-ins."""
        del plugins
        return []

    def identities(self, plugins: Sequence[PluginType]) -> list[list[str]]:
        """What identifies plug-ins: their names, and fingerprints of their sources."""
        del plugins
        return []


#: The answers of a house without plug-ins.
NO_PLUGINS: Final[RunPlugins[Any]] = RunPlugins()
