"""Strings, includes and conditions of C++."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Final

from opwright.source.codes import NOT_WRITABLE
from opwright.source.diagnostic import Fault, shorten
from opwright.source.lazy import lazy_pattern

#: Characters that need an escape in a C++ literal.
_ESCAPES: Final = {
    "\\": "\\\\",
    '"': '\\"',
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\v": "\\v",
    "\t": "\\t",
}
#: The same, and the other characters that a compiler may take for the end of a line or of the file. An octal escape has
#: three digits at most, so a digit after it is another character.
_TABLE: Final = str.maketrans(
    {
        **{chr(code): f"\\{code:03o}" for code in (*range(32), 127)},
        # Templates end lines here too.
        **{end: f"\\u{ord(end):04x}" for end in "\x85\u2028\u2029"},
        **_ESCAPES,
    }
)

#: The path of a header. It ends neither the brackets nor the quotes around it, nor the line.
_HEADER: Final = lazy_pattern(r"[^\s\"<>\\][^\"<>\\]*")


def string_literal(text: str) -> str:
    """The C++ string literal with this text.

    >>> print(string_literal('str UPLO="L"'))
    "str UPLO=\\"L\\""
    >>> print(string_literal("a\\r\\0"))
    "a\\015\\000"
    >>> print(string_literal("a\\u2028"))
    "a\\u2028"
    """
    # `str.translate` is slow, and few texts need it.
    if '"' in text or "\\" in text or not text.isprintable():
        text = text.translate(_TABLE)
    return f'"{text}"'


def is_header(text: str) -> bool:
    r"""Whether a text can be the path of a header in an `#include`.

    >>> is_header("acme/kernels.h"), is_header("<acme/kernels.h>"), is_header("a.h>\n#include <b.h")
    (True, False, False)
    """
    return text.isprintable() and _HEADER.fullmatch(text) is not None


@cache
def include_line(header: str) -> str:
    """Line that includes a header by its path in angle brackets. Raises Fault for what is no such path (E0619).

    >>> include_line("acme/kernels.h")
    '#include <acme/kernels.h>'
    """
    return f"#include <{_check(header)}>"


@cache
def quoted_include_line(header: str) -> str:
    """Line that includes a header by its path in quotes. Raises Fault for what is no such path (E0619).

    >>> quoted_include_line("RegisterAcme.h")
    '#include "RegisterAcme.h"'
    """
    return f'#include "{_check(header)}"'


def _check(header: str) -> str:
    if not is_header(header):
        raise Fault.at(NOT_WRITABLE, f"an `#include` cannot name `{shorten(ascii(header)[1:-1])}`")
    return header


def joined_conditions(conditions: Iterable[str]) -> str:
    """Condition of the preprocessor that holds if all of these do; empty ones always hold.

    >>> joined_conditions(["defined(A)", "", "defined(C) || D > 2"])
    'defined(A) && (defined(C) || D > 2)'
    """
    different = [condition for condition in dict.fromkeys(conditions) if condition]
    if len(different) < 2:
        return "".join(different)
    return " && ".join([f"({part})" if "||" in part or "?" in part else part for part in different])


def guard(condition: str, text: str) -> str:
    """Text inside `#if` of a condition of the preprocessor; without a condition, or a text, the text itself.

    >>> print(guard("!defined(USE_ROCM)", "int f();"))
    #if !defined(USE_ROCM)
    int f();
    #endif
    """
    return "\n".join([f"#if {condition}", text.rstrip("\n"), "#endif"]) if condition and text else text


def indent(text: str) -> str:
    """Statements, two columns further to the right."""
    return "\n".join([f"  {line}" if line else line for line in text.split("\n")])
