"""The items of a YAML list, found without parsing it, so that a run parses only the items that it needs.

The inputs of PyTorch are lists whose items start lines. The text of an item runs from one line that starts with a dash
to the next such line. If each of these texts parses alone, as a list of one item, the whole file has the same items: in
a list at the start of lines, a dash there continues nothing but a text in quotes or brackets, which would not parse
alone. So items that follow each other may be parsed at once, if they parse as a list of so many items. Where items do
not parse alone, the caller parses the whole file.
"""

from __future__ import annotations

from opwright.source.span import SourceText

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Final, TypeAlias

    from opwright.source.decode import EncodedItems
    from opwright.source.encode import Strings
    from opwright.source.text import SourceFile

    ItemText: TypeAlias = "tuple[int, str]"
    """The offset of an item after its dash, and its text from there to the line of the next item."""

__all__ = ["ChosenItems", "encode_runs", "runs_of", "split_items"]

_DASH = "\n- "

_OTHER_BREAKS = ("\r", "\x85", "\u2028", "\u2029")
"""What ends a line in YAML besides a line feed, so that an item could begin after it."""

_LONGEST_RUN = 100
"""The most items that are parsed at once, so that another process can use the first ones meanwhile."""


class ChosenItems:
    """The items of a file that a run loads, and those that changed since an earlier run loaded them."""

    __slots__ = ("changed", "file", "items")

    def __init__(self, file: SourceFile, items: list[ItemText], changed: Iterable[ItemText] | None = None) -> None:
        self.file: Final = file
        self.items: Final = items
        self.changed: Final = items if changed is None else list(changed)


def split_items(text: str) -> list[ItemText]:
    """The items of a text that is a list; none if anything but comments and empty lines comes before the first one.

    A text with other line breaks than line feeds is not split.

    >>> split_items("# Operators.\\n- func: f() -> ()\\n\\n- func: g() -> ()\\n")
    [(15, 'func: f() -> ()\\n'), (34, 'func: g() -> ()\\n')]
    """
    if any(mark in text for mark in _OTHER_BREAKS):
        return []
    head, *parts = f"\n{text}".split(_DASH)
    if any(line and not line.startswith("#") for line in head.split("\n")):
        return []
    items = []
    # The line break in front of the text is not in the file.
    start = len(head) + len(_DASH) - 1
    for part in parts:
        items.append((start, part))
        start += len(part) + len(_DASH)
    return items


def runs_of(items: Iterable[ItemText]) -> Iterator[list[ItemText]]:
    """The items in runs of items that follow each other, each of which is parsed at once.

    >>> list(runs_of([(2, "a"), (6, "b"), (20, "c")]))
    [[(2, 'a'), (6, 'b')], [(20, 'c')]]
    """
    run: list[ItemText] = []
    following = 0
    for item in items:
        start, text = item
        if run and (start != following or len(run) == _LONGEST_RUN):
            yield run
            run = []
        run.append(item)
        following = start + len(text) + len(_DASH)
    if run:
        yield run


def encode_runs(file: SourceText, items: Iterable[ItemText]) -> Iterator[EncodedItems]:
    """The encoded nodes of each of the runs of some items of a file.

    Raises Fault or ValueError if they do not parse alone. They may then be others than these; so compare their number.
    """
    from opwright.source.encode import Strings

    strings = Strings()
    for run in runs_of(items):
        yield _encode_run(file, run, strings)


def _encode_run(file: SourceText, run: list[ItemText], strings: Strings) -> EncodedItems:
    from opwright.source.encode import encode_items

    first = run[0][0] - len(_DASH) + 1
    last_start, last_text = run[-1]
    part = SourceText(file.path, file.text[first : last_start + len(last_text) + 1])
    if "\n---" in part.text or "\n..." in part.text:
        raise ValueError("a document ends in the items")
    # The number is more than the items can have, so all scalars come at once.
    (starts, ends, *scalars, collections), (none, *_) = encode_items(part, len(part.text) + 1, strings)
    assert not none
    for index in range(3, len(collections), 5):
        collections[index] += first
        collections[index + 1] += first
    values, styles, kinds = scalars
    return (
        [first + offset for offset in starts],
        [first + offset for offset in ends],
        values,
        styles,
        kinds,
        collections,
    )
