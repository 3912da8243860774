"""Checks of the head of a backend file: its C++ names, and whether anything is written for it."""

from __future__ import annotations

from typing import Final

from opwright.dialects.backend import codes
from opwright.dialects.backend.head import is_own_dialect
from opwright.dialects.backend.head_builder import HeadBuilder
from opwright.dialects.backend.sections import SECTIONS
from opwright.dialects.dialect import LoadContext
from opwright.dialects.names import CPP_WORDS, IDENTIFIER
from opwright.model.dispatch_key import KEYS
from opwright.source.nodes import Scalar

__all__ = ["check_empty", "check_names", "check_unwritten"]

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
        wrong = [part for part in parts if IDENTIFIER.fullmatch(part) is None or part in CPP_WORDS]
        if wrong:
            message = f"`{wrong[0]}` is not the name of a C++ {kind}"
            if context.tolerant:
                context.sink.warning(codes.CPP_NAME_WARNING, message, node.span)
            else:
                context.sink.error(codes.CPP_NAME, message, node.span)


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
