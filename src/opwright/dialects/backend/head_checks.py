"""Checks of the head of a backend file: its C++ names, the names in its hooks, and whether anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Final

from opwright.dialects.backend.head import is_own_dialect
from opwright.dialects.backend.head_builder import HeadBuilder
from opwright.dialects.backend.sections import SECTIONS
from opwright.dialects.dialect import LoadContext
from opwright.dialects.names import FOREIGN_NAMESPACES, IDENTIFIER, namespace_conflict
from opwright.model.dispatch_key import KEYS
from opwright.model.external_backend import BackendSection
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, did_you_mean, shorten
from opwright.source.nodes import Scalar
from opwright.source.patterns import lazy_pattern

__all__ = ["check_empty", "check_hooks", "check_names", "check_unwritten"]

#: Texts that PyTorch's generator accepts as names, and that are no other code. C++ can have some of them, or none.
_NAME_LIKE: Final = lazy_pattern(r"\w*(?:::\w*)*")
#: The most levels of `cpp_namespace` that PyTorch's generator accepts.
_LEVELS: Final = 2
#: The fields that are names in C++, and of what.
_NAMES: Final = {"cpp_namespace": "namespace", "class_name": "class"}


def check_names(head: HeadBuilder, context: LoadContext) -> None:
    """Report a namespace or a class that C++ cannot have, or that PyTorch's generator refuses."""
    for field, kind in _NAMES.items():
        node = head.root.get(field)
        if not isinstance(node, Scalar) or node.kind != "str":
            continue
        parts = node.value.split("::") if kind == "namespace" else [node.value]
        if context.tolerant and len(parts) > _LEVELS:
            message = f"`{node.value}` has more than two levels"
            context.sink.error(codes.NAMESPACE_DEPTH, message, node.span)
        wrong = [part for place, part in enumerate(parts) if not _is_cpp_name(part, kind, is_outermost=not place)]
        if wrong:
            message = f"`{shorten(wrong[0])}` is not the name of a C++ {kind}"
            if context.tolerant and _NAME_LIKE.fullmatch(node.value):
                context.sink.warning(codes.CPP_NAME_WARNING, message, node.span)
            else:
                context.sink.error(codes.CPP_NAME, message, node.span)


def _is_cpp_name(name: str, kind: str, *, is_outermost: bool) -> bool:
    """Whether a namespace or a class can have a name. Kernels may be in a namespace of PyTorch."""
    if IDENTIFIER.fullmatch(name) is None:
        return False
    return name in FOREIGN_NAMESPACES or not namespace_conflict(name, is_outermost=is_outermost and kind == "namespace")


def check_empty(head: HeadBuilder, *, is_written: bool) -> None:
    """Warn of a file for which nothing is written, because it has no operator."""
    if not is_written and not head.sink.has_errors:
        place = head.key_span("supported" if "supported" in head.spans else "backend")
        message = "nothing is written, because no section has an operator"
        if head.sections.get("autograd") and not is_own_dialect(head):
            message = "nothing is written for `autograd`, because `supported` has no operator"
        head.sink.warning(codes.EMPTY_SECTION, message, place)


def check_unwritten(head: HeadBuilder, context: LoadContext) -> None:
    """Warn of a file without operators, for which PyTorch's generator writes nothing. It looks up the Autograd key."""
    if not head.sections.get("autograd"):
        place = head.span("supported" if "supported" in head.spans else "backend")
        context.sink.warning(codes.EMPTY_SECTION, "nothing is written, because `supported` has no operator", place)
        return
    message = "nothing is written for `autograd`, because `supported` has no operator"
    context.sink.warning(codes.EMPTY_SECTION, message, head.span("autograd"))
    key = f"{SECTIONS['autograd'].prefix}{head.backend}"
    if head.backend and key not in KEYS:
        context.sink.error(codes.UNKNOWN_BACKEND, f"there is no dispatch key `{key}`", head.span("backend"))


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
