"""Which parts of an output are strings or comments, in each language that outputs have."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

#: A token: its kind and its text. Kinds are `text` for strings, `comment`, `include`, and `code` for all others.
Token = tuple[str, str]

_KINDS: Final = {
    "comment": "comment",
    "string_literal": "text",
    "raw_string_literal": "text",
    "char_literal": "text",
    "system_lib_string": "include",
}


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_cpp.language()))


def cpp_tokens(text: str) -> Iterator[Token]:
    """The tokens of C++, which Tree-sitter finds. Spaces are no tokens; a quoted header of an include is one too."""
    data = text.encode("utf-8", "surrogatepass")
    end = 0
    for node in _leaves(_parser().parse(data).root_node):
        between = data[end : node.start_byte].decode("utf-8", "replace")
        if between.strip():
            yield "code", between.strip()
        end = node.end_byte
        own = data[node.start_byte : node.end_byte].decode("utf-8", "replace")
        # Definitions of macros are one leaf, with the strings and comments in them.
        yield from _scanned(own) if node.type == "preproc_arg" else [(_KINDS.get(node.type, "code"), own)]
    left = data[end:].decode("utf-8", "replace").strip()
    if left:
        yield "code", left


def _leaves(root: Node) -> Iterator[Node]:
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type in _KINDS or not node.children:
            if node.end_byte > node.start_byte:
                yield node
        else:
            stack.extend(reversed(node.children))


_CPP_PARTS: Final = re.compile(r'(?P<text>"(?:[^"\\\n]|\\.)*")|(?P<comment>/\*.*?\*/|//(?:\\\n|[^\n])*)', re.DOTALL)


def _scanned(text: str) -> Iterator[Token]:
    end = 0
    for match in _CPP_PARTS.finditer(text):
        yield "code", text[end : match.start()]
        yield str(match.lastgroup), match[0]
        end = match.end()
    yield "code", text[end:]


def python_tokens(text: str) -> Iterator[Token]:
    """The tokens of Python. Raises SyntaxError for text that is not Python."""
    compile(text, "output.py", "exec", dont_inherit=True)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = {tokenize.STRING: "text", tokenize.COMMENT: "comment"}.get(token.type, "code")
        yield kind, token.string


def _lexer(**kinds: str) -> Callable[[str], Iterator[Token]]:
    """A lexer of a small language: the patterns of its strings and comments, and all else as code."""
    pattern = re.compile("|".join([f"(?P<{kind}>{form})" for kind, form in kinds.items()]))

    def tokens(text: str) -> Iterator[Token]:
        end = 0
        for match in pattern.finditer(text):
            yield "code", text[end : match.start()]
            yield str(match.lastgroup), match[0]
            end = match.end()
        yield "code", text[end:]

    return tokens


_DOUBLE: Final = r'"(?:[^"\\\n]|\\.)*"'

starlark_tokens = _lexer(text=rf'"""(?:[^\\]|\\.)*?"""|{_DOUBLE}', comment=r"#[^\n\r]*")
meson_tokens = _lexer(text=r"'(?:[^'\\\n]|\\.)*'", comment=r"#[^\n\r]*")
cmake_tokens = _lexer(text=r'"(?:[^"\\$]|\\[^\n])*"', comment=r"#[^\n\r]*")
toml_tokens = _lexer(text=r'"(?:[^"\\\x00-\x08\x0a-\x1f\x7f]|\\["\\bfnrtuU])*"', comment=r"#[^\n\r]*")

#: The lexer of outputs, by the end of their names.
LEXERS: Final[dict[str, Callable[[str], Iterator[Token]]]] = {
    "h": cpp_tokens,
    "cpp": cpp_tokens,
    "cu": cpp_tokens,
    "py": python_tokens,
    "pyi": python_tokens,
    "bzl": starlark_tokens,
    "cmake": cmake_tokens,
    "meson.build": meson_tokens,
    "toml": toml_tokens,
}


def tokens_of(path: str, text: str) -> list[Token]:
    """The tokens of an output, by the language that its name says."""
    lexer = LEXERS.get(path.rpartition("/")[2]) or LEXERS[path.rpartition(".")[2]]
    return [token for token in lexer(text) if token[1]]
