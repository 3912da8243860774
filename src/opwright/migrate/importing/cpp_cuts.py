"""Which statements of a C++ source can be cut out of it, and whether the rest of the source stays what it is.

The grammar of C++ says where a statement begins and ends. It knows no macros: a statement that shares one with other
code stays, as what stands behind a condition or a loop does, and what a directive of the preprocessor divides.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from opwright.dialects.derivatives.formula_shapes import formula_parser, walk
from opwright.migrate.importing.cuts import ByteEdit, BytePlaces, applied, joined, without_comments
from opwright.syntax.cpp_tokens import cpp_tokens

if TYPE_CHECKING:
    from tree_sitter import Node

#: Words that the grammar does not know, and launches of kernels.
_FOREIGN: Final = re.compile(
    rb"\b__(?:restrict__|restrict|global__|device__|host__|forceinline__|shared__)\b"
    rb"|(?<=\w)\s*<<<[^<>;{}\"']*>>>(?=\s*\()"
)
_BLANK: Final = re.compile(rb"[^\n]")
_BRANCHES: Final = ("preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "preproc_elifdef")
_OUTSIDE: Final = ("translation_unit", "declaration_list", *_BRANCHES)
#: Blocks that are cut by their statements.
_BLOCK: Final = re.compile(rb"\w*_LIBRARY\w*\s*\(")
_WHOLES: Final = ("function_definition", "template_declaration", "declaration", "class_specifier", "struct_specifier")
_SPACE: Final = re.compile(r"\s+")
#: What compilers read in other ways than one another, or than this program: what follows may be something else.
_ODD: Final = (
    (re.compile(r"\r(?!\n)"), "a carriage return that ends no line of Windows"),
    (re.compile(r"\\[ \t\f\v]+(?:\r?\n)"), "a backslash with blanks behind it at the end of a line"),
    (re.compile(r"\?\?[=/'()!<>-]"), "a trigraph"),
    (re.compile(r"\0"), "a null character"),
)
_DIGRAPHS: Final = frozenset(("<%", "%>", "%:"))
_SPLICE: Final = re.compile(r"[^\s\\]\\\r?\n[^\s]")


def odd_form(text: str) -> str:
    """What makes it uncertain how compilers read a source; empty if nothing does.

    >>> odd_form("int a;\\r\\n"), odd_form("int a;\\r int b;"), odd_form("/**/ #if A")
    ('', 'a carriage return that ends no line of Windows', 'a directive that is not the first of its line')
    """
    for pattern, what in _ODD:
        if pattern.search(text):
            return what
    plain = text.replace("\r\n", "\n")
    at = 0
    last = ""
    for token in cpp_tokens(plain, with_directives=True):
        between = plain[at : token.start]
        if token.text == "#" and token.kind != "directive":
            return "a directive that is not the first of its line"
        if "\\" in between and _SPLICE.search(plain[max(at - 1, 0) : token.start + 1]):
            return "a line that goes on inside of a word"
        if not between and last + token.text in _DIGRAPHS:
            return "a digraph"
        quote = {"text": '"', "character": "'"}.get(token.kind)
        if quote is not None and (len(token.text) < 2 or token.text[-1] != quote):
            return "a quotation that its line does not end"
        if token.kind == "directive" and re.search(r'\bR"', token.text):
            return "a raw string in a directive"
        at, last = token.end, token.text
    return ""


class CppCutter:
    """Collects the cuts of one source. `others` are places in blocks that belong to no registration.

    `elsewhere` are the words of the other sources. Those mean nothing static here if no other one includes this one.
    """

    def __init__(self, text: str, others: Iterable[int], elsewhere: frozenset[str], *, is_included: bool) -> None:
        self.places: Final = BytePlaces(text)
        self.odd: Final = odd_form(text)
        self._raw = self.places.raw
        self._root = _parsed(self._raw)
        self._comments = [self._comment(node) for node in walk(self._root) if node.type == "comment"]
        self._others = sorted(map(self.places.byte, others))
        self._elsewhere = elsewhere
        self._is_included = is_included
        self._statements: dict[int, Node] = {}
        self._wholes: dict[int, Node] = {}

    def _comment(self, node: Node) -> tuple[int, int]:
        """Where a comment begins and ends, with the end of its line if it goes on until there."""
        is_line = self._raw.startswith(b"//", node.start_byte)
        end = self._raw.find(b"\n", node.end_byte) + 1 if is_line else 0
        return node.start_byte, end or node.end_byte

    def add(self, at: int) -> str:
        """Cut the statement, or the declaration, that begins at a character; or the reason why it stays."""
        byte = self.places.byte(at)
        if self.odd:
            return f"the source has {self.odd}"
        node = self._root.descendant_for_byte_range(byte, byte + 1)
        whole = _declaration(node, byte)
        if whole is not None:
            return self._add_whole(whole)
        while node is not None and node.type != "expression_statement" and not _is_macro_call(node):
            node = node.parent
        if node is None or node.start_byte != byte:
            return "it shares a statement with other code"
        return self._add_statement(node)

    def _add_statement(self, node: Node) -> str:
        first = bisect_left(self._others, node.start_byte)
        if first < len(self._others) and self._others[first] < node.end_byte:
            return "other code stands in the same statement or macro"
        inner = [child for child in walk(node) if child != node]
        is_plain = node.child_count == 2 or _is_macro_call(node)
        if not is_plain or any(child.is_error or child.type.startswith("preproc") for child in inner):
            return "the statement is not plain C++"
        above = node.parent
        while above is not None and above.type in ("compound_statement", *_BRANCHES):
            above = above.parent
        if above is None or above.type != "function_definition":
            return "it stands behind a condition, in a loop, or in a macro"
        self._statements[node.start_byte] = node
        return ""

    def _add_whole(self, node: Node) -> str:
        if _BLOCK.match(self._raw, node.start_byte):
            # It goes with its last statement.
            return ""
        if bisect_left(self._others, node.start_byte) < bisect_left(self._others, node.end_byte):
            return "other code stands in it"
        if node.has_error or any(child.type.startswith("preproc") for child in walk(node)):
            return "it is not plain C++, or a condition of the preprocessor divides it"
        self._wholes[node.start_byte] = node
        return ""

    def edits(self) -> tuple[list[ByteEdit], list[tuple[int, int]], list[tuple[int, str]]]:
        """The cuts, the lines of what is cut, and the lines of what stays after all, with the reason."""
        staying = self._staying_wholes()
        for start in staying:
            del self._wholes[start]
        blocks = [*self._blocks()]
        edits: list[ByteEdit] = []
        lines: list[tuple[int, int]] = []
        for node in (*blocks, *self._wholes.values(), *self._statements.values()):
            end = _end(node)
            if any(edit.start <= node.start_byte < edit.end for edit in edits):
                continue
            lines.append((self.places.line(node.start_byte), self.places.line(max(end - 1, node.start_byte))))
            inside = [each for at, each in self._statements.items() if node.start_byte < at < end]
            is_block = node.type == "function_definition" and node.child_by_field_name("type") is None
            comments = [
                (first, last)
                for first, last in (self._comments if is_block else ())
                if node.start_byte < first < end
                and not any(other.start_byte <= first < other.end_byte for other in inside)
            ]
            edits += without_comments(node.start_byte, end, comments)
        told = "other code names it"
        return edits, lines, [(self.places.line(start), told) for start in staying]

    def keeps_all_else(self, edits: Sequence[ByteEdit]) -> bool:
        """Whether the source after edits has the code that it had, but for the bytes that the edits name.

        Two readings have to say so: that of tokens, which knows raw strings and directives, and the grammar.
        """
        edits = joined(self._raw, edits)
        after = applied(self._raw, edits)
        tokens, tokens_after = (list(cpp_tokens(_unix(raw), with_directives=True)) for raw in (self._raw, after))
        wanted = [text for _, text in _expected([(token.start, token.text) for token in tokens], edits)]
        if wanted != [token.text for token in tokens_after]:
            return False
        leaves = _expected([(node.start_byte, _text(self._raw, node)) for node in _leaves(self._root)], edits)
        now = "".join([_text(after, node) for node in _leaves(_parsed(after))])
        return _SPACE.sub("", "".join([text for _, text in leaves])) == _SPACE.sub("", now)

    def _blocks(self) -> Iterator[Node]:
        """The blocks of which nothing but comments would be left."""
        blocks = {}
        for node in self._statements.values():
            above = node.parent
            if above is not None and above.parent is not None and above.parent.type == "function_definition":
                blocks[above.parent.start_byte] = above
        for body in blocks.values():
            inner = [child for child in body.children[1:-1] if child.type != "comment"]
            parent = body.parent
            if parent is None or parent.parent is None or parent.parent.type not in _OUTSIDE or parent.is_error:
                continue
            if all(child.start_byte in self._statements for child in inner) and body.children[-1].type == "}":
                yield parent

    def _staying_wholes(self) -> list[int]:
        """The declarations that code names which stays."""
        staying: list[int] = []
        names = {start: _name(node) for start, node in self._wholes.items()}
        seen = {
            at: self._elsewhere if self._is_included or not _is_internal(node) else ()
            for at, node in self._wholes.items()
        }
        while True:
            gone = [(node.start_byte, _end(node)) for at, node in self._wholes.items() if at not in staying]
            gone += [(node.start_byte, node.end_byte) for node in self._statements.values()]
            words = Counter(_words(self._raw, gone))
            left = [(at, name) for at, name in names.items() if at not in staying and name]
            more = [at for at, name in left if words[name] or name in seen[at]]
            if not more:
                return staying
            staying += more


def _is_macro_call(node: Node) -> bool:
    """Whether a node is a call of a macro without a semicolon, which the grammar takes for an error."""
    return node.is_error and node.child_count == 1 and node.children[0].type == "call_expression"


def _declaration(node: Node | None, byte: int) -> Node | None:
    """The declaration outside of functions that begins at a byte."""
    while node is not None and node.parent is not None and node.parent.type not in _OUTSIDE:
        node = node.parent
    if node is None or node.start_byte != byte or node.type not in _WHOLES:
        return None
    following = node.next_sibling
    has_end = not node.type.endswith("_specifier") or (following is not None and following.type == ";")
    return node if has_end else None


def _end(node: Node) -> int:
    """Where a declaration ends; a class with its semicolon."""
    following = node.next_sibling if node.type.endswith("_specifier") else None
    return node.end_byte if following is None else following.end_byte


def _name(node: Node) -> str:
    """The last word of the name that a declaration declares."""
    if node.type == "template_declaration":
        node = node.named_children[-1]
    named = node.child_by_field_name("name") or node.child_by_field_name("declarator")
    while named is not None and named.child_by_field_name("declarator") is not None:
        named = named.child_by_field_name("declarator")
    text = named.text.decode("latin-1") if named is not None and named.text is not None else ""
    words: list[str] = re.findall(r"\w+", text.partition("(")[0].partition("<")[0])
    return words[-1] if words else ""


def _is_internal(node: Node) -> bool:
    """Whether the name of a declaration is one of its own file alone."""
    if any(child.type == "storage_class_specifier" and child.text == b"static" for child in node.children):
        return True
    above = node.parent
    while above is not None and (above.type != "namespace_definition" or above.child_by_field_name("name") is not None):
        above = above.parent
    return above is not None


def _words(raw: bytes, gone: Iterable[tuple[int, int]]) -> Iterator[str]:
    """The names in what is left of a source, those in directives too."""
    parts, at = [], 0
    for start, end in sorted(gone):
        parts.append(raw[at : max(start, at)])
        at = max(at, end)
    for token in cpp_tokens(_unix(b" ".join([*parts, raw[at:]])), with_directives=True):
        if token.kind == "name":
            yield token.text
        elif token.kind == "directive":
            yield from re.findall(r"\w+", token.text)


def _parsed(raw: bytes) -> Node:
    return formula_parser().parse(_FOREIGN.sub(lambda match: _BLANK.sub(b" ", match[0]), raw)).root_node


def _unix(raw: bytes) -> str:
    """The bytes of a source as characters, with the line breaks of Unix at the same places."""
    return raw.replace(b"\\\r\n", b"\\\n ").replace(b"\r\n", b" \n").decode("latin-1")


def _expected(tokens: Iterable[tuple[int, str]], edits: Sequence[ByteEdit]) -> Iterator[tuple[int, str]]:
    """Tokens with edits: without those that begin in what is cut, and with those of what takes its place."""
    waiting = list(reversed(edits))
    gone = -1
    for start, text in tokens:
        while waiting and waiting[-1].start <= start:
            edit = waiting.pop()
            yield from [(edit.start, token.text) for token in cpp_tokens(edit.text.decode("latin-1"))]
            gone = max(gone, edit.end)
        if start >= gone:
            yield start, text
    for edit in reversed(waiting):
        yield from [(edit.start, token.text) for token in cpp_tokens(edit.text.decode("latin-1"))]


def _leaves(root: Node) -> Iterator[Node]:
    return (node for node in walk(root) if node.child_count == 0 and node.type != "comment")


def _text(raw: bytes, node: Node) -> str:
    return raw[node.start_byte : node.end_byte].decode("latin-1")
