"""One canonical layout of YAML: the order of keys, indentation, and where comments stand; values stay as they are.

- Mappings have their keys in a given order, unknown ones after them, in the order in which they are written.
- Blocks are indented by two spaces. Lists in mappings are not indented. Two spaces are before a comment after a value.
- Comments above a key or an item move with it; a comment with a blank line below stays with what stands above. The
  first comments stay at the top.
- Blank lines are kept, one at a time. The file ends with one line break.
- Texts that the caller names, which are schemas, are plain: on one line, or on several that break after commas.

A text that this cannot rewrite without changing what it says, or without losing a comment, stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final, TypeAlias

from opwright.source.diagnostic import Fault
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode, scalar_kind
from opwright.source.span import SourceText
from opwright.source.yaml import load_yaml
from opwright.workspace.edits import children

#: The keys of the mapping at a path of keys, as written -> those that have a place, in their order.
FieldOrder: TypeAlias = Callable[[tuple[str, ...], Sequence[str]], Sequence[str]]
#: Whether the value at a path of keys is a schema.
IsSchema: TypeAlias = Callable[[tuple[str, ...]], bool]

#: The longest line that a schema has, if it can be broken.
LINE_LENGTH: Final = 120
_INDENT: Final = 2
_LINE_BREAK: Final = re.compile(r"\r\n|\n|\r")
_COMMENT: Final = re.compile(r"(?:^|(?<=\s))#[^\r\n]*")
_MARKER: Final = re.compile(r"(?m)^(?:---|\.\.\.|%)")
#: Where a plain text of several words may break. The next line may not begin a comment or a key.
_BREAK: Final = re.compile(r"(?<=,) ")


def laid_out(file: SourceText, order: FieldOrder, is_schema: IsSchema) -> str:
    """Text of a file in the canonical layout; as it is where that is not possible.

    >>> text = "supported:\\n  -   relu # fast\\nbackend:  Acme"
    >>> print(laid_out(SourceText("a.yaml", text), lambda _, keys: sorted(keys), lambda _: False), end="")
    backend: Acme
    supported:
    - relu  # fast
    """
    try:
        root = load_yaml(file)
    except Fault:
        return file.text
    if file.has_anchors or isinstance(root, Scalar) or _is_flow(root) or _MARKER.search(_outside(file, root)):
        return file.text
    line_break = match[0] if (match := _LINE_BREAK.search(file.text)) else "\n"
    text = "".join([f"{line}{line_break}" for line in _Layout(file, order, is_schema).lines(root)])
    after = SourceText(file.path, text)
    try:
        new_root = load_yaml(after)
    except Fault:
        return file.text
    is_same = _is_same(root, new_root) and _comments(file, root) == _comments(after, new_root)
    return text if is_same else file.text


def _leaves(root: Node) -> Iterator[Node]:
    """The scalars and the collections in brackets, in the order of the text."""
    level = [root]
    while level:
        node = level.pop()
        if isinstance(node, Scalar) or _is_flow(node):
            yield node
        else:
            level += reversed(children(node))


def _outside(file: SourceText, root: Node) -> str:
    """What stands between the values and keys of a file: punctuation, blanks and comments."""
    parts, end = [], 0
    for leaf in _leaves(root):
        parts.append(file.text[end : leaf.start])
        end = max(end, leaf.end)
    return "\0".join([*parts, file.text[end:]])


def _comments(file: SourceText, root: Node) -> list[str]:
    return sorted([comment.rstrip() for comment in _COMMENT.findall(_outside(file, root))])


def _is_flow(node: Node) -> bool:
    return not isinstance(node, Scalar) and node.file.text[node.start : node.start + 1] in ("[", "{")


def _is_same(left: Node, right: Node) -> bool:
    """Whether two trees have the same values; the order of keys does not count."""
    if isinstance(left, MappingNode) and isinstance(right, MappingNode):
        entries = [sorted(node.entries, key=lambda entry: entry[0].value) for node in (left, right)]
        pairs = zip(*entries, strict=False)
        return len(left) == len(right) and all(
            _is_same(key, other) and _is_same(value, item) for (key, value), (other, item) in pairs
        )
    if isinstance(left, SequenceNode) and isinstance(right, SequenceNode):
        return len(left) == len(right) and all(map(_is_same, left.items, right.items))
    if isinstance(left, Scalar) and isinstance(right, Scalar):
        return left.value == right.value and left.kind == right.kind
    return False


class _Layout:
    """Makes the lines of a file."""

    def __init__(self, file: SourceText, order: FieldOrder, is_schema: IsSchema) -> None:
        self._file: Final = file
        self._order: Final = order
        self._is_schema: Final = is_schema
        #: The column of keys and dashes in the file -> how far the last one is indented now.
        self._indents: Final = {0: 0}

    def lines(self, root: Node) -> list[str]:
        """Lines of the whole file."""
        first = self._line(root.start)
        head = [self._file.line_text(line).strip() for line in range(1, first)]
        # Where a blank line divides the comments, those below it are about the first key.
        while "" in head and head[-1]:
            head.pop()
        last = self._last_line(root)
        tail = [self._file.line_text(line).rstrip() for line in range(last + 1, self._file.line_count + 1)]
        return [*_squeezed([*head, *self._block(root, 0, (), len(head) + 1), *tail])]

    def _block(self, node: Node, indent: int, path: tuple[str, ...], start: int) -> list[str]:
        """Lines of a mapping or a list, with the comments from a line of the file on."""
        comments: list[tuple[list[str], list[str]]] = []
        bodies: list[list[str]] = []
        above = start - 1
        for column, first, last, body in self._bodies(node, indent, path):
            self._indents[column] = indent
            lead, tail = self._comments_between(above, first, column)
            if comments:
                comments[-1][1].extend(tail)
            else:
                lead = [*tail, *lead]
            comments.append((lead, []))
            bodies.append(body())
            above = last
        lines: list[str] = []
        for index in self._places(node, path):
            lead, tail = comments[index]
            lines += [*lead, *bodies[index], *tail]
        return lines[next(place for place, line in enumerate(lines) if line) :]

    def _bodies(
        self, node: Node, indent: int, path: tuple[str, ...]
    ) -> Iterator[tuple[int, int, int, Callable[[], list[str]]]]:
        """The keys or dashes of a block: the column, from 0, the line, the line where the value ends, and its lines."""
        if isinstance(node, MappingNode):
            for key, value in node.entries:
                line, column = self._file.line_and_column(key.start)
                body = partial(self._entry, key, value, indent, path)
                yield column - 1, line, max(line, self._last_line(value)), body
        else:
            for item in children(node):
                line, column = self._file.line_and_column(self._dash(item))
                yield column - 1, line, max(line, self._last_line(item)), partial(self._item, item, indent, path)

    def _places(self, node: Node, path: tuple[str, ...]) -> list[int]:
        """Places in the file of the keys or items of a block, in the canonical order."""
        if not isinstance(node, MappingNode):
            return list(range(len(children(node))))
        keys = [key.value for key, _ in node.entries]
        places = {key: place for place, key in enumerate(self._order(path, keys))}
        return sorted(range(len(keys)), key=lambda index: places.get(keys[index], len(places)))

    def _entry(self, key: Scalar, value: Node, indent: int, path: tuple[str, ...]) -> list[str]:
        head = f"{' ' * indent}{key.span.text}:"
        below = (*path, key.value)
        if isinstance(value, Scalar) or _is_flow(value):
            return self._leaf(head, value, indent, below)
        comment = self._comment_after(key.end)
        deeper = indent + (_INDENT if isinstance(value, MappingNode) else 0)
        return [head + comment, *self._block(value, deeper, below, self._line(key.end) + 1)]

    def _item(self, item: Node, indent: int, path: tuple[str, ...]) -> list[str]:
        dash = f"{' ' * indent}-"
        if isinstance(item, Scalar) or _is_flow(item):
            return self._leaf(dash, item, indent, path)
        lines = self._block(item, indent + _INDENT, path, self._line(self._dash(item)) + 1)
        place = next(place for place, line in enumerate(lines) if not line.lstrip().startswith("#") and line)
        above = [line[_INDENT:] for line in lines[:place]]
        return [*above, f"{dash} {lines[place].lstrip()}", *lines[place + 1 :]]

    def _leaf(self, head: str, node: Node, indent: int, path: tuple[str, ...]) -> list[str]:
        """Lines of a value that stays as it is, after its key or its dash."""
        text = node.span.text
        if not text:
            return [head + self._comment_after(node.start)]
        comment = self._comment_after(node.end)
        if isinstance(node, Scalar) and self._is_schema(path) and _is_plain(node.value):
            lines = _broken(head, node.value, indent + _INDENT)
        else:
            first, *more = _LINE_BREAK.split(text)
            if isinstance(node, Scalar) and node.style in ("|", ">"):
                return [f"{head} {first.rstrip()}", *_shifted(more, indent + _INDENT)]
            lines = [
                f"{head} {first.rstrip()}",
                *[" " * (indent + _INDENT) + line if line else "" for line in map(str.strip, more)],
            ]
        return [*lines[:-1], lines[-1] + comment]

    def _line(self, offset: int) -> int:
        return self._file.line_and_column(offset)[0]

    def _last_line(self, node: Node) -> int:
        """Line where the last value with a text ends; 0 if there is none."""
        ends = [leaf.end for leaf in _leaves(node) if leaf.end > leaf.start]
        return self._line(ends[-1] - 1) if ends else 0

    def _dash(self, item: Node) -> int:
        return self._file.text.rfind("-", 0, item.start)

    def _comment_after(self, offset: int) -> str:
        """Comment on the line of an offset, from there on, with two spaces before it."""
        line = self._line(offset)
        rest = self._file.line_text(line)[offset - self._file.line_starts[line - 1] :]
        match = _COMMENT.search(rest)
        return f"  {match[0].rstrip()}" if match else ""

    def _comments_between(self, above: int, line: int, column: int) -> tuple[list[str], list[str]]:
        """The comments over a key or dash that belong to it, and those that belong to what stands above.

        What stands above has the comments that are indented deeper, and those with a blank line below them.
        """
        texts = [self._file.line_text(number).rstrip() for number in range(above + 1, line)]
        texts = [text for text in texts if not text or text.lstrip().startswith("#")]
        columns = [max(column, len(text) - len(text.lstrip())) for text in texts]
        lines = [self._comment(text.lstrip(), offset) for text, offset in zip(texts, columns, strict=True)]
        ends = [place + bool(text) for place, text in enumerate(texts) if not text or columns[place] > column]
        offset = ends[-1] if ends else 0
        return lines[offset:], lines[:offset]

    def _comment(self, text: str, column: int) -> str:
        """A comment on a line of its own, indented as the last key or dash that is as far to the right."""
        indent = self._indents[max([left for left in self._indents if left <= column], default=0)]
        return f"{' ' * indent}{text}" if text else ""


def _shifted(lines: Sequence[str], indent: int) -> list[str]:
    """Lines of a block scalar, moved so that the one with the least indentation has this one."""
    least = min([len(line) - len(line.lstrip(" ")) for line in lines if line.strip()], default=0)
    return [f"{' ' * indent}{line[least:]}" if line.strip() else "" for line in lines]


def _is_plain(value: str) -> bool:
    """Whether a text can stand without quotes."""
    return (
        re.match(r"\w", value) is not None
        and re.search(r": |:$| #|[\r\n\t]|  |\s$", value) is None
        and scalar_kind(value, "") == "str"
    )


def _broken(head: str, value: str, indent: int) -> list[str]:
    """A text after its key, broken after commas where it is too long for a line."""
    lines = [head]
    for word in _BREAK.split(value):
        if len(lines[-1]) + 1 + len(word) > LINE_LENGTH and lines[-1] != head:
            lines.append(f"{' ' * indent}{word}")
        else:
            lines[-1] += f" {word}"
    return lines


def _squeezed(lines: Iterable[str]) -> Iterator[str]:
    """Lines without blank ones at both ends, and with one of several that follow each other."""
    gap: list[str] = []
    is_first = True
    for line in lines:
        if not line:
            gap = [line]
            continue
        yield from () if is_first else gap
        yield line
        gap, is_first = [], False
