"""Edits of YAML that keep comments and layout, and their application: delete a field or an item, add or quote one.

A function returns no edits if it cannot make the change without touching a comment or without guessing the layout.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

from opwright.source.diagnostic import Diagnostic, Edit
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode
from opwright.source.span import SourceText, Span


def edits_of_file(diagnostics: Iterable[Diagnostic], path: str) -> tuple[list[Edit], int]:
    """Edits of one file that can be applied together, in order, and the number of diagnostics that they fix.

    The edits of a diagnostic are applied together or not at all. One whose edits overlap those of an earlier diagnostic
    waits for the next round, and so does one that edits several files.
    """
    chosen: list[Edit] = []
    count = 0
    for diagnostic in diagnostics:
        edits = diagnostic.edits
        if not edits or any(edit.span.file.path != path for edit in edits):
            continue
        if all(not _overlap(edit, other) for edit in edits for other in chosen):
            chosen += edits
            count += 1
        elif all(edit in chosen for edit in edits):
            # Two diagnostics may have the same fix.
            count += 1
    return sorted(chosen, key=lambda edit: (edit.span.start, edit.span.end)), count


def _overlap(edit: Edit, other: Edit) -> bool:
    """Whether two edits touch the same characters, or insert at the same place."""
    if edit.span.start == other.span.start:
        return True
    return edit.span.start < other.span.end and other.span.start < edit.span.end


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Text after edits in order, none of which overlap.

    >>> from opwright.source.text import SourceFile
    >>> file = SourceFile("ops.yaml", "tags: [core, core]")
    >>> apply_edits(file.text, [Edit(file.span(11, 17), "")])
    'tags: [core]'
    """
    parts, end = [], 0
    for edit in edits:
        parts += [text[end : edit.span.start], edit.text]
        end = edit.span.end
    return "".join([*parts, text[end:]])


Edits: TypeAlias = tuple[Edit, ...]

NONE: Final[Edits] = ()
_INDENT: Final = re.compile(r"[ ]*")
_DASHES: Final = re.compile(r"[ ]*(?:- +)+")
_END_OF_LINE: Final = re.compile(r"[ \t]*(?:\r\n|\n|\r|\Z)")
_LINE_BREAK: Final = re.compile(r"\r\n|\n|\r")


def find_path(root: Node, span: Span) -> list[Node]:
    """Nodes from the root to the smallest one that contains a span; keys count as nodes before their values."""
    path: list[Node] = []
    node: Node | None = root
    while node is not None:
        path.append(node)
        node = next((child for child in children(node) if child.start <= span.start and span.end <= child.end), None)
    return path


def children(node: Node) -> list[Node]:
    """Items of a list, or the keys and values of a mapping; none of a scalar."""
    if isinstance(node, MappingNode):
        return [child for entry in node.entries for child in entry]
    return [*node.items] if isinstance(node, SequenceNode) else []


def deleted_field(mapping: MappingNode, key: Scalar) -> Edits:
    """Edits that delete a key with its value.

    >>> from opwright.workspace.edits import apply_edits
    >>> from opwright.source.text import SourceFile
    >>> from opwright.source.yaml import load_yaml
    >>> text = "tag: core\\ndesc: a\\n"
    >>> tree = load_yaml(SourceFile("tags.yaml", text))
    >>> apply_edits(text, deleted_field(tree, tree.entries[1][0]))
    'tag: core\\n'
    """
    index = next((index for index, (sibling, _) in enumerate(mapping.entries) if sibling is key), None)
    if index is None or len(mapping.entries) == 1:
        return NONE

    def place(number: int) -> tuple[int, int]:
        own_key, value = mapping.entries[number]
        return own_key.start, max(own_key.end, value.end)

    return _deletion(mapping, place, index)


def deleted_item(sequence: SequenceNode, item: Node) -> Edits:
    """Edits that delete an item of a list.

    >>> from opwright.workspace.edits import apply_edits
    >>> from opwright.source.text import SourceFile
    >>> from opwright.source.yaml import load_yaml
    >>> for text in ("- a\\n- b  # why\\n- c\\n", "[a, b, c]\\n", "[a, c, b]\\n"):
    ...     tree = load_yaml(SourceFile("list.yaml", text))
    ...     index = [own.value for own in tree.items].index("b")
    ...     print(repr(apply_edits(text, deleted_item(tree, tree.items[index]))))
    '- a\\n- b  # why\\n- c\\n'
    '[a, c]\\n'
    '[a, c]\\n'
    """
    index = next((index for index, sibling in enumerate(sequence.items) if sibling is item), None)
    if index is None or len(sequence.items) == 1:
        return NONE
    return _deletion(sequence, lambda number: (sequence.items[number].start, sequence.items[number].end), index)


def _deletion(parent: SequenceNode | MappingNode, place: Callable[[int], tuple[int, int]], index: int) -> Edits:
    """Edits that delete an item or an entry, of which `place` says where it starts and ends."""
    file = parent.file
    start, content_end = place(index)
    if file.text[parent.start : parent.start + 1] in ("[", "{"):
        first, last = (start, place(1)[0]) if index == 0 else (place(index - 1)[1], content_end)
        return _unless_comment(file, first, last)
    line_start = _line_start(file, start)
    lead = file.text[line_start:start]
    if isinstance(parent, MappingNode) and _DASHES.fullmatch(lead):
        # The first key of an item of a list: the next key takes its place.
        return _unless_comment(file, start, place(1)[0]) if index == 0 else NONE
    if not (_DASHES if isinstance(parent, SequenceNode) else _INDENT).fullmatch(lead) or lead.count("-") > 1:
        return NONE
    end = _END_OF_LINE.match(file.text, content_end)
    return NONE if end is None else _unless_comment(file, line_start, end.end())


def _unless_comment(file: SourceText, start: int, end: int) -> Edits:
    """Edit that deletes a range without comments."""
    return NONE if "#" in file.text[start:end] else (Edit(Span(file, start, end), ""),)


def _line_start(file: SourceText, offset: int) -> int:
    return file.line_starts[file.line_and_column(offset)[0] - 1]


def added_field(mapping: MappingNode, field: str, value: str) -> Edits:
    """Edits that set a field to a text, or add it below the first field.

    >>> from opwright.workspace.edits import apply_edits
    >>> from opwright.source.text import SourceFile
    >>> from opwright.source.yaml import load_yaml
    >>> text = "- func: f() -> ()\\n"
    >>> tree = load_yaml(SourceFile("ops.yaml", text))
    >>> print(apply_edits(text, added_field(tree.items[0], "variants", "method")), end="")
    - func: f() -> ()
      variants: method
    >>> print(apply_edits(text, added_field(tree.items[0], "func", "g() -> ()")), end="")
    - func: g() -> ()
    """
    file = mapping.file
    entry = mapping.entry(field)
    if entry is not None:
        return replacement(entry[1], value)
    if file.text[mapping.start : mapping.start + 1] == "{":
        return (Edit(Span(file, mapping.entries[0][0].start, mapping.entries[0][0].start), f"{field}: {value}, "),)
    key, first = mapping.entries[0]
    line_end = _LINE_BREAK.search(file.text, first.end)
    column = key.start - _line_start(file, key.start)
    if isinstance(first, Scalar) and first.style in ("|", ">"):
        return NONE
    if line_end is None:
        return (Edit(file.span(len(file.text)), f"\n{' ' * column}{field}: {value}\n"),)
    return (Edit(file.span(line_end.end()), f"{' ' * column}{field}: {value}{line_end[0]}"),)


def replacement(node: Node, text: str) -> Edits:
    """Edit that replaces a scalar on one line."""
    if not isinstance(node, Scalar) or node.style in ("|", ">") or "\n" in node.span.text or node.start == node.end:
        return NONE
    return (Edit(node.span, text),)


def quotation(node: Node) -> Edits:
    """Edit that puts a plain scalar into quotes."""
    is_plain = isinstance(node, Scalar) and not node.style and node.tag is None
    text = node.span.text
    return replacement(node, f'"{text}"') if is_plain and not set('"\\') & set(text) else NONE


def line_edits(file: SourceText, text: str) -> Iterator[Edit]:
    """Edits of whole lines that make another text of a file.

    >>> [(edit.span.start, edit.span.end, edit.text) for edit in line_edits(SourceText("a", "a\\nb\\nc"), "a\\nx\\nc")]
    [(2, 4, 'x\\n')]
    """
    from opwright.source.line_diff import LineMatcher  # Only a run that changes a file needs it.

    old, new = file.text.splitlines(keepends=True), text.splitlines(keepends=True)
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    for kind, first, last, begin, end in LineMatcher(old, new).get_opcodes():
        if kind != "equal":
            yield Edit(file.span(starts[first], starts[last]), "".join(new[begin:end]))
