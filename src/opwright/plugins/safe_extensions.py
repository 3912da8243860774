"""What plug-ins add to inputs and to wrappers of backends, as runs use it: with safe functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from opwright.cpp.binding import Binding
from opwright.cpp.c_types import CType
from opwright.cpp.signature import Signature
from opwright.dialects.dialect import BackendReader
from opwright.dialects.extra_keys import ExtraKey
from opwright.dialects.own_keys import own_keys
from opwright.emit.backend_extensions import (
    KernelConvention,
    KernelSelector,
    RegistrationChange,
    WrapperHook,
    hook_problem,
)
from opwright.emit.extensions import EmitExtensions, Extension
from opwright.emit.registrations import Registration
from opwright.plugins.guard import CallGuard
from opwright.plugins.plugin import Plugin
from opwright.plugins.validation import definition_span
from opwright.source.codes import KEY_TAKEN, NAME_CLASH
from opwright.source.diagnostic import Diagnostics
from opwright.source.nodes import Mapping

__all__ = ["emit_extensions", "extra_keys", "safe_reader"]

_Part = TypeVar("_Part")


def extra_keys(plugins: Iterable[Plugin], sink: Diagnostics) -> dict[str, tuple[ExtraKey, ...]]:
    """The keys that plug-ins declare, by the place where they stand; reports names that are taken."""
    keys: dict[str, dict[str, ExtraKey]] = {}
    for plugin in plugins:
        for row in plugin.extra_keys:
            if not _can_stand(row, plugin, sink):
                continue
            key = row.of_plugin(plugin.name)
            earlier = keys.setdefault(row.where, {}).setdefault(row.name, key)
            if earlier is not key:
                whose = "twice" if earlier.plugin == plugin.name else f"which plug-in `{earlier.plugin}` declares too"
                message = f"plug-in `{plugin.name}` declares the key `{row.name}` of a {row.where}"
                comma = "" if earlier.plugin == plugin.name else ","
                sink.error(NAME_CLASH, f"{message}{comma} {whose}", definition_span(plugin))
    return {where: tuple(own.values()) for where, own in keys.items()}


def _can_stand(key: ExtraKey, plugin: Plugin, sink: Diagnostics) -> bool:
    """Whether a key has a place, and a name that Opwright does not use there."""
    if not key.where:
        message, help = f"plug-in `{plugin.name}` declares the key `{key.name}` of no place", "give it `where`"
    elif key.name in own_keys(key.where):
        message = f"plug-in `{plugin.name}` declares the key `{key.name}` of a {key.where}, which is Opwright's own"
        help = "choose another name"
    else:
        return True
    sink.error(KEY_TAKEN, message, definition_span(plugin), help=help)
    return False


def safe_reader(plugin: Plugin, reader: BackendReader) -> BackendReader:
    """A reader of backend files with safe functions and the name of its plug-in."""
    guard = CallGuard(plugin)
    recognizes = guard.function(f"`recognizes` of the reader `{reader.name}`", reader.recognizes)
    rewrite = guard.function(f"`rewrite` of the reader `{reader.name}`", reader.rewrite, _wrong_root)
    return BackendReader(reader.name, recognizes, rewrite, plugin=plugin.name)


def _wrong_root(value: object) -> str:
    return "" if isinstance(value, Mapping) else f"a `{type(value).__name__}`, not a `Mapping`"


def emit_extensions(plugins: Sequence[Plugin]) -> EmitExtensions:
    """What plug-ins add to wrappers and registrations, in the order in which the run names them."""
    return EmitExtensions(
        _extensions(plugins, lambda plugin: [_safe_hook(plugin, row) for row in plugin.wrapper_hooks]),
        _extensions(plugins, lambda plugin: [_safe_selector(plugin, row) for row in plugin.kernel_selectors]),
        _extensions(plugins, lambda plugin: [_safe_change(plugin, row) for row in plugin.registration_changes]),
        _extensions(plugins, lambda plugin: [_safe_convention(plugin, row) for row in plugin.kernel_conventions]),
    )


def _extensions(plugins: Iterable[Plugin], parts: Callable[[Plugin], list[_Part]]) -> tuple[Extension[_Part], ...]:
    return tuple([Extension(plugin.name, part) for plugin in plugins for part in parts(plugin)])


def _safe_hook(plugin: Plugin, hook: WrapperHook) -> WrapperHook:
    position: Final = hook.position
    point = f"`code` of the wrapper hook `{position.name}`"
    code = CallGuard(plugin).function(point, hook.code, lambda text: hook_problem(text, position))
    return WrapperHook(position.name, code, includes=hook.includes)


def _safe_selector(plugin: Plugin, selector: KernelSelector) -> KernelSelector:
    point = f"`select` of the kernel selector `{selector.name}`"
    select = CallGuard(plugin).function(point, selector.select, _wrong_text)
    return selector.replace(select=select)


def _safe_change(plugin: Plugin, change: RegistrationChange) -> RegistrationChange:
    name = getattr(change, "__name__", "change")
    return CallGuard(plugin).function(f"the registration change `{name}`", change, _wrong_registrations)


def _safe_convention(plugin: Plugin, convention: KernelConvention) -> KernelConvention:
    point = f"`signature` of the kernel convention `{convention.name}`"
    signature = CallGuard(plugin).function(point, convention.signature, _wrong_signature)
    return convention.replace(signature=signature)


def _wrong_text(value: object) -> str:
    return "" if value is None or isinstance(value, str) else f"a `{type(value).__name__}`, not a text or None"


def _wrong_signature(value: object) -> str:
    if not isinstance(value, Signature):
        return f"a `{type(value).__name__}`, not a `Signature`"
    returns: object = value.returns
    if not isinstance(returns, CType):
        return f"a signature that returns a `{type(returns).__name__}`, not a `CType`"
    bindings: Sequence[object] = value.bindings
    wrong = next((item for item in bindings if not isinstance(item, Binding)), None)
    return "" if wrong is None else f"a signature with a `{type(wrong).__name__}`, not a `Binding`"


def _wrong_registrations(value: object) -> str:
    """What is wrong with the registrations that a change gave. A registration is a tuple itself."""
    if isinstance(value, Registration):
        return ""
    if not isinstance(value, (list, tuple)):
        return f"a `{type(value).__name__}`, not a `Registration` or a list of them"
    wrong = next((item for item in value if not isinstance(item, Registration)), None)
    return "" if wrong is None else f"a `{type(wrong).__name__}` in a list, not a `Registration`"
