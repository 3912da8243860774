"""What plug-ins add to the code around the kernels of backends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

from opwright.source.named_tuple import NamedTuple

if TYPE_CHECKING:
    # Every run imports this module, and few have plug-ins.
    from opwright.emit.backend_extensions import KernelConvention, KernelSelector, RegistrationChange, WrapperHook

__all__ = ["NO_EXTENSIONS", "EmitExtensions", "Extension"]

Part = TypeVar("Part")


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
