"""The selection of diagnostic codes by code or beginning of a code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final

from opwright.source.code_pages import code_names
from opwright.source.named_tuple import NamedTuple

__all__ = ["ALL", "CodeFilter", "is_prefix"]

#: What selects every code, also those of lints that run only if they are selected.
ALL: Final = "ALL"

_PREFIX: Final = re.compile(r"(?:[EW]|[A-Z]{2,})[0-9]{0,4}")


def is_prefix(text: str) -> bool:
    """Whether a text is `ALL`, or a code or the beginning of one.

    >>> [is_prefix(text) for text in ("W22", "E0310", "W3", "all")]
    [True, True, False, False]
    """
    return text == ALL or (_PREFIX.fullmatch(text) is not None and any(code.startswith(text) for code in code_names()))


class CodeFilter(NamedTuple):
    """Which codes a report shows: those selected and not ignored.

    `select` replaces the default selection, None for the default; `extend_select` adds to it. Of two prefixes the
    longer one decides, and of equal ones `ignore`. `file_ignores` are patterns of paths with the prefixes that are
    ignored in these files.

    >>> codes = CodeFilter(ignore=("W22",), extend_select=("W2216",))
    >>> [codes.shows(code) for code in ("E0310", "W2215", "W2216")]
    [True, False, True]
    """

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def shows(self, code: str, path: str = "", *, by_default: bool = True) -> bool:
        """Whether diagnostics with a code in a file are shown. A code that is not so `by_default` must be selected."""
        chosen = -1 if self.select is not None or not by_default else 0
        chosen = max(chosen, _longest(code, (*(self.select or ()), *self.extend_select)))
        ignored = [*self.ignore]
        for pattern, prefixes in self.file_ignores:
            if fnmatchcase(path, pattern) or fnmatchcase(path, f"*/{pattern}"):
                ignored += prefixes
        return _longest(code, ignored) < chosen


def _longest(code: str, prefixes: Sequence[str]) -> int:
    """The length of the longest prefix of a code: 0 for `ALL`, -1 if there is none."""
    lengths = [0 if prefix == ALL else len(prefix) for prefix in prefixes if prefix == ALL or code.startswith(prefix)]
    return max(lengths, default=-1)
