"""Recognises plain C++ expressions without a C++ parser, and parses the others.

A formula is reduced: every literal, name and number becomes `v`, then calls, members, operators and brackets around
`v` become `v`, until nothing changes. A formula that ends as a single `v` is an expression. Other formulas are left to
the parser, whose grammar takes longer to load than it takes to reduce all formulas.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Final

from opwright.source.codes import NO_PARSER
from opwright.source.diagnostic import Fault
from opwright.source.lazy import lazy_pattern

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_QUOTED: Final = r'"(?:[^"\\]|\\.)*"|(?<!\w)\'(?:[^\'\\]|\\.)+\'|/\*.*?\*/|//[^\n]*'
#: Strings, characters and comments, whose text is not part of the expression.
QUOTED: Final = lazy_pattern(_QUOTED, re.DOTALL)
#: Strings, characters, comments, a bracket, or the end of a statement.
QUOTED_OR_SIGN: Final = lazy_pattern(rf"{_QUOTED}|[()\[\]{{}};]", re.DOTALL)

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


#: What stands before a formula, so that the parser reads it as an expression.
LEAD: Final = b"auto _ = "


@cache
def formula_parser() -> Parser:
    """Parser. Loading the grammar takes longer than checking all formulas without it.

    Raises Fault if it is not installed (E0939).
    """
    try:
        import tree_sitter_cpp
        from tree_sitter import Language, Parser
    except ModuleNotFoundError as error:
        message = f"what parses C++ is not installed: there is no package `{error.name}`"
        raise Fault.at(NO_PARSER, message, help="pip install tree-sitter tree-sitter-cpp") from None
    return Parser(Language(tree_sitter_cpp.language()))


def source_of(formula: str) -> bytes:
    """Statement with a formula that the parser reads."""
    return LEAD + formula.encode("utf-8", "surrogatepass") + b";"


def walk(root: Node) -> Iterator[Node]:
    """All nodes of a tree, in the order of the text. Not recursive, because formulas may nest deeply."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def text_of(node: Node) -> str:
    """Text of a node."""
    return (node.text or b"").decode("utf-8", "replace")


def range_of(node: Node, source: bytes) -> tuple[int, int]:
    """Characters of the formula that a node covers."""
    before = len(source[len(LEAD) : node.start_byte].decode("utf-8", "replace"))
    return before, before + len(text_of(node))
