"""Command lines of programs that take some milliseconds in all, mostly read without `argparse`, whose import is slower.

A table of options describes a program. Words that need no judgement (exact names, one value each, nothing missing) are
read here; help, abbreviations and mistakes are for `argparse`, with the same table.
"""

from __future__ import annotations

import sys

from opwright.source.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from opwright.cli.arguments import Parser

    Value: TypeAlias = "str | bool | list[str] | None"
    """What an option gives: text, whether a switch is there, or the texts of an option that takes several."""

    Values: TypeAlias = "dict[str, Value]"
    """What all options of a program give, by name."""


class PlainOption(NamedTuple):
    """An option of a program: its name among the values, its spellings, and its help.

    `kind` is `text`, `switch`, `repeated` (one value each time) or `several` (all words up to the next option).
    """

    name: str
    spellings: tuple[str, ...]
    metavar: str
    help: str
    kind: str = "text"
    is_required: bool = False
    default: Value = None


def read_words(
    program: str, description: str | None, options: Sequence[PlainOption], words: Sequence[str] | None
) -> Values:
    """The values of the options in a program's words, by default those of the process.

    Ends the process, with a message, if the words are wrong or ask for help.
    """
    if words is None:
        words = sys.argv[1:]
    values = _plain_values(options, words)
    return values if values is not None else vars(_parser(program, description, options).parse(words))


def _plain_values(options: Sequence[PlainOption], words: Sequence[str]) -> Values | None:
    """The values, or None if the words need judgement."""
    by_spelling = {spelling: option for option in options for spelling in option.spellings}
    values: Values = {option.name: option.default for option in options}
    remaining = list(reversed(words))
    while remaining:
        option = by_spelling.get(remaining.pop())
        if option is None:
            return None
        if option.kind == "switch":
            values[option.name] = True
            continue
        texts: list[str] = []
        while remaining and remaining[-1][:1] not in ("", "-") and (not texts or option.kind == "several"):
            texts.append(remaining.pop())
        if not texts:
            return None
        earlier = values[option.name]
        if option.kind == "repeated" and isinstance(earlier, list):
            texts = [*earlier, *texts]
        values[option.name] = texts[0] if option.kind == "text" else texts
    if any(option.is_required and values[option.name] is None for option in options):
        return None
    return values


def _parser(program: str, description: str | None, options: Sequence[PlainOption]) -> Parser:
    from opwright.cli.arguments import Parser

    parser = Parser(program, description, last_wins=True)
    for option in options:
        if option.kind == "switch":
            parser.add_argument(*option.spellings, dest=option.name, action="store_true", help=option.help)
            continue
        parser.add_argument(
            *option.spellings,
            dest=option.name,
            metavar=option.metavar,
            help=option.help,
            required=option.is_required,
            default=option.default,
            action="append" if option.kind == "repeated" else "store",
            nargs="+" if option.kind == "several" else None,
        )
    return parser


def text(*names: str, metavar: str, help: str, is_required: bool = False) -> PlainOption:
    """An option with one value; the first long spelling gives its name.

    A name without dashes in front stands for both spellings that PyTorch's programs take.

    >>> text("output-dir", metavar="DIR", help="where to write")[:2]
    ('output_dir', ('--output-dir', '--output_dir'))
    >>> text("-o", "--output", metavar="DIR", help="where to write")[:2]
    ('output', ('-o', '--output'))
    """
    return PlainOption(*_spelled(names), metavar, help, is_required=is_required)


def texts(*names: str, metavar: str, help: str, kind: str = "repeated", is_required: bool = False) -> PlainOption:
    """An option with several values: repeated, or `several` words after it."""
    return PlainOption(*_spelled(names), metavar, help, kind=kind, is_required=is_required)


def switch(*names: str, help: str) -> PlainOption:
    """An option without a value."""
    return PlainOption(*_spelled(names), "", help, kind="switch", default=False)


def _spelled(names: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The name of an option, and its spellings."""
    spellings: list[str] = []
    for name in names:
        spellings += [name] if name.startswith("-") else [f"--{name}", f"--{name.replace('-', '_')}"]
    long = next(spelling for spelling in spellings if spelling.startswith("--"))
    return long.removeprefix("--").replace("-", "_"), tuple(spellings)
