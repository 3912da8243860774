"""The includes of ported sources: the stable headers of the names that they use, and those of the standard library that
PyTorch's other headers included for them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from opwright.porting.state import FileState
from opwright.porting.translator import INCLUDES, KEPT_INCLUDE
from opwright.porting.wrappers import NAMESPACE
from opwright.syntax.cpp import include_line, quoted_include_line

__all__ = ["with_includes"]

_TENSOR: Final = "torch/csrc/stable/tensor.h"
_REMOVED: Final = re.compile(r"\xf8(\d+)\xf8")
_MARKED_LINE: Final = re.compile(r"(?m)^[^\S\n]*[\xf8-\xfa\xfc](?:\d+\xf8)?[^\S\n]*\n|[\xf8-\xfc](?:\d+\xf8)?")
_INCLUDED: Final = re.compile(r"(?m)^[^\S\n]*#[^\S\n]*include[^\S\n]*<([^>\n]+)>")
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
#: The headers of names that the stable headers do not include for every release.
_STANDARD: Final[Mapping[str, str]] = {
    **dict.fromkeys(("map", "multimap"), "map"),
    **dict.fromkeys(("set", "multiset"), "set"),
    **{name: name for name in ("unordered_map", "unordered_set", "deque", "queue", "mutex", "atomic", "thread")},
    **dict.fromkeys(("numeric_limits",), "limits"),
    **dict.fromkeys(("tuple", "make_tuple", "tie"), "tuple"),
    **dict.fromkeys(("accumulate", "iota"), "numeric"),
    **dict.fromkeys(("exp", "log", "sqrt", "pow", "ceil", "floor", "round", "fabs", "isnan", "isinf", "tanh"), "cmath"),
    **dict.fromkeys(("mt19937", "random_device", "uniform_real_distribution"), "random"),
}
_PLAIN: Final[Mapping[str, str]] = {
    "assert": "cassert",
    **dict.fromkeys(("exp", "log", "sqrt", "sqrtf", "pow", "ceil", "floor", "fmax", "fmin", "fabs", "expf"), "cmath"),
    **dict.fromkeys(("rand", "srand", "malloc", "free"), "cstdlib"),
    **dict.fromkeys(("memcpy", "memset"), "cstring"),
    **dict.fromkeys(("printf", "fprintf"), "cstdio"),
}
_STANDARD_NAME: Final = re.compile(r"\bstd::(\w+)")
_CALLED: Final = re.compile(r"(?<![\w:.>])(\w+)\s*\(")


def with_includes(text: str, state: FileState, header: str) -> str:
    """A ported text with the includes that it needs, in place of those of PyTorch's other headers.

    `header` is the path of the header of calls from the folder of the file.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    lost = any(mark in text for mark in INCLUDES)
    text = _REMOVED.sub(lambda match: _declaration(state, int(match[1]), match[0]), text)
    needed = dict.fromkeys(state.headers)
    if lost and not needed:
        needed[_TENSOR] = None
    if lost or needed or f"{NAMESPACE}::" in text:
        needed |= dict.fromkeys(_standard_headers(text))
    present = set(_INCLUDED.findall(text))
    names = sorted((name for name in needed if name not in present), key=lambda name: ("/" not in name, name))
    lines = [include_line(name) for name in names]
    own = quoted_include_line(header.replace("\\", "/"))
    if f"{NAMESPACE}::" in text and own not in text:
        lines.append(own)
    return _MARKED_LINE.sub("", _placed(text, newline.join(lines), newline))


def _declaration(state: FileState, start: int, mark: str) -> str:
    """The declaration of options where code still needs it."""
    return state.declarations[start][0] if start in state.kept else mark


def _standard_headers(text: str) -> list[str]:
    plain = _COMMENT.sub("", text)
    headers = [_STANDARD[name] for name in _STANDARD_NAME.findall(plain) if name in _STANDARD]
    return [*headers, *[_PLAIN[name] for name in _CALLED.findall(plain) if name in _PLAIN]]


def _placed(text: str, lines: str, newline: str) -> str:
    """The text with lines at the first include that went, else after the first one that stays, else on top."""
    if not lines:
        return text
    if INCLUDES[0] in text:
        return text.replace(INCLUDES[0], lines, 1)
    if KEPT_INCLUDE in text:
        return text.replace(KEPT_INCLUDE, f"{newline}{lines}", 1)
    match = re.search(r"(?m)^#pragma once\r?\n", text)
    at = 0 if match is None else match.end()
    return f"{text[:at]}{lines}{newline}{text[at:]}"
