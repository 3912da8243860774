"""Older forms: texts that releases before a change spell in another way, or give other blanks."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from opwright.emit.emitter import AnyEmitter, FragmentContext, Slots
from opwright.release.rules import Rules

Spelling: TypeAlias = "tuple[re.Pattern[str], str]"
"""A pattern that finds the newer form, and the older one, which may name groups of the pattern."""


def spelled(text: str, is_new: bool, *spellings: Spelling) -> str:
    """A text in its newer form if `is_new`, else with the older form of each spelling.

    >>> spelled("f(x, nullptr)", False, (re.compile("nullptr"), "NULL"))
    'f(x, NULL)'
    >>> spelled("f(x, nullptr)", True, (re.compile("nullptr"), "NULL"))
    'f(x, nullptr)'
    """
    if not is_new:
        for pattern, older in spellings:
            text = pattern.sub(older, text)
    return text


def with_blanks(text: str, rules: Rules, *places: tuple[str, str]) -> str:
    """A fragment with the blanks at ends of lines that PyTorch before 2.8 leaves there; the same text from 2.8 on.

    Each place is the text before a line's end, and the blanks that follow it there. Blanks of an empty line follow the
    line break before it.

    >>> from opwright.release.rules import Rules
    >>> from opwright.release.version import Version
    >>> with_blanks("{\\n\\n\\n}\\n", Rules(Version(2, 7)), ("{\\n", "  "))
    '{\\n  \\n\\n}\\n'
    >>> with_blanks("{\\n\\n\\n}\\n", Rules(Version(2, 8)), ("{\\n", "  "))
    '{\\n\\n\\n}\\n'
    """
    if not rules.templates_strip_lines:
        for before, blanks in places:
            text = re.sub(rf"(?<={re.escape(before)})(?=\n)", blanks, text)
    return text


#: Optional values of std in the kernels of autograd, and those of c10. Parameters have values of std in any release.
OPTIONALS: Final[Sequence[Spelling]] = (
    (re.compile(r"(?:::)?std::nullopt"), "c10::nullopt"),
    (
        re.compile(
            r"(?:::)?std::optional"
            r"(?=<(?:Storage|Tensor|MemoryFormat|ScalarType|std::string|c10::(?:OperatorHandle|SymIntArrayRef))>)"
        ),
        "c10::optional",
    ),
    (re.compile(r"::std::optional(?=<at::Tensor>>? original_)"), "c10::optional"),
    (re.compile(r"auto(?= \w+_storage_saved =)"), "c10::optional<Storage>"),
)

#: A default that names a memory format, and the same without its namespace.
_MEMORY_FORMAT: Final[Spelling] = (re.compile(r"(= ?|default: )c10::(?=MemoryFormat::Contiguous)"), r"\1")


def in_spelling_of_release(emitter: AnyEmitter, rules: Rules) -> AnyEmitter:
    """An emitter of PyTorch's files that spells what stands in many of them as the release does."""
    if rules.default_memory_format_is_qualified:
        return emitter
    return emitter.replace(
        fragment=_with_older_defaults(emitter.fragment),
        file_slots=lambda job: _older_defaults(emitter.file_slots(job)),
    )


def _with_older_defaults(
    fragment: Callable[[Any, FragmentContext], Slots],
) -> Callable[[Any, FragmentContext], Slots]:
    return lambda unit, context: _older_defaults(fragment(unit, context))


def _older_defaults(slots: Slots) -> Slots:
    return {
        name: spelled(value, False, _MEMORY_FORMAT)
        if isinstance(value, str)
        else [spelled(text, False, _MEMORY_FORMAT) for text in value]
        for name, value in slots.items()
    }
