"""The hints and names in the stub files of torch that PyTorch keeps by hand, from the files in `data`.

Their comments say in which releases each of them is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final, Literal, TypeAlias, cast, get_args

from opwright.release.rules import Rules
from opwright.release.version import Version, is_between
from opwright.source.records import NamedTuple
from opwright.source.text import read_own_text

#: Where hints stand among those of one name: before the generated hints of an operator, before or without generated
#: ones, or after them.
HintPlace: TypeAlias = Literal["operators", "bound by hand", "last"]

_NAME: Final = re.compile(r"(?:@\w+\n)*(?:def )?(\w+)")
_DIRECTIVE: Final = re.compile(r"(since|until|named) (\S+)")


class WrittenHint(NamedTuple):
    """A hint that PyTorch keeps by hand, with the name under which it is sorted."""

    name: str
    text: str
    section: HintPlace


class ListedName(NamedTuple):
    """A name of a list, and its name in the file that lists it."""

    name: str
    alias: str


def written_hints(file: str, rules: Rules) -> tuple[WrittenHint, ...]:
    """Hints of a file in a release, in their order.

    >>> from opwright.release.version import parse_version
    >>> [hint.name for hint in written_hints("functions", Rules(parse_version("2.13")))][:3]
    ['add', 'arange', 'arange']
    """
    return _written_hints(file, rules.version)


@cache
def _written_hints(file: str, version: Version) -> tuple[WrittenHint, ...]:
    section: HintPlace = "operators"
    directives: dict[str, str] = {}
    hints = []
    for item in _items(_text(f"{file}.txt")):
        if item.startswith("#: section "):
            name = item.removeprefix("#: section ")
            assert name in get_args(HintPlace), f"{file}.txt has an unknown section {name}"
            section = cast("HintPlace", name)
        elif item.startswith("#: "):
            directives.update(_DIRECTIVE.findall(item))
        else:
            if is_between(version, directives.get("since"), directives.get("until")):
                match = _NAME.match(item)
                assert match is not None
                hints.append(WrittenHint(directives.get("named", match[1]), item, section))
            directives = {}
    return tuple(hints)


def _items(text: str) -> Iterator[str]:
    """The hints and comments of a file; a hint of several lines is one item."""
    lines: list[str] = []
    for line in text.splitlines():
        if lines and not line.startswith((" ", ")")) and not lines[-1].startswith("@"):
            yield "\n".join(lines)
            lines = []
        if line and (line.startswith("#: ") or not line.startswith("#")):
            lines.append(line)
    if lines:
        yield "\n".join(lines)


def listed_names(title: str, rules: Rules) -> tuple[ListedName, ...]:
    """Names of a list in a release, in their order.

    >>> from opwright.release.version import parse_version
    >>> [name.name for name in listed_names("dispatch modes", Rules(parse_version("2.13")))]
    ['FAKE', 'PROXY', 'FUNCTIONAL']
    """
    return _listed_names(rules.version)[title]


@cache
def _listed_names(version: Version) -> Mapping[str, tuple[ListedName, ...]]:
    lists: dict[str, list[ListedName]] = {}
    title = ""
    for line in _text("names.txt").splitlines():
        if line.startswith("["):
            title = line.strip("[]")
            lists[title] = []
        elif line and not line.startswith("#"):
            entry, _, since = line.partition(" since ")
            name, _, alias = entry.partition(" as ")
            if is_between(version, since or None, None):
                lists[title].append(ListedName(name, alias or name))
    return {title: tuple(names) for title, names in lists.items()}


def _text(file: str) -> str:
    return read_own_text(__package__, f"data/{file}")
