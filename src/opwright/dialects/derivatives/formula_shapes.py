"""Recognises plain C++ expressions without a C++ parser.

A formula is reduced: every literal, name and number becomes `v`, then calls, members, operators and brackets around
`v` become `v`, until nothing changes. A formula that ends as a single `v` is an expression. Other formulas are left to
the parser, whose grammar takes longer to load than it takes to reduce all formulas.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from opwright.source.patterns import lazy_pattern

__all__ = ["LAMBDA", "QUOTED", "QUOTED_OR_BRACKET", "is_plain_expression"]

_QUOTED: Final = r'"(?:[^"\\]|\\.)*"|(?<!\w)\'(?:[^\'\\]|\\.)+\'|/\*.*?\*/|//[^\n]*'
#: Strings, characters and comments, whose text is not part of the expression.
QUOTED: Final = lazy_pattern(_QUOTED, re.DOTALL)
#: Strings, characters, comments, or a bracket.
QUOTED_OR_BRACKET: Final = lazy_pattern(rf"{_QUOTED}|[()\[\]{{}}]", re.DOTALL)

#: A lambda that only returns a value, which is the group.
LAMBDA: Final = lazy_pattern(r"\[[&=]?\]\([^()]*\)\{return ([^;{}]*);\}")
_NUMBER: Final = lazy_pattern(r"\b\d+\.(?:\d*[eE][-+]?\d+)?(?!\w)|(?<![\w.)\]])\.\d+|\b\d+[eE][-+]?\d+")
#: Names, numbers, and members after their objects or namespaces.
_PATH: Final = lazy_pattern(r"\w+(?:(?:::|\.|->)\w+)*")
_GLOBAL_NAMESPACE: Final = lazy_pattern(r"(?<=[?:(,=<] )::(?=\w)")
_LONGEST: Final = 10_000
"""Looking at longer texts, which may nest deeply, could take longer than parsing them."""

_TWO_VALUES: Final = lazy_pattern(r"v\s+v")

#: Members, templates with arguments, and calls. `f{...}` and `{...}` construct values.
_POSTFIX: Final = lazy_pattern(
    r"v(?:::|\.|->)v|v<v(?:,v)*>(?=[({:])|v\((?:v(?:,v)*)?\)|v\[v\]|v?\{(?:v(?:,v)*)?\}|(?<![\w\])}>])\(v\)"
)
_PREFIX: Final = lazy_pattern(r"(?<![\w\])}])[-+!~*&]v")
#: One operator between two values. Precedence does not affect whether a text is an expression.
_BINARY: Final = lazy_pattern(r"v(?:\|\||&&|[=!<>]=|<<|>>|[-+*/%<>&|^])v(?![(\[{.]|::|->)")
_CHOICE: Final = lazy_pattern(r"v\?v:v(?!:)")


def is_plain_expression(text: str) -> bool:
    """Whether a text is certainly a C++ expression. False means that only the parser can tell.

    >>> is_plain_expression("grad * self.sgn()"), is_plain_expression("at::sum(grad, {0, 1})[0]")
    (True, True)
    >>> is_plain_expression("grad * self.sgn("), is_plain_expression("grad self")
    (False, False)
    """
    if len(text) > _LONGEST:
        return False
    if '"' in text or "'" in text or "/*" in text or "//" in text:
        text = QUOTED.sub(lambda match: " " if match.group().startswith("/") else " v ", text)
    if "{return" in text:
        text = LAMBDA.sub(r"(\1)", text)
    if "." in text:
        text = _NUMBER.sub("v", text)
    if " ::" in text:
        text = _GLOBAL_NAMESPACE.sub("", text)
    shape = _PATH.sub("v", text)
    return _TWO_VALUES.search(shape) is None and _is_expression("".join(shape.split()))


@cache
def _is_expression(shape: str) -> bool:
    """Whether a text reduces to one value. Cached because many formulas share their shape."""
    while True:
        for pattern in (_POSTFIX, _PREFIX, _BINARY, _CHOICE):
            shorter = pattern.sub("v", shape)
            if shorter != shape:
                break
        else:
            return shape == "v"
        shape = shorter
