"""Checks of the names in hooks against the operators and the dispatch keys of the backend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from opwright.dialects.backend.head_builder import HeadBuilder
from opwright.model.external_backend import BackendSection
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, did_you_mean
from opwright.source.nodes import Scalar

__all__ = ["check_hooks"]


def check_hooks(head: HeadBuilder, sections: Sequence[BackendSection]) -> None:
    """Report dispatch keys without a section, and patterns that no operator with an entry matches."""
    keys = [name for section in sections for name in _key_names(head, section)]
    functions = [entry.function for section in sections for entry in section.entries]
    names = {name for function in functions for name in (function.name.text, f"{function.namespace}::{function.name}")}
    for hook in head.hooks:
        for key in hook.filter.keys:
            if key.value not in keys:
                message = f"no section has the dispatch key `{key.value}`"
                help = did_you_mean(key.value, keys, "there are " + ", ".join([f"`{name}`" for name in keys]))
                head.sink.error(codes.HOOK, message, key.span, help=help)
        _check_patterns(hook.filter.names, names, head.sink)


def _key_names(head: HeadBuilder, section: BackendSection) -> Iterable[str]:
    """The names by which hooks choose a section: that of its key, and the same with the display name."""
    device = head.backend
    shown = section.key.name.removesuffix(device) + (head.display_name or device)
    return dict.fromkeys((section.key.name, shown))


def _check_patterns(patterns: Iterable[Scalar], names: set[str], sink: Diagnostics) -> None:
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern.value) for name in names):
            message = f"no operator with an entry has a name like `{pattern.value}`"
            sink.warning(codes.NO_EFFECT, message, pattern.span, help=did_you_mean(pattern.value, names))
