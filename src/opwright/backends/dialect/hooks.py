"""Hooks of backend files: code around the calls of kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from opwright.backends import backend_codes
from opwright.backends.dialect.texts import read_code, read_part, read_qualified_name, read_word
from opwright.backends.hooks import HOOK_VALUES, Hook, HookPosition, Implementation, exists_at
from opwright.dialects.field import TEXT, TEXTS, Field, choice, list_of_schema, mapping_schema
from opwright.dialects.values import read_fields
from opwright.source.diagnostic import Diagnostics, did_you_mean
from opwright.source.expect import expect_sequence, expect_strings
from opwright.source.lazy import lazy_pattern
from opwright.source.nodes import Node, Scalar
from opwright.source.records import NamedTuple

#: What a call gets from the wrapper; a call around the kernel also gets, unasked, what calls it.
_PASSED: Final = tuple([name for name in HOOK_VALUES if name != "call"])
KINDS: Final = {kind.name: kind for kind in Implementation if kind is not Implementation.refused}
_PLACEHOLDER: Final = lazy_pattern(r"\{([A-Za-z_]\w*)\}")

WHERE_FIELDS: Final = (
    Field("kind", "text or list of texts", TEXTS, "How the operators are implemented, such as `structured`."),
    Field("name", "text or list of texts", TEXTS, "Patterns of operator names, such as `_foreach_*`."),
    Field("key", "text or list of texts", TEXTS, "Dispatch keys, such as `PrivateUse1`."),
)
HOOK_FIELDS: Final = (
    Field(
        "at",
        "text",
        choice(*(position.name for position in HookPosition)),
        "Where the code is: `before_check`, `before` or `after` the call of the kernel, or `around` it.",
        is_required=True,
    ),
    Field("text", "C++", TEXT, "Statements, with values such as `{name}` in braces."),
    Field("call", "text", TEXT, "A C++ function to call, in place of `text`."),
    Field("pass", "list of words", list_of_schema(choice(*_PASSED)), "The values that the function is called with."),
    Field("where", "mapping", mapping_schema(WHERE_FIELDS), "Which wrappers have the hook; without it, all of them."),
)


class HookNode(NamedTuple):
    """A hook with the dispatch keys and the patterns of names that have to exist, and their places."""

    hook: Hook
    keys: Sequence[Scalar]
    names: Sequence[Scalar]


def read_hooks(node: Node, sink: Diagnostics) -> list[HookNode]:
    """Hooks of a list; those with faults are left out."""
    items = expect_sequence(node, "`hooks`", sink)
    hooks = [_read_hook(item, sink) for item in ([] if items is None else items)]
    return [hook for hook in hooks if hook is not None]


def _read_hook(item: Node, sink: Diagnostics) -> HookNode | None:
    fields = read_fields(item, "hooks", HOOK_FIELDS, sink)
    if fields is None or "at" not in fields:
        return None
    word = read_word(fields["at"], "at", HookPosition.__members__, sink)
    if not word:
        return None
    if ("text" in fields) == ("call" in fields):
        message = f"the hook has {'both' if 'text' in fields else 'neither'} of `text` and `call`"
        sink.error(backend_codes.HOOK, message, item.span, help="write one of them")
        return None
    where = (read_fields(fields["where"], "where", WHERE_FIELDS, sink) or {}) if "where" in fields else {}
    lists = {name: expect_strings(value, f"`{name}`", sink) or [] for name, value in where.items()}
    words = [read_word(scalar, "kind", KINDS, sink) for scalar in lists.get("kind", ())]
    keys, names = lists.get("key", ()), lists.get("name", ())
    hook = Hook(
        HookPosition[word],
        _read_statements(fields["text"], HookPosition[word], sink) if "text" in fields else "",
        read_part(fields, "call", read_qualified_name, sink),
        _read_passed(fields, HookPosition[word], sink),
        tuple([KINDS[word] for word in words if word]),
        tuple([key.value for key in keys]),
        tuple([name.value for name in names]),
    )
    return HookNode(hook, keys, names) if hook.text or hook.call else None


def _read_passed(fields: Mapping[str, Node], position: HookPosition, sink: Diagnostics) -> tuple[str, ...]:
    node = fields.get("pass")
    if node is None:
        return ()
    if "call" not in fields:
        sink.error(backend_codes.HOOK, "only a hook with `call` passes values", node.span, help="delete `pass`")
        return ()
    words = []
    for scalar in expect_strings(node, "`pass`", sink) or ():
        word = read_word(scalar, "pass", _PASSED, sink)
        if word and _exists(word, position, scalar, sink):
            words.append(word)
    return tuple(words)


def _read_statements(node: Node, position: HookPosition, sink: Diagnostics) -> str:
    """Text of a hook, whose values exist where it is. A text around a call contains it once."""
    text = read_code(node, "text", sink)
    if not text or not isinstance(node, Scalar):
        return ""
    names = [match[1] for match in _PLACEHOLDER.finditer(node.value)]
    for match in _PLACEHOLDER.finditer(node.value):
        at = node.span_of(*match.span(1))
        if match[1] in HOOK_VALUES:
            if not _exists(match[1], position, Scalar(node.file, at.start, at.end, match[1]), sink):
                return ""
        elif help := did_you_mean(match[1], HOOK_VALUES):
            # Braces of C++ may have any name in them.
            sink.warning(
                backend_codes.HOOK_VALUE, f"`{{{match[1]}}}` is no value of hooks, and stays as it is", at, help=help
            )
    if position is HookPosition.around and "call" not in names:
        message = "the text around the call does not contain `{call}`, so the kernel never runs"
        sink.error(backend_codes.HOOK, message, node.span, help="write `return {call};` where the kernel runs")
        return ""
    return text


def _exists(value: str, position: HookPosition, scalar: Scalar, sink: Diagnostics) -> bool:
    """Whether a value exists where a hook is; otherwise the hook has a fault."""
    if exists_at(value, position):
        return True
    where = "before" if position is HookPosition.before_check else position.name
    if value == "result":
        help = "the text has the result of `{call}`" if position is HookPosition.around else "write `at: after`"
        sink.error(backend_codes.HOOK, f"`result` does not exist {where} the call", scalar.span, help=help)
    else:
        sink.error(backend_codes.HOOK, f"`call` is not {where} the call", scalar.span, help="write `at: around`")
    return False
